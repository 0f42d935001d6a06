package systemtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// daemon is a post office that runs in the foreground of this test.
type daemon struct {
	Socket string `json:"socket"`
	HTTP   string `json:"http"`
	HTTPS  string `json:"https"`
	MCP    string `json:"mcp"`

	cmd  *exec.Cmd
	log  *buffer
	done chan struct{} // closed when it has ended
	err  error         // of Wait
}

// loopback makes the post office listen on a free port.
const loopback = "--listen=127.0.0.1:0"

// serve starts a post office and returns when it is open.
func (o *office) serve(args ...string) (*daemon, error) {
	return o.serveBy(binary, args...)
}

// serveBy is serve through a program that then executes ours.
func (o *office) serveBy(program string, args ...string) (*daemon, error) {
	cmd := o.command(context.Background(), append([]string{"serve", "--json"}, args...)...)
	cmd.Path = program
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
	return o.mustServeBy(t, binary, args...)
}

func (o *office) mustServeBy(t testing.TB, program string, args ...string) *daemon {
	t.Helper()
	d, err := o.serveBy(program, args...)
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

// stopWithin is the promised time of a stop.
const stopWithin = 10 * time.Second

// terminate asks the post office to end, and reports how that went.
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

// buffer is a bytes.Buffer for a writer and concurrent readers.
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
