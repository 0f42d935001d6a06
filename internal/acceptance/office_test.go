package acceptance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for an immediate effect. It is long, because the machine may be busy with other tests.
const patience = 30 * time.Second

// office is a post office under test, with a directory and a room for commands.
type office struct {
	root string   // contains everything
	home string   // PENNYPOST_HOME
	dir  string   // working directory of commands, in no Git repository
	env  []string // in addition to environ

	program, typed string // the binary, and its runner in the person's terminal
	running        *daemon
}

// daemon is the process of a post office.
type daemon struct {
	HTTP string `json:"http"`

	cmd  *exec.Cmd
	log  buffer
	done chan struct{} // closed when it has ended
}

// newOffice starts a post office. The end of the test removes all of it.
func newOffice(t *testing.T) *office {
	t.Helper()
	o := plannedOffice(t, binary, person)
	o.serve(t)
	return o
}

// plannedOffice makes the directories of a post office, not started yet.
func plannedOffice(t *testing.T, program, typed string) *office {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "pa") // short, because a socket's path is
	if err != nil {
		t.Fatal(err)
	}
	o := &office{root: root, home: filepath.Join(root, "home"), dir: filepath.Join(root, "work"), program: program,
		typed: typed}
	t.Cleanup(func() {
		if o.running != nil {
			o.kill()
		}
		os.RemoveAll(root)
	})
	if err := os.Mkdir(o.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return o
}

// serve starts the post office and waits until it is open.
func (o *office) serve(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command(o.program, append([]string{"serve", "--json", "--listen=127.0.0.1:0"}, args...)...)
	cmd.Dir, cmd.Env = o.dir, o.environ()
	d := &daemon{cmd: cmd, done: make(chan struct{})}
	cmd.Stderr = &d.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	announced := make(chan error, 1)
	go func() {
		line, err := bufio.NewReader(out).ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, d)
		}
		announced <- err
		_ = cmd.Wait()
		close(d.done)
	}()
	o.running = d
	select {
	case err = <-announced:
	case <-time.After(patience):
		err = fmt.Errorf("silent for %s", patience)
	}
	if err != nil {
		t.Fatalf("pennypost serve: %v\n%s", err, &d.log)
	}
}

// kill ends the post office as a power cut does.
func (o *office) kill() {
	_ = o.running.cmd.Process.Kill() // it may have ended by itself
	<-o.running.done
	o.running = nil
}

// stop ends the post office in order.
func (o *office) stop(t *testing.T) {
	t.Helper()
	if err := o.running.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-o.running.done:
		o.running = nil
	case <-time.After(patience):
		t.Fatalf("the post office does not end\n%s", &o.running.log)
	}
}

// environ is the whole environment of a process of this office. It has no variable of an agent client, because the
// test may itself run inside one.
func (o *office) environ(more ...string) []string {
	env := []string{
		"PATH=" + filepath.Dir(o.typed) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + filepath.Join(o.root, "nobody"),
		"TMPDIR=" + os.TempDir(),
		"PENNYPOST_HOME=" + o.home,
		"PENNYPOST_AUTOSTART=0",
		"GORACE=halt_on_error=1 atexit_sleep_ms=0",
	}
	return append(append(env, o.env...), more...)
}

// project is a test's own directory and room in the same post office.
func (o *office) project(t *testing.T) *office {
	t.Helper()
	_, name, _ := strings.Cut(strings.ToLower(t.Name()), "/items/")
	name = regexp.MustCompile(`[^a-z0-9-]+`).ReplaceAllString(name, "-")
	p := *o
	p.dir = filepath.Join(o.root, name)
	p.env = append(o.env[:len(o.env):len(o.env)], "PENNYPOST_ROOM="+name)
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return &p
}

// room is the name of the room.
func (o *office) room() string {
	for _, v := range o.env {
		if name, ok := strings.CutPrefix(v, "PENNYPOST_ROOM="); ok {
			return name
		}
	}
	return "default"
}

// result is the result of a command.
type result struct {
	stdout, stderr string
	code           int
}

// run runs a command as the person.
func (o *office) run(args ...string) result { return o.finish(o.typed, "", nil, args...) }

// pipe runs a command as the person, with standard input and more variables.
func (o *office) pipe(stdin string, env []string, args ...string) result {
	return o.finish(o.typed, stdin, env, args...)
}

func (o *office) finish(program, stdin string, env []string, args ...string) result {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = o.dir, o.environ(env...), strings.NewReader(stdin), time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	r := result{stdout.String(), stderr.String(), 0}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		r.code = exit.ExitCode()
	} else if err != nil {
		r.code, r.stderr = -1, r.stderr+err.Error()
	}
	return r
}

// must runs a command as the person that has to succeed, and returns its output.
func (o *office) must(t *testing.T, args ...string) string {
	t.Helper()
	r := o.run(args...)
	if r.code != 0 {
		t.Fatalf("pennypost %q: exit %d\n%s%s", args, r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// ask is must with --json.
func ask[T any](t *testing.T, o *office, args ...string) T {
	t.Helper()
	return decode[T](t, o.must(t, append(args, "--json")...))
}

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %.2000q", err, text)
	}
	return v
}

// path is the path of a file in the project.
func (o *office) path(name string) string { return filepath.Join(o.dir, filepath.FromSlash(name)) }

// read returns a file of the project, "" if there is none.
func (o *office) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(o.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// write writes a file in the project, with its directories.
func (o *office) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(o.path(name)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.path(name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// add appends a line to a file of the project.
func (o *office) add(t *testing.T, name, line string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(o.path(name)), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(o.path(name), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.WriteString(f, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// lines decodes each line of a text.
func lines[T any](t *testing.T, text string) (all []T) {
	t.Helper()
	for line := range strings.Lines(text) {
		all = append(all, decode[T](t, line))
	}
	return all
}

// eventually calls f until it is true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %s still not: %s", patience, what)
		}
	}
}

// buffer is a bytes.Buffer for concurrent use by a writer and readers.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
