package systemtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// binary is the program under test: the front, with the whole program beside it. TestMain sets it, once.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

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
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "pennypost-bin")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "pennypost")
	for path, pkg := range map[string]string{binary: "../../cmd/pennypost", binary + "d": "../.."} {
		if out, err := exec.Command("go", "build", "-o", path, pkg).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}
