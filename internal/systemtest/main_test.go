package systemtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"pennypost/internal/office/acp/acptest"
	"pennypost/internal/office/wake/codextest"
	"pennypost/internal/persontest"
)

// binary is the program under test: the front, next to the other programs. TestMain sets it, once, and the terminal
// in which the person's commands run.
var (
	binary string
	seat   *persontest.Terminal
	person string // runs binary in the terminal
	// personSh runs a shell there. A binary called from it runs below it.
	personSh string
)

func TestMain(m *testing.M) {
	codextest.Main()
	acptest.Main()
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	if runtime.GOOS == "windows" {
		fmt.Println("these tests need signals and Unix sockets")
		return 0
	}
	end, err := startScriptServers()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer end()
	if binary = os.Getenv("PENNYPOST_BIN"); binary != "" {
		return runSeated(m)
	}
	dir, err := os.MkdirTemp("", "pennypost-bin")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "pennypost")
	for path, pkg := range map[string]string{binary: "../../cmd/pennypost", binary + "d": "../..",
		binary + "-nats": "../../cmd/pennypost-nats"} {
		if out, err := exec.Command("go", "build", "-o", path, pkg).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
	}
	return runSeated(m)
}

// runSeated runs the tests with a terminal for the person.
func runSeated(m *testing.M) (code int) {
	var err error
	if seat, err = persontest.Open(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer seat.Close()
	var noShell error
	person, err = seat.Program(binary)
	if personSh, noShell = seat.Program("/bin/sh"); err != nil || noShell != nil {
		fmt.Fprintln(os.Stderr, errors.Join(err, noShell))
		return 1
	}
	return m.Run()
}
