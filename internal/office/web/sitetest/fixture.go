package sitetest

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/mail/mailtest"
	"pennypost/internal/office/web/words"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
	"pennypost/internal/wire"
)

// Host is the pages' own name in tests.
const Host = "pp-test.localhost"

// Site is the pages under test.
type Site interface {
	http.Handler
	Close()
	Link(room mail.RoomName, plain bool) string
}

// Options are the fixture's options for the pages.
type Options struct {
	Office  mail.Office
	Key     []byte
	Host    string
	Attach  func(context.Context, mail.RoomName, mail.Name) (wire.Attached, error)
	Away    *Away
	Kept    func(which func(*mail.Kept) bool) mail.Outbox
	Closing context.Context
	Log     *slog.Logger
	Version string
}

// Fixture is a Site with a real room, shop, and a logged-in person.
type Fixture struct {
	T      testing.TB
	Site   Site
	Office *Office
	Cookie string
	Away   *Away
	Kept   []mail.Kept        // mail in the outbox
	Stop   context.CancelFunc // ends streams, as a closing post office does
	// Attach brings an agent's session to the front.
	Attach func(context.Context, mail.RoomName, mail.Name) (wire.Attached, error)
}

// Cookie is the name of the session cookie.
const Cookie = "pennypost_session"

// New returns a fixture with the pages that open makes, and a room shop, on store if that is not nil.
func New(t testing.TB, open func(Options) Site, store *journaltest.Store) *Fixture {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b := &Fixture{T: t, Office: &Office{}, Away: new(Away), Stop: cancel}
	b.Site = open(Options{Office: b.Office, Key: []byte("a key of the test"), Host: Host, Closing: ctx,
		Log: slog.New(slog.DiscardHandler), Version: "test", Away: b.Away,
		Kept: func(which func(*mail.Kept) bool) mail.Outbox {
			return mail.Outbox{Letters: slices.DeleteFunc(slices.Clone(b.Kept),
				func(k mail.Kept) bool { return !which(&k) })}
		},
		Attach: func(ctx context.Context, room mail.RoomName, agent mail.Name) (wire.Attached, error) {
			if b.Attach == nil {
				return wire.Attached{}, mail.Errorf(mail.Unavailable, "there is no screen here")
			}
			return b.Attach(ctx, room, agent)
		}})
	t.Cleanup(func() {
		cancel()
		b.Site.Close()
		for _, r := range b.Office.Open {
			if err := r.Close(); err != nil {
				t.Errorf("closing a room: %v", err)
			}
		}
	})
	if store == nil {
		store = new(journaltest.Store)
	}
	b.openRoom("shop", store)
	b.login()
	return b
}

// login follows a link as the person's browser does.
func (b *Fixture) login() {
	key := strings.TrimPrefix(b.Site.Link("shop", false), "/login?key=")
	a := b.Post("/login", url.Values{"key": {key}})
	for _, c := range (&http.Response{Header: a.Header}).Cookies() {
		if c.Name == Cookie {
			b.Cookie = c.Value
		}
	}
	if b.Cookie == "" {
		b.T.Fatalf("nobody is logged in: %d %s", a.Code, a.Body)
	}
}

// AddRoom opens another room, without limits.
func (b *Fixture) AddRoom(name mail.RoomName) *mailroom.Room {
	b.T.Helper()
	return b.openRoom(name, new(journaltest.Store))
}

func (b *Fixture) openRoom(name mail.RoomName, store *journaltest.Store) *mailroom.Room {
	b.T.Helper()
	r, err := mailroom.Open(context.Background(), name, store.Open(), mailroom.Options{
		Limits:    policy.Limits{RepeatWindow: -1, Exchanges: -1, PerMinute: -1, Depth: -1},
		Retention: policy.Retention{Age: -1, Count: -1},
		Preview:   words.FirstLine,
	})
	if err != nil {
		b.T.Fatal(err)
	}
	b.Office.Open = append(b.Office.Open, r)
	b.Office.Names = append(b.Office.Names, name)
	return r
}

// As is the room shop as an agent or the user sees it.
func (b *Fixture) As(name mail.Name) mail.Service { return b.Office.Open[0].As(name) }

// Send sends a message in shop and returns its id. It fills in an empty body or recipient.
func (b *Fixture) Send(from mail.Name, d mail.Draft) mail.ID {
	b.T.Helper()
	if d.Body == "" {
		d.Body = "Say what you think."
	}
	if len(d.To) == 0 {
		d.To = mail.Recipients{"user"}
	}
	sent, err := b.As(from).Send(context.Background(), d)
	if err != nil {
		b.T.Fatalf("%s sends %+v: %v", from, d, err)
	}
	return sent.ID
}

// Register puts agents on the roster of shop.
func (b *Fixture) Register(agents ...mail.Presence) {
	b.T.Helper()
	for _, p := range agents {
		if _, err := b.As(mail.User).Register(context.Background(), p); err != nil {
			b.T.Fatal(err)
		}
	}
}

// Asks opens a client dialog of an agent in shop, as its hooks do.
func (b *Fixture) Asks(c mail.Card) {
	b.T.Helper()
	b.Register(mail.Presence{Name: c.Agent, Session: "session-of-" + string(c.Agent), State: mail.Working})
	if err := b.As(c.Agent).Dialog(context.Background(), b.dialogChange(&c)); err != nil {
		b.T.Fatal(err)
	}
	b.Office.Ask(c)
}

