package systemtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// patience bounds everything that should happen immediately. It is long, because the machine may be busy with other
// tests.
const patience = 30 * time.Second

// office is one post office under test: its data directory, and the environment that its processes get.
type office struct {
	root string   // everything of this test is below it
	home string   // PENNYPOST_HOME
	dir  string   // working directory of commands, in no Git repository
	env  []string // on top of environ
	// program is the front to use in place of the common one; "" means the common one.
	program string
	// below means that commands run below the test, which is an agent's client, and not in the person's terminal.
	below bool
}

// inClient returns the same office for commands that run below the client whose hooks the test runs.
func (o *office) inClient() *office {
	c := *o
	c.below = true
	return &c
}

// newOffice makes the directories of a post office, and removes everything in them at the end of the test.
func newOffice(t testing.TB) *office {
	t.Helper()
	o, err := makeOffice()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.clear)
	return o
}

// makeOffice does not use the test's own directory: such names are longer than the path of a socket may be.
func makeOffice() (*office, error) {
	root, err := os.MkdirTemp("/tmp", "pp")
	if err != nil {
		return nil, err
	}
	o := &office{root: root, home: filepath.Join(root, "home"), dir: filepath.Join(root, "work")}
	return o, os.Mkdir(o.dir, 0o700)
}

// clear ends every process of the office and removes its files.
func (o *office) clear() {
	if runtime.GOOS != "linux" {
		o.run("stop") // the one process that may have lost its parent
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		left := o.processes()
		if len(left) == 0 {
			break
		}
		for _, p := range left {
			p.kill()
		}
	}
	os.RemoveAll(o.root)
}

// environ returns the whole environment of a process of this office. It has only the path of the test's environment:
// the test may itself run inside an agent client. For the same reason the post office examines the calling process
// and not its ancestors, unless a test says otherwise.
func (o *office) environ(more ...string) []string {
	env := []string{
		"PATH=" + filepath.Dir(person) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + filepath.Join(o.root, "nobody"),
		"TMPDIR=" + os.TempDir(),
		"PENNYPOST_HOME=" + o.home,
		"PENNYPOST_LISTEN=none",
		// For a binary with the race detector: a race ends the process, which every test notices.
		"GORACE=halt_on_error=1 atexit_sleep_ms=0",
	}
	if dir := os.Getenv("GOCOVERDIR"); dir != "" {
		env = append(env, "GOCOVERDIR="+dir)
	}
	return append(append(env, o.env...), more...)
}

// command returns a command that is not started yet.
func (o *office) command(ctx context.Context, args ...string) *exec.Cmd {
	program := person
	if o.below {
		program = binary
	}
	program = cmp.Or(o.program, program)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = o.dir
	cmd.Env = o.environ()
	// A post office that the command started may have inherited its pipes.
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// result is how a command ended.
type result struct {
	stdout, stderr string
	code           int // -1: a signal ended it
}

// run runs a command to its end.
func (o *office) run(args ...string) result { return o.runWith("", nil, args...) }

// runWith runs a command with standard input and more variables.
func (o *office) runWith(stdin string, env []string, args ...string) result {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := o.command(ctx, args...)
	cmd.Env = append(cmd.Env, env...)
	return finishWith(cmd, strings.NewReader(stdin))
}

// finishWith runs cmd to its end.
func finishWith(cmd *exec.Cmd, stdin io.Reader) result {
	cmd.Stdin = stdin
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

// must runs a command that must succeed and returns its output.
func (o *office) must(t testing.TB, args ...string) string {
	t.Helper()
	r := o.run(args...)
	if r.code != 0 {
		t.Fatalf("pennypost %q: exit %d\n%s%s", args, r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// ask runs a command with --json and decodes its answer.
func ask[T any](t testing.TB, o *office, args ...string) T {
	t.Helper()
	return decode[T](t, o.must(t, append(args, "--json")...))
}

func decode[T any, S string | []byte](t testing.TB, text S) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %.2000q", err, text)
	}
	return v
}

// eventually calls f until it is true.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %s still not: %s", patience, what)
		}
	}
}

// grep returns the files of the office below dir that contain text.
func grep(dir, text string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			found = append(found, path)
		}
		return err
	})
	return found, err
}

// readAll reads a response to its end.
func readAll(r io.ReadCloser) ([]byte, error) {
	defer r.Close()
	return io.ReadAll(r)
}
