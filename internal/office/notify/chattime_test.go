package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// memoChat is a service in memory, for tests in which time passes. As Chat allows, a position is any word.
type memoChat struct {
	mu     sync.Mutex
	events []ChatEvent
	posts  []string
	edits  []string
	fails  error // of Post
	deaf   error // of Next
	asked  int   // number of calls of Next
	hasty  bool  // Next does not wait
}

var _ Chat = (*memoChat)(nil)

func (m *memoChat) Bot(context.Context) (ChatBot, error) { return ChatBot{ID: "B1", Name: "memo"}, nil }

func (m *memoChat) Next(ctx context.Context, after string) ([]ChatEvent, error) {
	m.mu.Lock()
	m.asked++
	err, hasty, events := m.deaf, m.hasty, m.events
	for i := range events {
		if events[i].Place == after {
			events = events[i+1:]
			break
		}
	}
	m.mu.Unlock()
	if err != nil || hasty || len(events) > 0 {
		return events, err
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
	return nil, ctx.Err()
}

func (m *memoChat) Post(_ context.Context, chat string, p *ChatPost) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails != nil {
		return "", m.fails
	}
	m.posts = append(m.posts, chat+": "+p.Text)
	return fmt.Sprintf("m%d", len(m.posts)), nil
}

func (m *memoChat) Edit(_ context.Context, _, message, text string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.edits = append(m.edits, message+": "+text)
	return nil
}

func (m *memoChat) Pressed(context.Context, string, string) error { return nil }

// set changes the service's behaviour.
func (m *memoChat) set(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// write writes in a user's chat with the bot.
func (m *memoChat) write(user, text string) {
	m.set(func() {
		place := fmt.Sprintf("p%d", len(m.events))
		m.events = append(m.events, ChatEvent{Place: place, Chat: "C" + user, User: user, Direct: true, Text: text,
			Message: "w" + place})
	})
}

// said returns the posted texts.
func (m *memoChat) said() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.posts)
}

func (m *memoChat) times() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

// inChat is inFixture with a chat instead of the pad.
func inChat(t *testing.T, tell config.Telling, f func(b *fixture, m *memoChat)) {
	t.Helper()
	inFixture(t, config.Telling{What: "urgent"}, func(b *fixture) {
		m := &memoChat{}
		b.more = func(n *Notifier) { n.addChat("memo", m, tell, true) }
		b.end()
		b.start()
		f(b, m)
	})
}

func (b *fixture) pairMemo(m *memoChat) {
	b.Helper()
	p, err := b.notify.Pair(b.Context(), "memo")
	b.must(err)
	m.write("me", "/pair "+p.Code)
	b.pass(2 * time.Second)
	if len(m.said()) == 0 || !strings.HasPrefix(m.said()[0], "Cme: This chat is paired") {
		b.Fatalf("posted %q", m.said())
	}
}

// TestChatCodeEnds: a code is valid for ten minutes, no longer, and not after a restart; and the bot listens only
// when needed.
func TestChatCodeEnds(t *testing.T) {
	inChat(t, config.Telling{}, func(b *fixture, m *memoChat) {
		b.pass(time.Hour)
		if m.times() > 0 {
			t.Errorf("listened %d times to nobody", m.times())
		}
		p, err := b.notify.Pair(t.Context(), "memo")
		b.must(err)
		b.pass(pairTime)
		m.write("me", "/pair "+p.Code)
		b.pass(time.Hour)
		if b.notify.Busy() || m.times() > 700 {
			t.Errorf("busy, or listened %d times", m.times())
		}
		p, err = b.notify.Pair(t.Context(), "memo")
		b.must(err)
		b.end()
		b.start()
		m.write("me", "/pair "+p.Code)
		b.pass(time.Minute)
		if len(m.said()) > 0 {
			t.Fatalf("posted %q", m.said())
		}
		p, err = b.notify.Pair(t.Context(), "memo")
		b.must(err)
		b.pass(pairTime - time.Minute)
		m.write("me", "/pair "+p.Code)
		b.pass(2 * time.Second)
		if len(m.said()) != 1 {
			t.Fatalf("posted %q", m.said())
		}
	})
}

