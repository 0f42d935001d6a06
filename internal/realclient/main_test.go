package realclient

import (
	"bufio"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/persontest"
)

var (
	installed = flag.String("clients", "", "`directory` with the clients as NAME-VERSION, installed by ./test clients")
	update    = flag.Bool("update", false, "write what was seen into docs/clients-evidence.md")
	keep      = flag.Bool("keep", false, "leave the directories of the scenarios for a look afterwards")
)

// binaryVar names the front under test to the process in the namespace; pennypostd is in the same directory.
const binaryVar = "PENNYPOST_BIN"

// typed runs the front in a person's terminal. TestMain sets it.
var typed string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if os.Getenv(formsVar) != "" {
		return serveForms()
	}
	flag.Parse()
	if *installed == "" {
		return m.Run() // skips, and says so
	}
	if !inside() {
		return outside()
	}
	if err := raiseLoopback(); err != nil {
		fmt.Fprintln(os.Stderr, "loopback of the namespace:", err)
		return 1
	}
	// Codex's sandbox makes a .git there to forbid it, and leaves it when it is killed.
	defer os.Remove(filepath.Join(os.TempDir(), ".git")) // only if empty
	seat, err := persontest.Open()
	if err == nil {
		defer seat.Close()
		typed, err = seat.Program(os.Getenv(binaryVar))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// outside builds both programs and runs the tests again in a network namespace.
func outside() int {
	if os.Getenv(binaryVar) == "" {
		dir, err := os.MkdirTemp("", "pennypost-bin")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		bin := filepath.Join(dir, "pennypost")
		for path, pkg := range map[string]string{bin: "../../cmd/pennypost", bin + "d": "../.."} {
			if out, err := exec.Command("go", "build", "-o", path, pkg).CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
				return 1
			}
		}
		if *record {
			if err := buildKeeping(dir, bin); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		os.Setenv(binaryVar, bin)
	}
	return runInside()
}

// clientVersion is a line of versions.txt, or its replacement by -clients.
type clientVersion struct{ name, version, program string }

//go:embed versions.txt
var versionsFile string

// version returns the version of a client to try, and its program; an error says why it is missing.
func version(name string) (clientVersion, error) {
	lines := bufio.NewScanner(strings.NewReader(versionsFile))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) != 4 || f[0] != name {
			continue
		}
		v := clientVersion{name: name, version: f[2]}
		if newest := os.Getenv("PENNYPOST_LATEST_" + strings.ToUpper(name)); newest != "" {
			v.version = newest
		}
		v.program = filepath.Join(*installed, name+"-"+v.version, "node_modules", ".bin", f[3])
		if _, err := os.Stat(v.program); err != nil {
			return v, fmt.Errorf("%s %s is not installed: run ./test clients %[1]s", name, v.version)
		}
		return v, nil
	}
	return clientVersion{}, fmt.Errorf("%s is not in versions.txt", name)
}
