package systemtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// daemon is a post office that runs in the foreground of this test.
type daemon struct {
	Socket string `json:"socket"`
	HTTP   string `json:"http"`
	MCP    string `json:"mcp"`

	cmd  *exec.Cmd
	log  *buffer
	done chan struct{} // closed when it has ended
	err  error         // of Wait
}

// loopback makes the post office listen on a port that is free.
const loopback = "--listen=127.0.0.1:0"

// serve starts a post office and returns when it is open.
func (o *office) serve(args ...string) (*daemon, error) {
	cmd := o.command(context.Background(), append([]string{"serve", "--json"}, args...)...)
	d := &daemon{cmd: cmd, log: new(buffer), done: make(chan struct{})}
	cmd.Stderr = d.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	announced := make(chan error, 1)
	go func() {
		line, err := bufio.NewReader(out).ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, d)
		}
		announced <- err
		d.err = cmd.Wait()
		close(d.done)
	}()
	select {
	case err = <-announced:
	case <-time.After(patience):
		err = fmt.Errorf("silent for %s", patience)
	}
	if err != nil {
		d.kill()
		return nil, fmt.Errorf("pennypost serve: %w\n%s", err, d.log)
	}
	return d, nil
}

// mustServe is serve for a test.
func (o *office) mustServe(t testing.TB, args ...string) *daemon {
	t.Helper()
	d, err := o.serve(args...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// kill ends the post office as a power cut does, and waits for it.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill() // it may have ended by itself
	<-d.done
}

// stopWithin is what is promised of a stop.
const stopWithin = 10 * time.Second

// terminate asks the post office to end, and says how that went.
func (d *daemon) terminate() error {
	began := time.Now()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-d.done:
	case <-time.After(2 * stopWithin):
		d.kill()
		return fmt.Errorf("the post office was still there %s after SIGTERM\n%s", 2*stopWithin, d.log)
	}
	if took := time.Since(began); took > stopWithin {
		return fmt.Errorf("the post office took %s to end, more than %s\n%s", took, stopWithin, d.log)
	}
	if d.err != nil {
		return fmt.Errorf("the post office ended with %w\n%s", d.err, d.log)
	}
	return nil
}

// buffer is a bytes.Buffer for a writer and readers that run at the same time.
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

// process is a process of an office that this test did not start itself.
type process struct {
	pid  int
	args []string
}

// kill ends the process at once. That it has ended already is as good.
func (p process) kill() { _ = syscall.Kill(p.pid, syscall.SIGKILL) }

// processes finds the processes of the office by the data directory in their environment, which is the only trace of a post
// office that a command started. Elsewhere than on Linux it finds none.
func (o *office) processes() []process {
	var found []process
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile("/proc/" + d.Name() + "/environ")
		if err != nil || !bytes.Contains(env, []byte("PENNYPOST_HOME="+o.root+"/")) {
			continue
		}
		args, _ := os.ReadFile("/proc/" + d.Name() + "/cmdline")
		found = append(found, process{pid, strings.Split(strings.TrimSuffix(string(args), "\x00"), "\x00")})
	}
	return found
}

// daemons returns the post offices among the processes.
func (o *office) daemons() []process {
	var found []process
	for _, p := range o.processes() {
		if len(p.args) > 1 && p.args[1] == "serve" {
			found = append(found, p)
		}
	}
	return found
}

// locked reports whether some process holds the office's lock. That is how one can tell that a killed post office is gone: its
// first thread may be a zombie while others still have its files.
func (o *office) locked() bool {
	f, err := os.Open(filepath.Join(o.home, "pennypost.lock"))
	if err != nil {
		return false
	}
	defer f.Close() // which unlocks
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}
