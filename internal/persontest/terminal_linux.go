package persontest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Terminal is an open terminal. The nil Terminal is the tests' own.
type Terminal struct {
	dir     string
	display string   // as xterm takes it
	control *os.File // the terminal is open while this is
	ended   *os.File // at EOF once the terminal is closed

	mu   sync.Mutex
	seen int // programs so far
}

// Open opens a terminal. Without xterm or Xvfb it prints a note and returns nil: commands then run where the tests
// run, which is right if a person runs them.
//
// The terminal is an orphan, so that the ancestors of the test, such as an agent, are not its ancestors. It ends with
// the test, even if that crashes.
func Open() (*Terminal, error) {
	for _, program := range []string{"Xvfb", "xterm"} {
		if _, err := exec.LookPath(program); err != nil {
			fmt.Fprintf(
				os.Stderr,
				"there is no %s: the tests' commands run in the terminal of the tests, if any\n",
				program,
			)
			return nil, nil
		}
	}
	dir, err := os.MkdirTemp("/tmp", "ppt") // short, since the paths of sockets are limited
	if err != nil {
		return nil, err
	}
	t := &Terminal{dir: dir}
	if err := t.open(); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("open a terminal for the tests: %w", err)
	}
	return t, nil
}

func (t *Terminal) open() error {
	seat := filepath.Join(t.dir, "seat")
	pkg := reflect.TypeFor[Terminal]().PkgPath() + "/seat"
	build := exec.Command("go", "build", "-o", seat, pkg)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	theirs, control, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close()
	ended, says, err := os.Pipe()
	if err != nil {
		return err
	}
	defer says.Close()
	cmd := exec.Command(seat, "detach", t.dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.dir}
	cmd.ExtraFiles = []*os.File{theirs, says}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Run(); err != nil {
		return err
	}
	says.Close()
	t.control, t.ended = control, ended
	word := make([]byte, 512)
	n, err := ended.Read(word)
	display, ok := strings.CutPrefix(strings.TrimSpace(string(word[:n])), "open ")
	if err != nil || !ok {
		return fmt.Errorf("%s: %v", word[:n], err)
	}
	t.display = display
	return nil
}

// Close closes the terminal, and ends its commands.
func (t *Terminal) Close() {
	if t == nil {
		return
	}
	t.control.Close()
	_, _ = io.Copy(io.Discard, t.ended)
	t.ended.Close()
}

// Program returns a proxy that runs a program in the terminal, with the proxy's arguments, environment, directory and
// standard files, forwards signals to it, and ends with its status. It has the same name, so that it can replace the
// program on a PATH.
//
// For Pennypost's commands that run the post office, and for hooks, the proxy executes the program itself: the test
// is the client that runs hooks, and from then on in their session. An MCP server gets its own client in the
// terminal.
func (t *Terminal) Program(path string) (string, error) {
	if t == nil {
		return path, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	t.seen++
	dir := filepath.Join(t.dir, strconv.Itoa(t.seen))
	t.mu.Unlock()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	if err := os.Symlink(path, filepath.Join(dir, "real")); err != nil {
		return "", err
	}
	proxy := filepath.Join(dir, filepath.Base(path))
	return proxy, os.Link(filepath.Join(t.dir, "seat"), proxy)
}

// Window returns a command that opens another xterm on the display, which closes when its program ends. Nil: there is
// only the tests' own terminal.
func (t *Terminal) Window(args ...string) (*exec.Cmd, error) {
	if t == nil {
		return nil, nil
	}
	path, err := exec.LookPath("xterm")
	if err != nil {
		return nil, err
	}
	if path, err = t.Program(path); err != nil {
		return nil, err
	}
	cmd := exec.Command(path, append([]string{"-display", t.display, "-e"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.dir, "LC_ALL=C.UTF-8"}
	return cmd, nil
}
