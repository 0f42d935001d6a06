package realclient

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/realclient/model"
)

// The wake kit asks of any bus between agents what the scenarios ask of Pennypost. It knows the bus only by a program
// (docs/wake-kit.md), and does not judge: a failure is a ✗ in the table, and only a bus that breaks the contract
// fails the test.

var busesGiven = flag.String("buses", "", "programs of the buses to ask, separated by commas; empty: those in buses")

const (
	wakesWithin = 45 * time.Second // an idle session that was not asked by then counts as not woken
	afterEscIn  = 90 * time.Second // Pennypost itself leaves a person alone for 60 s
	quietFor    = 4 * time.Second  // a session that asks nothing for this long is at rest
)

// question is a question to a bus and a client.
type question struct {
	name string
	ask  func(b *bus) answers
}

// answers are cells of the table, by row.
type answers map[string]string

func questions() []question {
	return []question{{"idle", askIdle}, {"esc", askEsc}, {"killed", askKilled}}
}

// The rows of the table.
const (
	rowWakes  = "wakes idle"
	rowOnce   = "once"
	rowEsc    = "after Esc"
	rowKilled = "after a kill"
	rowBytes  = "as"
)

// TestWakeKit asks each bus with each client that is installed.
func TestWakeKit(t *testing.T) {
	if *installed == "" {
		t.Skip("no bus is asked without ./test wake-kit")
	}
	programs, err := filepath.Glob("buses/*")
	if *busesGiven != "" {
		programs, err = strings.Split(*busesGiven, ","), nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range programs {
		path, err := filepath.Abs(program)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			for _, c := range clients() {
				t.Run(c.name, func(t *testing.T) {
					v := wanted(t, c.name)
					if c.ready == nil {
						t.Skipf("%s is not tried in a terminal", c.title)
					}
					for _, q := range questions() {
						t.Run(q.name, func(t *testing.T) {
							t.Parallel()
							b := newBus(t, c, v, path)
							if err := kitSeen.note(b, q.ask(b)); err != nil {
								t.Error(err)
							}
						})
					}
				})
			}
		})
	}
}

// opens starts a session, and types its first prompt until the model was asked with it: the client may show a dialog
// so late that the dialog takes the prompt's keys.
func (b *bus) opens(text, script string) *terminal {
	b.t.Helper()
	w := b.open(append([]string{b.version.program}, b.client.tui...)...)
	b.ready(w)
	for !b.asked(text) {
		w.prompt(b.first + text + script)
		typed := time.Now()
		w.answers(func() bool { return b.asked(text) || time.Since(typed) > 20*time.Second })
	}
	b.request(text)
	return w
}

// ready waits until a session takes a prompt, and says yes to its client's questions, which may appear when the
// session already seems to take one.
func (b *bus) ready(w *terminal) {
	b.t.Helper()
	var since time.Time
	w.answers(func() bool {
		switch takes := b.client.ready.MatchString(w.screen()); {
		case !takes:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		}
		return !since.IsZero() && time.Since(since) > quietFor
	})
}

// rested waits until the model has not been asked for a while.
func (b *bus) rested() {
	b.t.Helper()
	n, since := -1, time.Now()
	b.until("the session rests", func() bool {
		if now := len(b.model.Requests()); now != n {
			n, since = now, time.Now()
		}
		return time.Since(since) > quietFor
	})
}

// asks waits for a request that has a text, and returns how long that took; false: none came.
func (b *bus) asks(text string, within time.Duration) (model.Request, time.Duration, bool) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	r, err := b.model.Wait(ctx, func(r *model.Request) bool { return len(r.Tools) > 0 && r.Has(text) })
	return r, max(0, r.At.Sub(began)), err == nil
}

// types types a prompt, and reports whether the model was asked with it. A terminal sometimes loses an Enter.
func (b *bus) types(w *terminal, text, script string) bool {
	b.t.Helper()
	w.prompt(text + script)
	for range 5 {
		if _, _, asked := b.asks(text, 20*time.Second); asked {
			return true
		}
		w.press("Enter")
	}
	return false
}

// woken says how mail reached the model: by itself, with the next prompt, or never.
func (b *bus) woken(w *terminal, text string, within time.Duration) (cell string, r model.Request, reached bool) {
	b.t.Helper()
	r, took, woke := b.asks(text, within)
	if woke {
		return fmt.Sprintf("✓ %.1f s", took.Seconds()), r, true
	}
	b.types(w, "hello again", " [[say bye]]")
	if r, _, reached = b.asks(text, quietFor); reached {
		return no + " next prompt", r, true
	}
	return no + " never", r, false
}

// times is the largest number of copies of a text in one request.
func (b *bus) times(text string) string {
	most := 0
	for _, r := range b.model.Requests() {
		most = max(most, r.Copies(text))
	}
	switch most {
	case 0:
		return no + " lost"
	case 1:
		return "✓"
	}
	return fmt.Sprintf("%s %d times", no, most)
}

// askIdle: does mail wake an idle session, after how long, once, and in which words?
func askIdle(b *bus) answers {
	const text = "ZEBRA while idle"
	w := b.opens("hello idle", " [[say bye]]")
	b.rested()
	b.sends(text)
	woken, r, reached := b.woken(w, text, wakesWithin)
	out := answers{rowWakes: woken}
	if reached {
		out[rowBytes] = kitSeen.bytes(b, r, text)
	}
	b.rested()
	b.types(w, "hello at last", " [[say bye]]") // its request holds the whole conversation
	b.rested()
	out[rowOnce] = b.times(text)
	return out
}

// askEsc: does mail wake a session whose person has broken a turn off?
func askEsc(b *bus) answers {
	const text = "ZEBRA after Esc"
	w := b.opens("hello first", " [[say bye]]")
	b.rested()
	b.types(w, "hello esc", " [[hold for ever]] [[say never]]")
	w.breakOff()
	b.rested()
	b.sends(text)
	woken, _, _ := b.woken(w, text, afterEscIn)
	return answers{rowEsc: woken}
}

// askKilled: does mail to a session that was killed at work reach the model when the session is continued?
func askKilled(b *bus) answers {
	const text = "ZEBRA before the kill"
	if b.client.name == "codex" { // the turn of a killed window continues in the server of all windows
		b.client.tui = append(b.client.tui, "--no-daemon")
	}
	b.opens("hello work", " [[hold on]] [[say bye]]")
	b.sends(text)
	time.Sleep(2 * time.Second) // by now a bus that delivers immediately has done so
	b.kill()
	w := b.goOn()
	if !b.types(w, "hello again", " [[say bye]]") {
		return answers{rowKilled: no + " no request"} // the client does not continue, whatever the bus does
	}
	b.asks(text, wakesWithin)
	b.rested()
	return answers{rowKilled: b.times(text)}
}