// Ends ends a dialog in shop.
func (b *Fixture) Ends(c mail.Card, how mail.DialogOutcome, by mail.Name, where string) {
	b.T.Helper()
	change := b.dialogChange(&c)
	change.Outcome, change.By, change.Where = how, by, where
	b.Office.Forget(c.ID)
	as := c.Agent
	if by == mail.User { // the user's answer, not the agent's hook, reports it
		as = mail.User
	}
	if err := b.As(as).Dialog(context.Background(), change); err != nil {
		b.T.Fatal(err)
	}
}

func (b *Fixture) dialogChange(c *mail.Card) mail.DialogChange {
	return mail.DialogChange{Dialog: c.Dialog, Agent: c.Agent, Session: "session-of-" + string(c.Agent)}
}

// Away is a fake switch for questions while the person is away.
type Away struct{ List []wire.Away }

// Away implements page.Away.
func (a *Away) Away(context.Context) (wire.Aways, error) { return wire.Aways{Away: a.List}, nil }

// SetAway implements page.Away. There is only one switch.
func (a *Away) SetAway(ctx context.Context, w wire.Away) (wire.Aways, error) {
	if a.List = []wire.Away{w}; w.Until <= 1 {
		a.List = nil
	}
	return a.Away(ctx)
}

// Answer is a response to the browser.
type Answer struct {
	Code   int
	Header http.Header
	Body   string
}

// Do sends a request as the person's browser does, modified by each of with.
func (b *Fixture) Do(method, path string, body io.Reader, with ...func(*http.Request)) Answer {
	b.T.Helper()
	r := httptest.NewRequest(method, path, body)
	r.Host = Host + ":8765"
	r.AddCookie(&http.Cookie{Name: Cookie, Value: b.Cookie})
	for _, change := range with {
		change(r)
	}
	w := httptest.NewRecorder()
	b.Site.ServeHTTP(w, r)
	text := w.Body.Bytes()
	if w.Header().Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(text))
		if err == nil {
			text, err = io.ReadAll(z)
		}
		if err != nil {
			b.T.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return Answer{w.Code, w.Header(), string(text)}
}

func (b *Fixture) Get(path string, with ...func(*http.Request)) Answer {
	b.T.Helper()
	return b.Do(http.MethodGet, path, nil, with...)
}

// Part requests the part of a page with an id, as htmx does.
func (b *Fixture) Part(path, target string) Answer {
	b.T.Helper()
	return b.Get(path, AsScript("section#"+target))
}

// Post posts a form as a browser without script does; with AsScript, as htmx does.
func (b *Fixture) Post(path string, form url.Values, with ...func(*http.Request)) Answer {
	b.T.Helper()
	kind := func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }
	return b.Do(http.MethodPost, path, strings.NewReader(form.Encode()),
		append([]func(*http.Request){kind}, with...)...)
}

// AsScript turns a request into one of htmx, for an element "tag#id".
func AsScript(target string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("HX-Request", "true")
		r.Header.Set("HX-Target", target)
	}
}

// Want fails the test unless the response has the status and contains all texts.
func (a Answer) Want(t testing.TB, code int, texts ...string) Answer {
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

// Without fails the test if the response contains one of the texts.
func (a Answer) Without(t testing.TB, texts ...string) Answer {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(a.Body, text) {
			t.Errorf("the answer has %q:\n%s", text, a.Body)
		}
	}
	return a
}

// Office is an office with rooms in memory.
type Office struct {
	mailtest.Asking
	Names   []mail.RoomName
	Open    []*mailroom.Room
	Trouble string
	// Degraded is the desk's report about its servers.
	Degraded string
	Short    bool // lists truncate long texts, as the post office's do
	// Wrap wraps the rooms; nil: no wrapper.
	Wrap func(mail.Service) mail.Service
}

func (o *Office) Dialogs(ctx context.Context, q mail.DialogQuery) (mail.Cards, error) {
	list, err := o.Asking.Dialogs(ctx, q)
	for i := range list.Cards {
		if o.Short && q.ID == "" {
			list.Cards[i].Ask = list.Cards[i].Short()
		}
	}
	return list, err
}

func (o *Office) Room(_ context.Context, name mail.RoomName, as mail.Name) (mail.Service, error) {
	for i, n := range o.Names {
		if n == name && o.Wrap != nil {
			return o.Wrap(o.Open[i].As(as)), nil
		} else if n == name {
			return o.Open[i].As(as), nil
		}
	}
	return nil, mail.Errorf(mail.NotFound, "there is no room %s", name)
}

func (o *Office) Rooms(ctx context.Context) ([]mail.RoomStatus, error) {
	var out []mail.RoomStatus
	for _, r := range o.Open {
		st, err := r.As(mail.User).Status(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, st)
	}
	return out, nil
}

func (o *Office) Fleet(ctx context.Context, q mail.FleetQuery) (mail.Fleet, error) {
	return mailtest.FleetOf(ctx, o, q)
}

func (o *Office) FleetMail(ctx context.Context, q mail.FleetMailQuery) (mail.FleetMail, error) {
	return mailtest.FleetMailOf(ctx, o, q)
}

func (o *Office) Desk(ctx context.Context, q mail.DeskQuery) (mail.Desk, error) {
	d, err := mailtest.DeskOf(ctx, o, q)
	d.Trouble, d.Degraded = o.Trouble, o.Degraded
	return d, err
}

func (o *Office) WatchDesk(ctx context.Context) (mail.DeskWatch, error) {
	return mailtest.WatchDeskOf(ctx, o)
}
