package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/sitetest"
)

// stream is a browser that follows changes.
type stream struct {
	header http.Header
	cancel context.CancelFunc
	done   chan struct{} // closed when the handler returns

	mu   sync.Mutex
	text strings.Builder
	fail error // returned by writes
}

func (s *stream) Header() http.Header { return s.header }
func (s *stream) WriteHeader(int)     {}
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return 0, s.fail
	}
	return s.text.Write(p)
}
func (s *stream) FlushError() error { return nil }

// heard is one event of a stream.
type heard struct {
	ID, Event string
	change
}

// events returns and clears the events received so far.
func (s *stream) events(t *testing.T) []heard {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []heard
	var h heard
	for r := bufio.NewScanner(strings.NewReader(s.text.String())); r.Scan(); {
		field, value, _ := strings.Cut(r.Text(), ": ")
		switch field {
		case "id":
			h.ID = value
		case "event":
			h.Event = value
		case "data":
			if err := jsonx.Unmarshal([]byte(value), &h.change); err != nil {
				t.Fatal(err)
			}
		case "":
			if h.Event != "" {
				out = append(out, h)
			}
			h = heard{}
		}
	}
	s.text.Reset()
	return out
}

// listen opens the stream of shop after a sequence number or, like a browser that reconnects, after the last id
// received.
func (b *fixture) listen(after string, last string) *stream {
	ctx, cancel := context.WithCancel(context.Background())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/@shop/events?after="+after, nil)
	r.Host = sitetest.Host
	r.AddCookie(&http.Cookie{Name: sessionCookie, Value: b.Cookie})
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	s := &stream{header: make(http.Header), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		b.site.ServeHTTP(s, r)
	}()
	return s
}

// inBubble runs a test on a fixture in a synctest bubble.
func inBubble(t *testing.T, test func(t *testing.T, b *fixture)) {
	synctest.Test(t, func(t *testing.T) { test(t, newFixture(t)) })
}

func TestEvents(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		b.Register(mail.Presence{Name: "builder-1"})
		s := b.listen("", "")
		time.Sleep(time.Second)
		if got := s.events(t); len(got) != 1 || !got[0].Agents || got[0].Mail || got[0].Reset ||
			s.header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("from the beginning: %+v %v", got, s.header)
		}
		id := b.Send("builder-1", mail.Draft{Subject: "Which parser?"})
		time.Sleep(gather + time.Millisecond)
		got := s.events(t)
		if len(got) != 1 || got[0].Unread != 1 || !got[0].Mail || got[0].ID != fmt.Sprint(got[0].Seq) ||
			got[0].Arrived == nil || *got[0].Arrived != (arrival{id, "", "shop", "builder-1", "Which parser?"}) {
			t.Fatalf("after a message: %+v", got)
		}
		b.Send(mail.User, mail.Draft{To: mail.Recipients{"builder-1"}})
		time.Sleep(time.Second)
		if got := s.events(t); len(got) != 1 || got[0].Arrived != nil || !got[0].Mail || got[0].Stuck != 1 {
			t.Errorf("after a message of the user: %+v", got)
		}
		s.cancel()
		<-s.done
	})
}

// TestEventsResume tests that a browser that reconnects gets the changes that it missed, once.
func TestEventsResume(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		b.Send("builder-1", mail.Draft{Subject: "One"})
		s := b.listen("0", "")
		time.Sleep(time.Second)
		last := s.events(t)[0].ID
		s.cancel()
		<-s.done
		b.Send("builder-1", mail.Draft{Subject: "Two"})
		b.Send("builder-1", mail.Draft{Subject: "Three"})
		s = b.listen("0", last)
		time.Sleep(time.Second)
		if got := s.events(t); len(got) != 1 || got[0].Arrived.Subject != "Three" || got[0].Unread != 3 {
			t.Errorf("after coming back: %+v", got)
		}
		s.cancel()
		<-s.done
		s = b.listen("0", fmt.Sprint(b.seq()))
		time.Sleep(time.Second)
		if got := s.events(t); len(got) != 0 {
			t.Errorf("who has heard all hears %+v", got)
		}
		s.cancel()
		<-s.done
	})
}

