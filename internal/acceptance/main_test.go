package acceptance

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"pennypost/internal/persontest"
)

var update = flag.Bool("update", false, "write docs/dialects/acceptance.md")

// binary is the program under test: the front, with the whole program in the same directory; person runs it in the
// person's terminal; tools is a directory for programs. TestMain sets them, once.
var binary, person, tools string

// seat is that terminal.
var seat *persontest.Terminal

func TestMain(m *testing.M) {
	if os.Getenv(clientVariable) != "" {
		clientMain()
		return
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	flag.Parse()
	if runtime.GOOS == "windows" {
		fmt.Println("these tests need signals and Unix sockets")
		return 0
	}
	var err error
	if tools, err = os.MkdirTemp("", "pennypost-bin"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(tools)
	if binary = os.Getenv("PENNYPOST_BIN"); binary == "" {
		binary = filepath.Join(tools, "pennypost")
		if err := build(binary); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if seat, err = persontest.Open(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer seat.Close()
	defer func() { endBrowser() }()
	if person, err = seat.Program(binary); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build builds the front at path and the whole program next to it.
func build(path string) error {
	var failed error
	for out, pkg := range map[string]string{path: "../../cmd/pennypost", path + "d": "../.."} {
		if text, err := exec.Command("go", "build", "-o", out, pkg).CombinedOutput(); err != nil {
			failed = errors.Join(failed, fmt.Errorf("go build: %w\n%s", err, text))
		}
	}
	return failed
}
