package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// next returns the next message that w sees.
func next(t *testing.T, w mail.Watch, queue *[]mail.Event) mail.Event {
	t.Helper()
	for {
		for len(*queue) == 0 {
			events, err := w.Next(t.Context())
			if err != nil {
				t.Fatalf("Next: %v", err)
			}
			*queue = events
		}
		e := (*queue)[0]
		*queue = (*queue)[1:]
		if e.Message != nil {
			return e
		}
	}
}

// TestWatchResumes cuts the connection repeatedly: every message is seen once and in order.
func TestWatchResumes(t *testing.T) {
	office := newRooms(t)
	l := newLink(t, office, peer)
	w, err := l.as(t, mail.User).Watch(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var queue []mail.Event
	for i := range 40 {
		if i%10 == 5 {
			l.cut()
		}
		office.send(fmt.Sprint(i))
	}
	for i := range 40 {
		if e := next(t, w, &queue); e.Message.Body != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, e.Message.Body)
		}
	}
}

// TestWatchOutlivesTheServer makes every connection fail for a while.
func TestWatchOutlivesTheServer(t *testing.T) {
	office := newRooms(t)
	l := newLink(t, office, peer)
	w, err := l.as(t, mail.User).Watch(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	l.down.Store(true)
	l.cut()
	office.send("meanwhile")
	time.AfterFunc(150*time.Millisecond, func() { l.down.Store(false) })
	var queue []mail.Event
	if e := next(t, w, &queue); e.Message.Body != "meanwhile" {
		t.Errorf("message = %q", e.Message.Body)
	}
}

// TestWatchIsRefused checks that a watch whose credential was revoked returns that error, instead of retrying for
// ever.
func TestWatchIsRefused(t *testing.T) {
	var revoked atomic.Bool
	l := newLink(t, newRooms(t), func(r *http.Request) (mail.Caller, error) {
		if revoked.Load() {
			return mail.Caller{}, mail.Errorf(mail.Unknown, "that token is void")
		}
		return peer(r)
	})
	w, err := l.as(t, mail.User).Watch(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	revoked.Store(true)
	l.cut()
	for err = nil; err == nil; {
		_, err = w.Next(t.Context())
	}
	if mail.CodeOf(err) != mail.Unknown || !strings.Contains(err.Error(), "void") {
		t.Errorf("Next = %v (%s), want what the post office said", err, mail.CodeOf(err))
	}
}

// TestNextEndsWithItsContext checks that an aborted Next loses nothing.
func TestNextEndsWithItsContext(t *testing.T) {
	office := newRooms(t)
	l := newLink(t, office, peer)
	first := office.send("first")
	w, err := l.as(t, mail.User).Watch(t.Context(), first.Seq)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		if _, err := w.Next(ctx); mail.CodeOf(err) != mail.Timeout {
			t.Errorf("Next = %v, want timeout", err)
		}
		cancel()
	}
	office.send("second")
	var queue []mail.Event
	if e := next(t, w, &queue); e.Message.Body != "second" {
		t.Errorf("message = %q", e.Message.Body)
	}
	if err := w.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := w.Next(t.Context()); mail.CodeOf(err) != mail.Unavailable {
		t.Errorf("Next after Close = %v, want unavailable", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
}

// TestWaitOutlivesTheServer breaks the connection of a wait, keeps the server away for a while, and then sends.
func TestWaitOutlivesTheServer(t *testing.T) {
	office := newRooms(t)
	l := newLink(t, office, peer)
	asked := make(chan struct{}, 1)
	hook := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	})
	l.hook.Store(&hook)
	got := make(chan string)
	bob := l.as(t, "bob")
	go func() {
		it, err := bob.Wait(t.Context(), mail.WaitQuery{})
		got <- fmt.Sprint(it.Body, err)
	}()
	<-asked
	l.hook.Store(nil)
	l.down.Store(true)
	l.cut()
	office.send("at last")
	time.AfterFunc(100*time.Millisecond, func() { l.down.Store(false) })
	if body := <-got; body != "at last<nil>" {
		t.Errorf("Wait = %s", body)
	}
}

// TestWaitAsksAgain checks that Wait polls again after "nothing came", and that signs of life are not part of an
// answer.
func TestWaitAsksAgain(t *testing.T) {
	l := newLink(t, newRooms(t), peer)
	answers := make(chan string, 3)
	answers <- "null\n"
	answers <- "\n\nnull\n"
	answers <- "\n\n{\"id\":\"m1\"}\n"
	hook := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query().Get("timeout"); got != "50s" {
			t.Errorf("timeout = %q", got)
		}
		io.WriteString(w, <-answers)
	})
	l.hook.Store(&hook)
	if it, err := l.as(t, "bob").Wait(t.Context(), mail.WaitQuery{}); err != nil || it.ID != "m1" {
		t.Errorf("Wait = %+v, %v", it, err)
	}
}

func TestExportBreaks(t *testing.T) {
	l := newLink(t, newRooms(t), peer)
	hook := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "{\"id\":\"m1\"}\n{\"id\":\"m2\"}\n{\"id")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	l.hook.Store(&hook)
	var ids []mail.ID
	var last error
	for it, err := range l.as(t, mail.User).Export(t.Context()) {
		if last = err; err == nil {
			ids = append(ids, it.ID)
		}
	}
	if len(ids) != 2 || mail.CodeOf(last) != mail.Unavailable {
		t.Errorf("export = %v, then %v; want two messages, then unavailable", ids, last)
	}
}
