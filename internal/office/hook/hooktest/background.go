package hooktest

import (
	"sync"

	"pennypost/internal/mail"
)

// background has the hooks that a client does not wait for (Claude Code's asyncRewake): one for each end of a turn.
// They may outlive many turns.
type background struct {
	running sync.WaitGroup
	ended   chan Result
}

// maxBackground is more than the turns of any test.
const maxBackground = 1000

// leave starts the background hook of a turn's end.
func (h *Harness) leave(m mail.Moment, input string) {
	if m != mail.TurnEnd || !h.Client.rewakes || h.Background == nil {
		return
	}
	if h.background.ended == nil {
		h.background.ended = make(chan Result, maxBackground)
	}
	h.background.running.Go(func() { h.background.ended <- h.Background(h.Client.As, "wait", input) })
}

// Rewoken waits for a background hook to end and reports whether that woke the session: status 2 does, even if the
// session is idle. Then the model has been shown the hook's text, and the turn that it began has ended. No hook runs
// at the beginning of that turn.
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
	if h.Client.prompts { // a prompt of Pennypost's extension wakes the session
		h.Prompt(r.Err)
	}
	h.End()
	return true
}

// Quit waits until no background hook is running.
func (h *Harness) Quit() { h.background.running.Wait() }
