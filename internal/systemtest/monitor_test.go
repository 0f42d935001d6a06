package systemtest

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A monitor ends when no one reads its lines any more, or when the program that started it has ended: a ring after
// that would be lost.
func TestMonitorEndsUnheard(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.must(t, "agents", "register", "ann")

	monitor := o.command(t.Context(), "monitor", "--as", "ann")
	out, err := monitor.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := monitor.Start(); err != nil {
		t.Fatal(err)
	}
	left := make(chan error, 1)
	go func() { left <- monitor.Wait() }()
	select {
	case err := <-left:
		t.Fatalf("a monitor that is read has ended: %v", err)
	case <-time.After(3 * time.Second):
	}
	out.Close()
	select {
	case err := <-left:
		if err != nil {
			t.Errorf("a monitor that nobody reads ends with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("a monitor that nobody reads goes on")
	}

	lines := filepath.Join(o.dir, "lines")
	direct := o.inClient().command(t.Context(), "monitor", "--as", "ann")
	sh := exec.CommandContext(t.Context(), "sh", "-c", `"$0" monitor --as ann >"$1" 2>&1 & echo $!; sleep 3`,
		direct.Path, lines)
	sh.Dir, sh.Env = direct.Dir, direct.Env
	text, err := sh.Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the monitor ends after its parent", func() bool { return gone(pid) })
}
