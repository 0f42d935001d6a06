// Package clocktest builds programs whose clock a test sets: the real program, with a package time of its own. Only
// tests import it.
package clocktest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Variable names the file that says by how many seconds the clock of a program is wrong. The program looks there every
// few milliseconds. Without the variable the clock is right.
const Variable = "PENNYPOST_TEST_CLOCK"

// ErrUnknown is returned where package time is not as this package knows it.
var ErrUnknown = errors.New("time.Now is not as clocktest knows it")

// jump is a file of package time.
const jump = `package time

import (
	"sync/atomic"
	"syscall"
)

var jumped atomic.Int64

func init() {
	if path, ok := syscall.Getenv("` + Variable + `"); ok {
		look(path)
		go func() {
			for {
				Sleep(5 * Millisecond)
				look(path)
			}
		}()
	}
}

func look(path string) {
	fd, err := syscall.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	var b [20]byte
	n, _ := syscall.Read(fd, b[:])
	seconds := int64(0)
	for _, c := range b[:max(n, 0)] {
		if c >= '0' && c <= '9' {
			seconds = 10*seconds + int64(c-'0')
		}
	}
	if b[0] == '-' {
		seconds = -seconds
	}
	if n > 0 {
		jumped.Store(seconds)
	}
}
`

// Build builds a package of the module as a program whose clock can be set. Its sources of package time are kept in
// dir.
func Build(dir, program, pkg string) error {
	overlay, err := write(dir)
	if err != nil {
		return err
	}
	return run("go", "build", "-overlay", overlay, "-o", program, pkg)
}

// Install does so with a program of another module, PATH@VERSION, and puts it into dir, named as "go install" does.
func Install(dir, pkg string) error {
	overlay, err := write(dir)
	if err != nil {
		return err
	}
	return run("env", "GOBIN="+dir, "GOFLAGS=", "go", "install", "-overlay", overlay, pkg)
}

func run(args ...string) error {
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// write writes the sources of package time that differ, and returns the file by which the compiler finds them.
func write(dir string) (overlay string, err error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	std := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	text, err := os.ReadFile(filepath.Join(std, "time.go"))
	if err != nil {
		return "", errors.Join(ErrUnknown, err)
	}
	const now = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if !bytes.Contains(text, []byte(now)) {
		return "", ErrUnknown
	}
	text = bytes.Replace(text, []byte(now), []byte(now+"\tsec += jumped.Load()\n"), 1)
	overlay = filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(std, "time.go"): filepath.Join(dir, "time.go"),
		filepath.Join(std, "jump.go"): filepath.Join(dir, "jump.go")}})
	if err != nil {
		return "", err
	}
	for path, text := range map[string][]byte{filepath.Join(dir, "time.go"): text,
		filepath.Join(dir, "jump.go"): []byte(jump), overlay: list} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return "", err
		}
	}
	return overlay, nil
}

// Set makes the clock of the programs that look into file wrong by so much.
func Set(file string, by time.Duration) error {
	return os.WriteFile(file, fmt.Append(nil, int64(by/time.Second)), 0o600)
}
