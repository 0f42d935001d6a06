package cli

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"pennypost/internal/base/wording"
)

const (
	progressAfter = time.Second            // shorter work needs no message
	progressEvery = 200 * time.Millisecond // often enough to appear to move
)

// Progress is a line on standard error that shows the progress of a long task, and disappears when the task ends. It
// writes nothing if standard error is not a terminal.
type Progress struct {
	to    io.Writer
	what  string
	count func(n int64) string // "12 messages"
	done  atomic.Int64
	stop  chan struct{}
	ended chan struct{}
}

// Progress starts the line for a task, such as "importing". The caller ends it. count formats the amount done; nil:
// the amount is unknown, and only the time is shown.
func (a *App) Progress(what string, count func(n int64) string) *Progress {
	if !IsTerminal(a.Env.Stderr) {
		return &Progress{}
	}
	return startProgress(a.Env.Stderr, what, count)
}

func startProgress(to io.Writer, what string, count func(n int64) string) *Progress {
	p := &Progress{to: to, what: what, count: count, stop: make(chan struct{}), ended: make(chan struct{})}
	go p.run()
	return p
}

// Add records that n more are done.
func (p *Progress) Add(n int) { p.done.Add(int64(n)) }

// Write implements io.Writer: it counts the bytes as done.
func (p *Progress) Write(b []byte) (int, error) {
	p.Add(len(b))
	return len(b), nil
}

// End removes the line.
func (p *Progress) End() {
	if p.to != nil {
		close(p.stop)
		<-p.ended
	}
}

func (p *Progress) run() {
	defer close(p.ended)
	began := time.Now()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	shown := false
	for {
		select {
		case <-p.stop:
			if shown {
				fmt.Fprint(p.to, "\r\x1b[K") // to the beginning of the line, and erase it
			}
			return
		case now := <-tick.C:
			if took := now.Sub(began); took >= progressAfter {
				fmt.Fprint(p.to, "\r\x1b[K"+p.words(took))
				shown = true
			}
		}
	}
}

func (p *Progress) words(took time.Duration) string {
	seconds := took / time.Second
	if p.count == nil {
		return fmt.Sprintf("%s, for %d s", p.what, seconds)
	}
	n := p.done.Load()
	return fmt.Sprintf("%s: %s in %d s, %s per second", p.what, p.count(n), seconds,
		p.count(n*int64(time.Second)/int64(took)))
}

// CountMessages formats a number of messages.
func CountMessages(n int64) string { return wording.Plural(int(n), "message") }

// CountBytes formats a number of bytes, for Progress.
func CountBytes(n int64) string { return Size(n) }