// seq is the latest sequence number of shop.
func (b *fixture) seq() mail.Seq {
	b.T.Helper()
	st, err := b.As(mail.User).Status(context.Background())
	if err != nil {
		b.T.Fatal(err)
	}
	return st.Seq
}

// TestEventsOfAnotherJournal tests that a page is told to refresh everything if the room was recreated, so that the
// page knows a later sequence number than the journal.
func TestEventsOfAnotherJournal(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		b.Send("builder-1", mail.Draft{})
		at := b.seq()
		s := b.listen("0", "90000")
		time.Sleep(time.Second)
		if got := s.events(t); len(got) != 1 || !got[0].Reset || got[0].Seq != at || got[0].Unread != 1 {
			t.Errorf("%+v", got)
		}
		b.Send("builder-1", mail.Draft{})
		time.Sleep(time.Second)
		if got := s.events(t); len(got) != 1 || got[0].Reset || got[0].Seq <= at {
			t.Errorf("afterwards: %+v", got)
		}
		s.cancel()
		<-s.done
		b.Get("/@shop/changes?after=90000").Want(t, http.StatusOK, `"reset":true`)
	})
}

// TestEventsStorm tests that a thousand messages within a second cause only a few events.
func TestEventsStorm(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		s := b.listen("0", "")
		for i := range 1_000 {
			b.Send("builder-1", mail.Draft{Subject: fmt.Sprint("Message ", i)})
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		got := s.events(t)
		if len(got) < 2 || len(got) > 8 {
			t.Errorf("%d events", len(got))
		}
		if end := got[len(got)-1]; end.Unread != 1_000 || end.Arrived.Subject != "Message 999" || end.Seq != b.seq() {
			t.Errorf("the last is %+v", end)
		}
		s.cancel()
		<-s.done
	})
}

func TestEventsTick(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		s := b.listen("0", "")
		time.Sleep(3*tick + time.Second)
		got := s.events(t)
		if len(got) != 3 {
			t.Fatalf("within %v of silence: %+v", 3*tick, got)
		}
		for _, h := range got {
			if h.Event != "pp-tick" || h.ID != "" {
				t.Errorf("%+v", h)
			}
		}
		s.cancel()
		<-s.done
	})
}

func TestEventsEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		s := b.listen("0", "")
		synctest.Wait()
		b.Stop()
		<-s.done
	})
}

// TestEventsBound tests that streams are limited, and that a page that leaves frees its place.
func TestEventsBound(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		b.site.streams.Store(maxStreams)
		b.Get("/@shop/events").Want(t, http.StatusTooManyRequests)
		b.site.streams.Add(-1)
		s := b.listen("0", "")
		synctest.Wait()
		b.Get("/@shop/events").Want(t, http.StatusTooManyRequests)
		b.Stop()
		<-s.done
		if n := b.site.streams.Load(); n != maxStreams-1 {
			t.Errorf("%d streams are counted, want %d", n, maxStreams-1)
		}
	})
}

// TestEventsToNobody tests that the stream of a browser that stops reading ends.
func TestEventsToNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		s := b.listen("0", "")
		synctest.Wait()
		s.mu.Lock()
		s.fail = errors.New("i/o timeout")
		s.mu.Unlock()
		b.Send("builder-1", mail.Draft{})
		<-s.done
	})
}

// deadlines records the write deadlines set by a handler.
type deadlines struct {
	stream
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.set = append(d.set, t)
	return nil
}

func TestEventsDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		ctx, cancel := context.WithTimeout(context.Background(), tick+time.Second)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/@shop/events", nil)
		r.Host = sitetest.Host
		r.AddCookie(&http.Cookie{Name: sessionCookie, Value: b.Cookie})
		d := &deadlines{stream: stream{header: make(http.Header)}}
		began := time.Now()
		b.site.ServeHTTP(d, r)
		if len(d.set) != 4 || !d.set[0].Equal(began.Add(page.SendTimeout)) || !d.set[1].IsZero() ||
			!d.set[2].Equal(began.Add(tick+page.SendTimeout)) || !d.set[3].IsZero() {
			t.Errorf("deadlines for %v: %v", began, d.set)
		}
	})
}

