//go:build linux

package persontest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// open opens a terminal for a test.
func open(t testing.TB) *Terminal {
	t.Helper()
	terminal, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	if terminal == nil {
		t.Skip("there is no xterm")
	}
	t.Cleanup(terminal.Close)
	return terminal
}

// program is Program for a test.
func (t *Terminal) program(tb testing.TB, path string) string {
	tb.Helper()
	p, err := t.Program(path)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// TestProgram tests that a command has its own arguments, variables, directory and files, and the terminal.
func TestProgram(t *testing.T) {
	sh := open(t).program(t, "/bin/sh")
	dir := t.TempDir()
	cmd := exec.Command(sh, "-c", `cat; pwd; echo "$A $1" >&2; cut -d' ' -f7 /proc/self/stat; cut -d' ' -f2 /proc/$(cut -d' ' -f4 /proc/$PPID/stat)/stat; exit 7`,
		"sh", "two words\n")
	cmd.Dir, cmd.Env, cmd.Stdin = dir, []string{"A=a", "PATH=" + os.Getenv("PATH")}, strings.NewReader("in\n")
	var out, says bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &says
	err := cmd.Run()
	ended, _ := errors.AsType[*exec.ExitError](err)
	if ended == nil || ended.ExitCode() != 7 || says.String() != "a two words\n\n" {
		t.Errorf("%v, said %q", err, says.String())
	}
	lines := strings.Fields(out.String())
	if len(lines) != 4 || lines[0] != "in" || lines[1] != dir || lines[2] == "0" || lines[3] != "(xterm)" {
		t.Errorf("input, directory, terminal and the parent's parent: %q", lines)
	}
}

// TestSignals tests that signals reach the command, and that a fatal one also ends the proxy.
func TestSignals(t *testing.T) {
	sh := open(t).program(t, "/bin/sh")
	for _, s := range []struct {
		script string
		send   syscall.Signal
		want   string
	}{
		{`trap 'echo int; exit 3' INT; echo $$; while :; do sleep 0.01; done`, syscall.SIGINT, "exit status 3"},
		{`echo $$; exec sleep 60`, syscall.SIGTERM, "signal: terminated"},
		{`echo $$; exec sleep 60`, syscall.SIGKILL, "signal: killed"},
	} {
		cmd := exec.Command(sh, "-c", s.script)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		var pid int
		if _, err := fmt.Fscan(out, &pid); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Process.Signal(s.send)
		if err := cmd.Wait(); err == nil || err.Error() != s.want {
			t.Errorf("%s: %v, want %s", s.script, err, s.want)
		}
		gone(t, pid)
	}
}

// gone waits until a process has ended. On some machines the first process is slow to reap orphans.
func gone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for ; ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still there: %s", pid, stat)
		}
	}
}

// TestClose tests that closing leaves neither the terminal nor its commands.
func TestClose(t *testing.T) {
	terminal := open(t)
	cmd := exec.Command(terminal.program(t, "/bin/sh"), "-c", "echo $$; exec sleep 60")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	if err := cmd.Wait(); err == nil {
		t.Error("the command ended well")
	}
	gone(t, pid)
	if _, err := os.Stat(terminal.dir); err == nil {
		t.Errorf("%s is still there", terminal.dir)
	}
}

// TestParents tests the parent processes of Pennypost's commands.
func TestParents(t *testing.T) {
	real := filepath.Join(t.TempDir(), "pennypost")
	script := "#!/bin/sh\necho $PPID $(cut -d' ' -f4 /proc/$PPID/stat)\n"
	if err := os.WriteFile(real, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	pennypost := open(t).program(t, real)
	parents := func(line string) (parent, above string) {
		out, err := exec.Command(pennypost, strings.Fields(line)...).Output()
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		parent, above, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
		return parent, above
	}
	runner, xterm := parents("")
	me := strconv.Itoa(os.Getpid())
	for _, line := range []string{"send --to serve", "--room serve inbox", "--as serve inbox"} {
		if parent, above := parents(line); parent != runner || above != xterm {
			t.Errorf("%q runs below %s and %s, want %s and %s", line, parent, above, runner, xterm)
		}
	}
	for _, line := range []string{"hook claude Stop", "--room lab serve --json"} {
		if parent, _ := parents(line); parent != me {
			t.Errorf("%q runs below %s, want the test, %s", line, parent, me)
		}
	}
	if parent, above := parents("mcp --as ann"); parent == runner || parent == me || above != runner {
		t.Errorf("an MCP server runs below %s and %s, want its own client and %s", parent, above, runner)
	}
}

// BenchmarkProgram measures the cost of running a command through the terminal; "direct" runs without it.
func BenchmarkProgram(b *testing.B) {
	there := open(b).program(b, "/bin/true")
	for name, program := range map[string]string{"direct": "/bin/true", "terminal": there} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := exec.Command(program).Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