// TestChatQuiet: a chat follows every channel's rules: quiet hours and their digest, and nothing twice after a
// restart; mail from before the pairing is sent then; and the person gets answers in quiet hours too.
func TestChatQuiet(t *testing.T) {
	inChat(t, config.Telling{Quiet: "01:00-07:00"}, func(b *fixture, m *memoChat) {
		b.send("ann", mail.Question, "Before?", mail.Draft{})
		b.pass(time.Minute)
		if how, _ := b.notify.Wake(true, false, mail.TimeOf(time.Now())); how != "" {
			t.Errorf("the sender is told that %q tells", how)
		}
		b.pairMemo(m)
		b.pass(time.Minute)
		if len(m.said()) != 2 || !strings.HasPrefix(m.said()[1], "Cme: ann asks: Before?") {
			t.Fatalf("posted %q", m.said())
		}
		b.pass(time.Until(time.Date(2000, 1, 2, 1, 30, 0, 0, time.Local)))
		b.send("ann", mail.Question, "One?", mail.Draft{})
		b.send("bob", mail.Question, "Two?", mail.Draft{})
		b.pass(time.Hour)
		m.write("me", "/help")
		b.pass(2 * time.Second)
		if n := len(m.said()); n != 3 || !strings.Contains(m.said()[2], "/waiting") {
			t.Fatalf("in quiet hours posted %q", m.said()[2:])
		}
		b.end()
		b.start()
		b.pass(6 * time.Hour)
		const digest = "Cme: 2 questions from ann and bob\n\n• ann asks"
		if n := len(m.said()); n != 4 || !strings.HasPrefix(m.said()[3], digest) {
			t.Fatalf("after quiet hours posted %q", m.said()[3:])
		}
	})
}

// TestChatFlood: a service that asks us to wait is left alone, in both directions, and one that does not wait is not
// polled continuously.
func TestChatFlood(t *testing.T) {
	inChat(t, config.Telling{}, func(b *fixture, m *memoChat) {
		b.pairMemo(m)
		m.set(func() { m.fails = &ChatError{Msg: "answered 429", After: time.Hour} })
		b.send("ann", mail.Question, "Which port?", mail.Draft{})
		b.pass(time.Minute)
		m.set(func() { m.fails = nil })
		b.pass(58 * time.Minute)
		if len(m.said()) != 1 {
			t.Errorf("posted %q within the hour", m.said())
		}
		b.pass(2 * time.Minute)
		if len(m.said()) != 2 {
			t.Errorf("posted %q after the hour", m.said())
		}
		m.set(func() { m.deaf, m.asked = &ChatError{Msg: "answered 429", After: time.Hour}, 0 })
		b.pass(time.Hour)
		if m.times() > 1 {
			t.Errorf("asked %d times within the hour", m.times())
		}
		m.set(func() { m.deaf, m.asked = errors.New("no network"), 0 })
		b.pass(time.Hour)
		if m.times() > 30 || len(b.notify.Troubles()) == 0 {
			t.Errorf("asked %d times without a network, troubles %q", m.times(), b.notify.Troubles())
		}
		m.set(func() { m.deaf, m.hasty = nil, true })
		b.pass(10 * time.Minute)
		m.set(func() { m.asked = 0 })
		b.pass(time.Minute)
		if m.times() > 61 || len(b.notify.Troubles()) > 0 {
			t.Errorf("asked %d times a minute, troubles %q", m.times(), b.notify.Troubles())
		}
	})
}

// TestChatForgets: old subjects are forgotten, so that the saved state does not grow.
func TestChatForgets(t *testing.T) {
	inChat(t, config.Telling{}, func(b *fixture, m *memoChat) {
		b.pairMemo(m)
		c := b.notify.chatters()[0]
		for range maxChatShown + 50 {
			_, err := c.Send(t.Context(), &Note{Subject: "x", Letters: []Letter{{Room: "lab", ID: "msg_1"}}})
			b.must(err)
		}
		if n := len(c.Shown); n != maxChatShown {
			t.Errorf("%d are kept, want %d", n, maxChatShown)
		}
		b.pass(shownTime + time.Minute)
		_, err := c.Send(t.Context(), &Note{Subject: "x"})
		b.must(err)
		if n := len(c.Shown); n != 1 {
			t.Errorf("%d are kept after a week, want 1", n)
		}
		synctest.Wait()
	})
}