func TestChanges(t *testing.T) {
	b := newFixture(t)
	scope := ""
	ask := func(after mail.Seq) (c change) {
		t.Helper()
		got := b.Get(fmt.Sprintf("/@shop/changes?after=%d", after)+scope).Want(t, http.StatusOK)
		if err := jsonx.Unmarshal([]byte(got.Body), &c); err != nil ||
			got.Header.Get("Content-Type") != "application/json" {
			t.Fatalf("%v: %s", err, got.Body)
		}
		return c
	}
	if c := ask(0); c.Seq != b.seq() || c.Mail || c.Arrived != nil || c.Reset {
		t.Errorf("nothing happened: %+v", c)
	}
	at := b.seq()
	first := b.Send("builder-1", mail.Draft{Subject: "One"})
	second := b.Send("builder-2", mail.Draft{Subject: "Two"})
	if c := ask(at); c.Arrived == nil || *c.Arrived != (arrival{second, "", "shop", "builder-2", "Two"}) ||
		c.Unread != 2 ||
		!c.Mail {
		t.Errorf("two messages: %+v", c)
	}
	b.Post("/@shop/mark", map[string][]string{"id": {string(second)}, "mark": {"read"}}).Want(t, http.StatusSeeOther)
	if c := ask(at); c.Arrived == nil || c.Arrived.ID != first || c.Unread != 1 {
		t.Errorf("one was read: %+v", c)
	}
	if c := ask(b.seq()); c.Arrived != nil || c.Mail {
		t.Errorf("nothing new: %+v", c)
	}
	b.AddRoom("other")
	if _, err := b.Office.Open[1].As("x").Send(t.Context(),
		mail.Draft{To: mail.Recipients{"user"}, Body: "x"}); err != nil {
		t.Fatal(err)
	}
	if c := ask(b.seq()); c.Unread != 1 || !c.Desk {
		t.Errorf("another room has mail, of which this page shows nothing: %+v", c)
	}
	scope = "&rooms=all"
	if c := ask(b.seq()); c.Unread != 2 || !c.Desk {
		t.Errorf("another room has mail: %+v", c)
	}
	for _, bad := range []string{"-1", "x", "99999999999999999999", "1.5"} {
		b.Get("/@shop/changes?after="+bad).Want(t, http.StatusBadRequest)
		b.Get("/@shop/events?after="+bad).Want(t, http.StatusBadRequest)
	}
}

// TestDialogEvents tests that an open page learns when a dialog opens and closes.
func TestDialogEvents(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		c := mail.Card{Room: "shop", Agent: "release", Dialog: mail.Dialog{ID: "d-push", Kind: mail.AsksPermission,
			Tool: "Bash", Sum: strings.Repeat("5a", 32)}}
		c.Form, c.Text = mail.FormCommand, "git push\x1b"
		b.Register(mail.Presence{Name: "release"})
		s := b.listen("", "")
		time.Sleep(time.Second)
		s.events(t)
		b.Asks(c)
		time.Sleep(time.Second)
		got := s.events(t)
		want := arrival{"d-push", "/@shop/?d=d-push", "shop", "release", "Bash: git push⟨U+001B⟩"}
		if len(got) == 0 || got[len(got)-1].Needs != 1 || !slices.ContainsFunc(got, func(e heard) bool {
			return e.Arrived != nil && *e.Arrived == want
		}) {
			t.Fatalf("when it asks: %+v", got)
		}
		b.Ends(c, mail.DialogDenied, "", mail.AtClient)
		time.Sleep(time.Second)
		if got := s.events(t); len(got) != 1 || got[0].Needs != 0 || got[0].Arrived != nil {
			t.Errorf("when it does not ask any more: %+v", got)
		}
		b.Stop()
	})
}
