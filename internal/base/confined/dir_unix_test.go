//go:build unix

package confined

import (
	"net"
	"syscall"
	"testing"
)

// TestPipes checks that files whose opening blocks or has effects are refused immediately.
func TestPipes(t *testing.T) {
	tr := newTrap(t)
	tr.must(syscall.Mkfifo(tr.dir.Path("data/pipe"), 0o600))
	tr.refused("data/pipe")
	tr.must(syscall.Mkfifo(tr.dir.Path("dir"), 0o600))
	tr.refused("dir/f")
	t.Chdir(tr.dir.Path("data")) // because a socket's path must be short
	l, err := net.Listen("unix", "sock")
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	tr.refused("data/sock")
}

// TestPipeRace checks that a pipe that replaces a checked file is opened without blocking.
func TestPipeRace(t *testing.T) {
	tr := newTrap(t)
	tr.must(syscall.Mkfifo(tr.dir.Path("pipe"), 0o600))
	tr.must(tr.dir.WriteFile("data/f", nil, 0o600))
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, name := range []string{"data", "data/f"} {
				a, b, c := tr.dir.Path(name), tr.dir.Path("pipe"), tr.dir.Path("aside")
				_, _, _, _ = syscall.Rename(a, c), syscall.Rename(b, a), syscall.Rename(a, b), syscall.Rename(c, a)
			}
		}
	}()
	for range 3000 {
		_, _ = tr.dir.ReadFile("data/f")
	}
	close(stop)
	<-done
}
