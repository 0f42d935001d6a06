package hook_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/front/hookpipe"
	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/hook/hooktest"
	"pennypost/internal/office/wake"
	"pennypost/internal/office/wake/door"
	"pennypost/internal/wire"
)

// listenerFixture is a fixture, in a bubble, with a Ringer and the listeners at which ann's hooks wait.
type listenerFixture struct {
	*fixture
	lines   door.Listeners
	ringer  *wake.Ringer
	asked   atomic.Int32 // how often a hook began to wait
	ended   atomic.Bool  // the client has exited
	office  atomic.Pointer[office]
	environ []string // of the waiting hooks
}

// office is one run of a post office; its connections end with it. nil: none is running.
type office struct {
	context.Context
	cancel context.CancelFunc
}

func (b *listenerFixture) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	b.office.Store(&office{ctx, cancel})
}

func (b *listenerFixture) kill() {
	if o := b.office.Swap(nil); o != nil {
		o.cancel()
	}
}

func inLineBed(t *testing.T, f func(b *listenerFixture, h *hooktest.Harness)) {
	inLineBedOf(t, hooktest.Claude(), f)
}

func inLineBedOf(t *testing.T, client hooktest.Client, f func(b *listenerFixture, h *hooktest.Harness)) {
	synctest.Test(t, func(t *testing.T) {
		b := &listenerFixture{fixture: newFixture(t)}
		doors := wake.NewDoors()
		doors.Arrange(func(agent mail.Name, _ []wake.Waker) []wake.Waker { return b.lines.Doors("lab", agent) })
		b.ringer = wake.New(wake.Options{Room: b.room, Doors: doors})
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- b.ringer.Run(ctx) }()
		b.begin()
		h := b.harness(client, "ann", "s1")
		h.Background = b.wait
		f(b, h)
		b.wantNoFaults(h)
		b.kill()
		h.Quit()
		stop()
		b.must(<-done)
	})
}

var errAway = mail.Errorf(mail.Unavailable, "no post office answers")

// ring serves a waiting hook as a post office does.
func (b *listenerFixture) ring(ctx context.Context, at mail.Listener, hand func(*mail.Rung) error) error {
	b.asked.Add(1)
	o := b.office.Load()
	if o == nil {
		return errAway
	}
	w := b.lines.Enter("lab", "ann", at)
	b.ringer.Look()
	polling, cancel := context.WithTimeout(ctx, 50*time.Second)
	defer cancel()
	defer context.AfterFunc(o, cancel)()
	err := w.Wait(polling, time.Minute, hand)
	switch {
	case o.Err() != nil:
		return errAway
	case errors.Is(err, context.DeadlineExceeded):
		return nil
	}
	return err
}

// wait runs a waiting hook.
func (b *listenerFixture) wait(client, event, stdin string) hooktest.Result {
	var out, errs bytes.Buffer
	p := hookpipe.Pipe{
		Hook: wire.Hook{Client: client, Event: event, Environ: b.environ}, Stdin: strings.NewReader(stdin),
		Stdout: &out, Stderr: &errs,
		Ended: b.ended.Load,
		Enter: func(bool) (hookpipe.Office, error) {
			return &hooktest.Counter{Enter: func(context.Context, *hook.Event) (*hook.Mailbox, error) {
				return &hook.Mailbox{Room: "lab", Agent: "ann", Ring: b.ring}, nil
			}}, nil
		},
	}
	exit := p.Run(context.Background())
	return hooktest.Result{Out: out.String(), Err: errs.String(), Exit: exit}
}

