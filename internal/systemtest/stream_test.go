package systemtest

import (
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// TestStreamResumes reads the room's events while the post office is stopped and killed in turn and the connection
// breaks in between. It always resumes with Last-Event-ID, repeating its first address, as browsers do: no event is
// missing, none comes twice, and no event was shown that the journal does not have.
func TestStreamResumes(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	d := o.mustServe(t)
	o.must(t, "agents", "register", "sink")
	_, stopSenders := o.startSenders(t)
	last := ""
	var seen []event
	for round := range 12 {
		s := o.reconnect(t, last)
		for range 40 {
			e, err := s.next()
			if err != nil {
				t.Fatal(err)
			}
			seen, last = append(seen, e), e.id
		}
		switch round % 4 {
		case 0:
			if err := d.terminate(); err != nil {
				t.Fatal(err)
			}
		case 2:
			d.kill()
		}
		if round%2 == 0 { // events before the end are not lost either
			for e, err := s.next(); err == nil; e, err = s.next() {
				seen, last = append(seen, e), e.id
			}
			d = o.mustServe(t)
		}
		s.close()
	}
	stopSenders()
	checkStream(t, o, seen)
}

func (o *office) reconnect(t *testing.T, last string) *stream {
	t.Helper()
	s, err := o.socket("").events("0", last)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// checkStream compares the events with the journal from its beginning.
func checkStream(t *testing.T, o *office, seen []event) {
	t.Helper()
	st := fetch[mail.RoomStatus](t, o.socket(""), http.StatusOK, http.MethodGet, room, "")
	whole := o.reconnect(t, "")
	for i, e := range seen {
		w, err := whole.next()
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq != mail.Seq(i+1) || e.id != strconv.Itoa(i+1) || e.kind != kind(e.Event) {
			t.Fatalf("event %d was number %d with the id %s and the kind %s", i+1, e.Seq, e.id, e.kind)
		}
		if diff := cmp.Diff(w.Event, e.Event); diff != "" {
			t.Fatalf("event %d (-journal +seen):\n%s", i+1, diff)
		}
	}
	if len(seen) < 12*40 || st.Seq < mail.Seq(len(seen)) {
		t.Errorf("%d events were seen, of %d", len(seen), st.Seq)
	}
}

func kind(e mail.Event) string {
	switch {
	case e.Message != nil:
		return "message"
	case e.Receipt != nil:
		return "receipt"
	}
	return "agent"
}

// TestStreamIsLive holds that an event is sent when it happens, to every earlier reader and without a hint of
// earlier events.
func TestStreamIsLive(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.mustServe(t)
	o.must(t, "agents", "register", "builder")
	o.must(t, "agents", "token", "builder")
	st := fetch[mail.RoomStatus](t, o.socket(""), http.StatusOK, http.MethodGet, room, "")
	s, err := o.socket("").events(strconv.FormatUint(uint64(st.Seq), 10), "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	next := make(chan event, 1)
	go func() {
		if e, err := s.next(); err == nil {
			next <- e
		}
	}()
	select {
	case e := <-next:
		t.Errorf("before anything has happened there is %+v", e)
	case <-time.After(100 * time.Millisecond):
	}
	sent := ask[mail.Sent](t, o, "send", "--to", "builder", "--body", "live")
	select {
	case e := <-next:
		if e.Message == nil || e.Message.ID != sent.ID || e.Message.Body != "live" || e.Seq != sent.Seq {
			t.Errorf("sent %+v, streamed %+v", sent, e)
		}
	case <-time.After(patience):
		t.Error("the message was not streamed")
	}
	// A reader from the beginning sees no secrets.
	from := o.reconnect(t, "")
	for range st.Seq {
		e, err := from.next()
		if err != nil && err != io.EOF {
			t.Fatal(err)
		}
		if e.Agent != nil && e.Agent.TokenSum != "" {
			t.Errorf("the stream shows the hash of a token: %+v", e.Agent)
		}
	}
}
