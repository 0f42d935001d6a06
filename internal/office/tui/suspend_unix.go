//go:build unix

package tui

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// notStopped is when it is clear that the process was not stopped: the kernel stops no process that no shell would
// continue, such as the only program of a terminal.
const notStopped = 300 * time.Millisecond

// suspend gives the terminal back to the shell, as ^Z does, until the person enters fg.
func (r *runner) suspend() {
	if r.scr.Suspend() != nil {
		return
	}
	// The signal may stop the process only after Kill has returned.
	back := make(chan os.Signal, 1)
	signal.Notify(back, syscall.SIGCONT)
	defer signal.Stop(back)
	if syscall.Kill(0, syscall.SIGTSTP) == nil { // including a script that runs us
		select {
		case <-back:
		case <-time.After(notStopped):
		}
	}
	_ = r.scr.Resume()
}
