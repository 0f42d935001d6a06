package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/mail/mailtest"
	"pennypost/internal/office/web/session"
	"pennypost/internal/office/web/words"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
)

// bedHost is the name of the pages of tests.
const bedHost = "pp-test.localhost"

// fixture is a Site with a real room behind it, shop, and a person who has logged in.
type fixture struct {
	t      testing.TB
	site   *Site
	office *bedOffice
	cookie string
	stop   context.CancelFunc // ends streams, as a post office does that closes
}

func newFixture(t testing.TB) *fixture { return newFixtureOn(t, new(journaltest.Store)) }

// newFixtureOn is a fixture whose room has a journal already.
func newFixtureOn(t testing.TB, store *journaltest.Store) *fixture {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b := &fixture{t: t, office: &bedOffice{}, stop: cancel}
	b.site = New(Options{Office: b.office, Key: []byte("a key of the test"), Host: bedHost, Closing: ctx,
		Log: slog.New(slog.DiscardHandler), Version: "test"})
	b.cookie, _ = b.site.sessions.Begin("a test", session.Doorway{}, nil) // it is in memory
	t.Cleanup(func() {
		cancel()
		b.site.Close()
		for _, r := range b.office.open {
			if err := r.Close(); err != nil {
				t.Errorf("closing a room: %v", err)
			}
		}
	})
	b.openRoom("shop", store)
	return b
}

// addRoom opens one more room, in which nobody is limited.
func (b *fixture) addRoom(name mail.RoomName) *mailroom.Room {
	b.t.Helper()
	return b.openRoom(name, new(journaltest.Store))
}

func (b *fixture) openRoom(name mail.RoomName, store *journaltest.Store) *mailroom.Room {
	b.t.Helper()
	r, err := mailroom.Open(context.Background(), name, store.Open(), mailroom.Options{
		Limits:    policy.Limits{RepeatWindow: -1, Exchanges: -1, PerMinute: -1, Depth: -1},
		Retention: policy.Retention{Age: -1, Count: -1},
		Preview:   words.FirstLine,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.office.open = append(b.office.open, r)
	b.office.names = append(b.office.names, name)
	return r
}

// as is the room shop as somebody sees it.
func (b *fixture) as(name mail.Name) mail.Service { return b.office.open[0].As(name) }

// send sends a message in shop and returns its id. What d leaves open is filled in.
func (b *fixture) send(from mail.Name, d mail.Draft) mail.ID {
	b.t.Helper()
	if d.Body == "" {
		d.Body = "Say what you think."
	}
	if len(d.To) == 0 {
		d.To = mail.Recipients{"user"}
	}
	sent, err := b.as(from).Send(context.Background(), d)
	if err != nil {
		b.t.Fatalf("%s sends %+v: %v", from, d, err)
	}
	return sent.ID
}

// register puts agents on the roster of shop.
func (b *fixture) register(agents ...mail.Presence) {
	b.t.Helper()
	for _, p := range agents {
		if _, err := b.as(mail.User).Register(context.Background(), p); err != nil {
			b.t.Fatal(err)
		}
	}
}

// fixtureAnswer is what the browser got.
type fixtureAnswer struct {
	Code   int
	Header http.Header
	Body   string
}

// do sends a request as the person's browser does, with changes made to it by each of with.
func (b *fixture) do(method, path string, body io.Reader, with ...func(*http.Request)) fixtureAnswer {
	b.t.Helper()
	r := httptest.NewRequest(method, path, body)
	r.Host = bedHost + ":8765"
	r.AddCookie(&http.Cookie{Name: sessionCookie, Value: b.cookie})
	for _, change := range with {
		change(r)
	}
	w := httptest.NewRecorder()
	b.site.ServeHTTP(w, r)
	text := w.Body.Bytes()
	if w.Header().Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(text))
		if err == nil {
			text, err = io.ReadAll(z)
		}
		if err != nil {
			b.t.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return fixtureAnswer{w.Code, w.Header(), string(text)}
}

func (b *fixture) get(path string, with ...func(*http.Request)) fixtureAnswer {
	b.t.Helper()
	return b.do(http.MethodGet, path, nil, with...)
}

// part asks as htmx does for the part of a page with that id.
func (b *fixture) part(path, target string) fixtureAnswer {
	b.t.Helper()
	return b.get(path, asScript("section#"+target))
}

// post posts a form, as a browser without script does; with asScript, as htmx does.
func (b *fixture) post(path string, form url.Values, with ...func(*http.Request)) fixtureAnswer {
	b.t.Helper()
	kind := func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }
	return b.do(http.MethodPost, path, strings.NewReader(form.Encode()),
		append([]func(*http.Request){kind}, with...)...)
}

// asScript makes a request one of htmx, for an element: "tag#id".
func asScript(target string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("HX-Request", "true")
		r.Header.Set("HX-Target", target)
	}
}

// want fails the test unless the answer has that status and all of the texts are in it.
func (a fixtureAnswer) want(t testing.TB, code int, texts ...string) fixtureAnswer {
	t.Helper()
	if a.Code != code {
		t.Fatalf("status %d, want %d: %s", a.Code, code, a.Body)
	}
	for _, text := range texts {
		if !strings.Contains(a.Body, text) {
			t.Errorf("the answer lacks %q:\n%s", text, a.Body)
		}
	}
	return a
}

// without fails the test if one of the texts is in the answer.
func (a fixtureAnswer) without(t testing.TB, texts ...string) fixtureAnswer {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(a.Body, text) {
			t.Errorf("the answer has %q:\n%s", text, a.Body)
		}
	}
	return a
}

// bedOffice is an office whose rooms are in memory.
type bedOffice struct {
	names   []mail.RoomName
	open    []*mailroom.Room
	trouble string
}

func (o *bedOffice) Room(_ context.Context, name mail.RoomName, as mail.Name) (mail.Service, error) {
	for i, n := range o.names {
		if n == name {
			return o.open[i].As(as), nil
		}
	}
	return nil, mail.Errorf(mail.NotFound, "there is no room %s", name)
}

func (o *bedOffice) Rooms(ctx context.Context) ([]mail.RoomStatus, error) {
	var out []mail.RoomStatus
	for _, r := range o.open {
		st, err := r.As(mail.User).Status(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, st)
	}
	return out, nil
}

func (o *bedOffice) Desk(ctx context.Context, q mail.DeskQuery) (mail.Desk, error) {
	d, err := mailtest.DeskOf(ctx, o, q)
	d.Trouble = o.trouble
	return d, err
}

func (o *bedOffice) WatchDesk(ctx context.Context) (mail.DeskWatch, error) {
	return mailtest.WatchDeskOf(ctx, o)
}