// P8: an idle session without another door is woken by the waiting hook: once, with a pointer. It is told its mail
// once.
func TestP8_Rewake(t *testing.T) {
	inLineBed(t, func(b *listenerFixture, h *hooktest.Harness) {
		h.Start("startup")
		h.Prompt("go on")
		h.End()
		synctest.Wait()
		one := b.send("ann", "the first")
		b.send("ann", "the second")
		if !h.Rewoken() {
			t.Fatal("the session was not woken")
		}
		if len(h.Context) != 2 || !strings.Contains(h.Context[0], "2 unread in room lab") ||
			strings.Contains(h.Context[0], "the first") {
			t.Fatalf("the model was shown %q, want a pointer and then the mail", h.Context)
		}
		b.wantShown(h, "the first", "the second") // at the end of the turn that the pointer began
		b.wantState(one, "ann", mail.Presented)
		b.wantAgent("ann", mail.Idle)
		time.Sleep(time.Hour)
		b.wantSilence(h)
		page, err := b.as(mail.User).Inbox(context.Background(), mail.InboxQuery{})
		if b.must(err); page.Unread != 0 {
			t.Errorf("the user was told %q", page.Messages[0].Subject)
		}

		h.Reads = func(text string) { // the next time, the agent reads its mail when it is pointed to
			_, err := b.as("ann").Mark(context.Background(), mail.Marking{All: true, Mark: mail.MarkRead})
			b.must(err)
		}
		b.send("ann", "the third")
		for !h.Rewoken() { // replaced hooks end first
		}
		if len(h.Context) != 1 {
			t.Errorf("who read its mail was shown %q", h.Context)
		}
	})
}

// P8: an idle session of a client with our extension is woken by a prompt that carries the mail.
func TestP8_RewakeOfExtensions(t *testing.T) {
	for _, client := range []hooktest.Client{hooktest.OpenCode(), hooktest.Pi()} {
		t.Run(client.Name, func(t *testing.T) {
			inLineBedOf(t, client, func(b *listenerFixture, h *hooktest.Harness) {
				h.Start("startup")
				h.Prompt("go on")
				h.End()
				synctest.Wait()
				id := b.send("ann", "the first")
				if !h.Rewoken() {
					t.Fatal("the session was not woken")
				}
				b.wantShown(h, "the first")
				b.wantState(id, "ann", mail.Presented)
				b.wantAgent("ann", mail.Idle)
				h.Exit("quit")
			})
		})
	}
}

// The end of each turn begins another waiting hook, which ends the one before; the session's end ends the last.
func TestRewakeOncePerSession(t *testing.T) {
	inLineBed(t, func(b *listenerFixture, h *hooktest.Harness) {
		h.Start("startup")
		for range 3 {
			h.Prompt("go on")
			h.End()
			synctest.Wait()
		}
		for range 2 {
			if h.Rewoken() {
				t.Error("one that another took the place of has woken the session")
			}
		}
		if n := len(b.lines.Doors("lab", "ann")); n != 1 {
			t.Errorf("%d doors are left, want the one of the last", n)
		}
		b.lines.End("lab", "ann", "s1")
		if h.Rewoken() {
			t.Error("the end of the session has woken it")
		}
		b.send("ann", "too late")
		time.Sleep(time.Hour)
	})
}

// A waiting hook always ends in silence and with status 0: any other end wakes its session, or runs it again.
func TestRewakeFailsOpen(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(b *listenerFixture)
		after   time.Duration
	}{
		"the post office is killed":         {func(b *listenerFixture) { b.kill() }, 31 * time.Second},
		"the client has ended":              {func(b *listenerFixture) { b.ended.Store(true) }, 2 * time.Second},
		"nothing comes as long as it waits": {func(*listenerFixture) {}, hookpipe.WaitTimeout * time.Second},
	} {
		inLineBed(t, func(b *listenerFixture, h *hooktest.Harness) {
			h.Start("startup")
			h.Prompt("go on")
			h.End()
			time.Sleep(time.Second)
			began := time.Now()
			c.happens(b)
			if h.Rewoken() {
				t.Errorf("%s: the session was woken", name)
			}
			if d := time.Since(began); d > c.after {
				t.Errorf("%s: it ended after %v, want %v", name, d, c.after)
			}
		})
	}
	inLineBed(t, func(b *listenerFixture, h *hooktest.Harness) {
		h.Start("startup")
		b.kill()
		began := time.Now()
		h.End()
		if h.Rewoken() || time.Since(began) != 0 {
			t.Errorf("with no post office it ended after %v", time.Since(began))
		}
	})
	inLineBed(t, func(b *listenerFixture, h *hooktest.Harness) { // a new version starts
		h.Start("startup")
		h.End()
		time.Sleep(time.Second)
		b.kill()
		time.Sleep(20 * time.Second)
		b.begin()
		time.Sleep(time.Second)
		b.send("ann", "back again")
		if !h.Rewoken() {
			t.Error("it did not come back to a post office that did")
		}
	})
}

