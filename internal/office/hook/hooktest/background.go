package hooktest

import (
	"sync"

	"pennypost/internal/mail"
)

// background are the hooks that a client runs without waiting for them (Claude Code's asyncRewake): one for each end
// of a turn, which may outlive many turns.
type background struct {
	running sync.WaitGroup
	ended   chan Result
}

// maxBackground is more than there are turns in a test.
const maxBackground = 1000

// leave starts what runs in the background from the end of a turn on.
func (h *Harness) leave(m mail.Moment, input string) {
	if m != mail.TurnEnd || !h.Client.rewakes || h.Background == nil {
		return
	}
	if h.background.ended == nil {
		h.background.ended = make(chan Result, maxBackground)
	}
	h.background.running.Go(func() { h.background.ended <- h.Background(h.Client.As, "wait", input) })
}

// Rewoken waits until a hook in the background has ended and reports whether that wakes the session: it does so with
// status 2, even if the session is idle. Then the model is shown what the hook has said, and the turn that this began
// has ended when Rewoken returns. No hook is run when it begins.
func (h *Harness) Rewoken() bool {
	r := <-h.background.ended
	if r.Exit != 2 {
		if r.Exit != 0 || r.Out+r.Err != "" {
			h.Faults = append(h.Faults,
				h.Client.Name+": a hook in the background that wakes nobody has failed, or is not silent: "+
					r.Out+r.Err)
		}
		return false
	}
	h.know(r.Err)
	if h.Client.prompts { // the session is woken by a prompt of Pennypost's extension
		h.Prompt(r.Err)
	}
	h.End()
	return true
}

// Quit waits until nothing runs in the background.
func (h *Harness) Quit() { h.background.running.Wait() }
