package notify

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
)

// pad is a channel that records its notes.
type pad struct {
	mu    sync.Mutex
	notes []*Note
	when  []time.Time
	tried int
	fails error
}

func (p *pad) Send(_ context.Context, n *Note) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tried++; p.fails != nil {
		return "", p.fails
	}
	p.notes, p.when = append(p.notes, n), append(p.when, time.Now())
	return "200 OK", nil
}

func (p *pad) set(fails error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fails = fails
}

// subjects returns the subjects of the notes.
func (p *pad) subjects() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, n := range p.notes {
		out = append(out, n.Subject)
	}
	return out
}

// fixture is a room in memory and a Notifier with one channel, in a synctest bubble.
type fixture struct {
	*testing.T
	file   string
	tell   config.Telling
	store  journaltest.Store
	pad    pad
	more   func(*Notifier) // adds channels, if not nil
	pages  string
	room   *mailroom.Room
	notify *Notifier
	stop   context.CancelFunc
	done   sync.WaitGroup
}

func inFixture(t *testing.T, tell config.Telling, f func(b *fixture)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "notify.json")
	synctest.Test(t, func(t *testing.T) {
		b := &fixture{T: t, tell: tell, file: file}
		b.start()
		f(b)
		b.end()
	})
}

func (b *fixture) start() {
	b.Helper()
	room, err := mailroom.Open(context.Background(), "lab", b.store.Open(), mailroom.Options{
		Limits: policy.Limits{RepeatWindow: -1, Exchanges: -1, PerMinute: -1, Depth: -1}})
	b.must(err)
	b.room = room
	b.notify = newNotifier(Options{File: b.file, Pages: func() string { return b.pages },
		Use: func(_ context.Context, name mail.RoomName, use func(Room) error) error {
			if name != "lab" {
				return mail.Errorf(mail.NotFound, "there is no room %s", name)
			}
			return use(room)
		}})
	b.notify.addLine("pad", &b.pad, b.tell, true, false)
	if b.more != nil {
		b.more(b.notify)
	}
	ctx, stop := context.WithCancel(context.Background())
	b.stop = stop
	n := b.notify
	b.done.Go(func() { n.Run(ctx) })
	b.done.Go(func() {
		if err := n.Follow(ctx, room); err != nil && ctx.Err() == nil {
			b.Errorf("Follow = %v", err)
		}
	})
	synctest.Wait()
}

func (b *fixture) end() {
	b.Helper()
	b.stop()
	b.done.Wait()
	b.must(b.room.Close())
}

func (b *fixture) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// send sends a message from an agent to the user.
func (b *fixture) send(from mail.Name, typ mail.Type, subject string, d mail.Draft) mail.ID {
	b.Helper()
	d.To, d.Type, d.Subject = mail.Recipients{"user"}, string(typ), subject
	if d.Body == "" {
		d.Body = "The **body** of " + subject
	}
	sent, err := b.room.As(from).Send(b.Context(), d)
	b.must(err)
	synctest.Wait()
	return sent.ID
}

func (b *fixture) mark(mark mail.Mark, until time.Time, ids ...mail.ID) {
	b.Helper()
	m := mail.Marking{IDs: ids, Mark: mark}
	if !until.IsZero() {
		m.Until = mail.TimeOf(until)
	}
	_, err := b.room.As(mail.User).Mark(b.Context(), m)
	b.must(err)
	synctest.Wait()
}

// pass lets time pass.
func (b *fixture) pass(d time.Duration) {
	time.Sleep(d) // in a bubble
	synctest.Wait()
}

// told checks the subjects of the notes sent since the start.
func (b *fixture) told(want ...string) {
	b.Helper()
	if got := b.pad.subjects(); !slices.Equal(got, want) {
		b.Errorf("told:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

var errDown = errors.New("answered 503 Service Unavailable")