// Other clients run Claude Code's hooks too, and would block on this one. An event that does not end a session's turn
// has no session to wake.
func TestRewakeIsForClaudeOnly(t *testing.T) {
	stop := `{"session_id":"s1","cwd":"/srv/parser","hook_event_name":"Stop"}`
	for _, in := range []string{
		`{"sessionId":"s1","cwd":"/srv/parser","hookEventName":"Stop","timestamp":"2026-02-09T10:30:00.000Z"}`,
		`{"session_id":"s1","cwd":"/srv/parser","hook_event_name":"Stop","timestamp":"2026-02-09T10:30:00.000Z"}`,
		strings.Replace(stop, "{", `{"agent_id":"sub",`, 1), strings.Replace(stop, "Stop", "SessionStart", 1),
		strings.Replace(stop, "Stop", "TeammateIdle", 1),
		`{"hook_event_name":"Stop"}`, `{}`, ``, `nonsense`,
	} {
		inLineBed(t, func(b *listenerFixture, h *hooktest.Harness) {
			if r := b.wait("claude", "wait", in); r != (hooktest.Result{}) || b.asked.Load() > 0 {
				t.Errorf("%s: %+v, and it waited %d times", in, r, b.asked.Load())
			}
			if r := b.wait("codex", "wait", stop); r != (hooktest.Result{}) || b.asked.Load() > 0 {
				t.Errorf("codex: %+v, and it waited %d times", r, b.asked.Load())
			}
		})
	}
}

// Mail that keeps a turn going has come through the door "hook": the sender was told when, and no other door rings.
func TestContinuationIsADoor(t *testing.T) {
	inLineBed(t, func(b *listenerFixture, h *hooktest.Harness) {
		h.Start("startup")
		h.Prompt("go on")
		h.End()
		h.Prompt("go on")
		synctest.Wait()
		if len(b.lines.Doors("lab", "ann")) != 1 {
			t.Fatal("nobody waits who could be rung")
		}
		sent, err := b.as(mail.User).Send(context.Background(),
			mail.Draft{To: mail.Recipients{"ann"}, Type: string(mail.Question), Body: "how far?"})
		if b.must(err); sent.Recipients[0].Wake != mail.WakeTurnEnd {
			t.Errorf("the sender was told %+v", sent.Recipients)
		}
		if n := h.End(); n != 1 {
			t.Errorf("the turn went on %d times", n)
		}
		b.wantShown(h, "how far?")
		it, err := b.as(mail.User).Message(context.Background(), sent.ID)
		if b.must(err); it.Deliveries[0].State != mail.Presented || it.Deliveries[0].Door != mail.HookDoor {
			t.Errorf("the message is %+v", it.Deliveries)
		}
		if a := b.agent("ann"); a.Door != mail.HookDoor || a.DoorAt == 0 {
			t.Errorf("the roster says that %q worked at %v", a.Door, a.DoorAt)
		}
		time.Sleep(time.Hour)
		b.wantSilence(h)
		b.lines.End("lab", "ann", "s1")
		for range 3 { // one for each end of a turn
			if h.Rewoken() {
				t.Error("it was rung besides")
			}
		}
	})
}
