package mailroom

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
)

// keep looks after the room until the returned function is called.
func (l *lab) keep() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); l.room.Run(ctx) }()
	synctest.Wait()
	return func() { cancel(); <-done }
}

func (l *lab) later(from mail.Name, in time.Duration, body string) mail.Sent {
	l.Helper()
	return l.send(from, mail.Draft{To: mail.Recipients{"ann"}, Body: body, Later: mail.Later{In: int(in.Seconds())}})
}

// texts returns the mailbox of an agent, or the user, in order.
func (l *lab) texts(n mail.Name) (out []string) {
	l.Helper()
	page, err := l.room.As(n).Inbox(l.Context(), mail.InboxQuery{All: true, Limit: 1000})
	l.must(err)
	for _, it := range page.Messages {
		out = append(out, it.Body)
	}
	return out
}

func (l *lab) wantTexts(n mail.Name, want ...string) {
	l.Helper()
	synctest.Wait()
	if got := l.texts(n); !slices.Equal(got, want) {
		l.Errorf("%s has %q, want %q", n, got, want)
	}
}

// again closes the room, as a dying machine does, and opens it from its journal.
func (l *lab) again() {
	l.Helper()
	l.must(l.room.Close())
	l.room = reopen(l.T, l.store, "lab", l.room.opts)
}

// Messages are sent when they are due, in the order of time and then of creation, once, whatever happens in between.
func TestP16_SentOnceInOrder(t *testing.T) {
	fakeTime(t, func(t *testing.T) {
		store := newStore(t)
		l := &lab{t, reopen(t, store, "lab", Options{}), store}
		defer func() { l.must(l.room.Close()) }()
		l.register(mail.Presence{Name: "ann"})
		began := time.Now()
		l.later(mail.User, 2*time.Hour, "third")
		first := l.later(mail.User, time.Hour, "first")
		l.later(mail.User, time.Hour, "second")
		stop := l.keep()
		time.Sleep(time.Hour - time.Second)
		l.wantTexts("ann")
		time.Sleep(time.Second)
		l.wantTexts("ann", "first", "second")
		if it, err := l.room.As("ann").Message(l.Context(), first.ID); err != nil || it.Sent.Sub(mail.TimeOf(began)) !=
			time.Hour || it.From != mail.ToUser {
			t.Errorf("sent is %+v, %v", it.Message, err)
		}
		stop()
		l.again()
		_, err := l.room.As(mail.User).Archive(l.Context())
		l.must(err)
		l.again()
		stop = l.keep()
		time.Sleep(2 * time.Hour)
		l.wantTexts("ann", "first", "second", "third")
		stop()
		l.again()
		stop = l.keep()
		time.Sleep(24 * time.Hour)
		l.wantTexts("ann", "first", "second", "third")
		stop()
	})
}

// A machine that dies between sending and recording it does not send again, nor do two that take themselves for the
// keeper, nor one whose clock steps back.
func TestP16_NotTwice(t *testing.T) {
	fakeTime(t, func(t *testing.T) {
		f := newFleet(t, 2, Options{})
		user := f.posts[0].As(mail.User)
		_, err := user.Register(t.Context(), mail.Presence{Name: "ann"})
		f.must("register", err)
		for _, l := range []mail.Later{{In: 60}, {Every: "* * * * *", Zone: "UTC"}} {
			_, err = user.Send(t.Context(), mail.Draft{To: mail.Recipients{"ann"}, Body: "x", Later: l})
			f.must("send", err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		dues := func(p *post) (o *check.Occasion) {
			v := p.view(check.Caller{Who: mail.System})
			v.read(func(s *fold.State, now mail.Time) { o, _ = v.on(s, now).DueNow() })
			return o
		}
		for range 2 {
			one := dues(f.posts[0])
			if _, err := f.posts[0].view(one.Sender()).Send(t.Context(), one.Draft); err != nil { // and it dies
				t.Fatal(err)
			}
			time.Sleep(time.Second) // whoever is next looks later
			again, other := dues(f.posts[0]), dues(f.posts[1])
			var both sync.WaitGroup
			both.Go(func() { f.posts[0].sendOne(t.Context(), again) })
			both.Go(func() { f.posts[1].sendOne(t.Context(), other) })
			both.Wait()
			synctest.Wait()
		}
		page, err := f.posts[1].As("ann").Inbox(t.Context(), mail.InboxQuery{})
		f.must("inbox", err)
		if len(page.Messages) != 2 {
			t.Errorf("ann has %d messages, want 2", len(page.Messages))
		}
		if o := dues(f.posts[0]); o != nil {
			t.Errorf("due is %+v", o)
		}
	})
}

// A message that was due several times while the post office was off is sent once, says how often, and then continues
// until its end.
func TestP16_Missed(t *testing.T) {
	fakeTime(t, func(t *testing.T) {
		store := newStore(t)
		l := &lab{t, reopen(t, store, "lab", Options{}), store}
		defer func() { l.must(l.room.Close()) }()
		l.register(mail.Presence{Name: "ann"})
		until := mail.TimeOf(time.Now().AddDate(0, 0, 6))
		l.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Body: "stand up",
			Later: mail.Later{Every: "30 9 * * *", Zone: "Europe/Berlin", Until: until}})
		stop := l.keep()
		time.Sleep(9 * time.Hour) // the bubble begins at midnight in UTC, on 1 January 2000
		l.wantTexts("ann", "stand up")
		stop()
		time.Sleep(3 * 24 * time.Hour)
		l.again()
		stop = l.keep()
		many := "(This was due 3 times since 2000-01-02 09:30 CET; it is sent once.)\n\nstand up"
		l.wantTexts("ann", "stand up", many)
		time.Sleep(24 * time.Hour)
		l.wantTexts("ann", "stand up", many, "stand up")
		time.Sleep(36 * time.Hour)
		l.wantTexts("ann", "stand up", many, "stand up", "stand up")
		list, err := l.room.As(mail.User).Scheduled(l.Context())
		l.must(err)
		if len(list.Scheduled) != 0 {
			t.Errorf("still to be sent is %+v", list)
		}
		stop()
	})
}

// Nothing is sent in the name of a sender who has lost the right, and its maker is told of a refusal.
func TestP16_EndsWithTheRight(t *testing.T) {
	inLab(t, Options{}, func(l *lab) {
		defer l.keep()()
		for _, n := range []mail.Name{"ann", "bob", "cleo"} {
			l.register(mail.Presence{Name: n})
		}
		user := l.room.As(mail.User)
		token, err := user.Token(l.Context(), "cleo")
		l.must(err)
		l.later("bob", time.Hour, "of one who was retired")
		l.later("cleo", time.Hour, "of a token that is void")
		l.must(user.Retire(l.Context(), "bob"))
		again, err := user.Token(l.Context(), "cleo")
		l.must(err)
		if token == again {
			t.Fatal("the token is the same")
		}
		l.later("cleo", 2*time.Hour, "of a token that is good")
		time.Sleep(3 * time.Hour)
		l.wantTexts("ann", "of a token that is good")
		told := strings.Join(l.texts(mail.User), "\n")
		for _, want := range []string{"bob is no longer an agent of the room", "the token with which cleo"} {
			if !strings.Contains(told, want) {
				t.Errorf("the user is told %q, want %q in it", told, want)
			}
		}
		_, err = l.room.AsUser(mail.ByScript).Send(l.Context(), mail.Draft{To: mail.Recipients{"ann"}, Body: "x",
			Later: mail.Later{In: 60}})
		if mail.CodeOf(err) != mail.Denied {
			t.Errorf("a script: %v", err)
		}

		l.later("cleo", time.Hour, "to who is retired")
		l.must(user.Retire(l.Context(), "ann"))
		time.Sleep(2 * time.Hour)
		if told := strings.Join(l.texts("cleo"), "\n"); !strings.Contains(told, "cleo scheduled a message to ann") {
			t.Errorf("cleo is told %q", told)
		}
	})
}

// An agent schedules a reminder of a letter, and is woken as by any mail.
func TestP16_Reminder(t *testing.T) {
	inLab(t, Options{}, func(l *lab) {
		defer l.keep()()
		l.register(mail.Presence{Name: "ann"})
		letter := l.send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Type: "question", Body: "well?"})
		l.send("ann", mail.Draft{To: mail.Recipients{"ann"}, Body: "the user waits", ReplyTo: letter.ID,
			Later: mail.Later{In: 600}})
		time.Sleep(10 * time.Minute)
		l.wantTexts("ann", "well?", "the user waits")
		it, err := l.room.As("ann").Message(l.Context(), letter.ID)
		l.must(err)
		if !it.Open {
			t.Error("the reminder has settled the question")
		}
	})
}

// Scheduled messages are erased from the journal like others, and finished ones leave nothing after a compaction.
func TestP16_Erased(t *testing.T) {
	inLab(t, Options{}, func(l *lab) {
		l.register(mail.Presence{Name: "ann"})
		user := l.room.As(mail.User)
		erased := l.later(mail.User, time.Hour, "a first secret")
		l.must(user.Erase(l.Context(), erased.ID))
		back := l.later(mail.User, time.Hour, "a second secret")
		l.must(user.Unschedule(l.Context(), back.ID))
		l.later(mail.User, time.Hour, "what stays")
		_, err := user.Archive(l.Context())
		l.must(err)
		all, at := "", mail.Seq(0)
		c := l.room.journal.Follow(0)
		defer c.Close()
		for at < l.room.journal.Last() {
			events, err := c.Next(l.Context())
			l.must(err)
			for _, e := range events {
				if at = e.Seq; e.Schedule != nil && e.Schedule.Draft != nil {
					all += e.Schedule.Draft.Body
				}
			}
		}
		if strings.Contains(all, "secret") || !strings.Contains(all, "what stays") {
			t.Errorf("the journal has %s", all)
		}
		defer l.keep()()
		time.Sleep(2 * time.Hour)
		l.wantTexts("ann", "what stays")
	})
}

// A machine that is no longer admitted has nothing sent.
func TestP16_EndsWithThePass(t *testing.T) {
	var out atomic.Bool
	letIn := func(m mail.Machine, pass string) bool { return !out.Load() && m == "laptop" && pass == "p1" }
	inLab(t, Options{LetIn: letIn}, func(l *lab) {
		defer l.keep()()
		l.register(mail.Presence{Name: "ann"})
		there, err := l.room.From("ann", check.Whence{Pass: &mail.Pass{Machine: "laptop", ID: "p1"}})
		l.must(err)
		for _, hours := range []int{1, 2} {
			_, err := there.Send(l.Context(), mail.Draft{To: mail.Recipients{"ann"}, Body: "from the laptop",
				Later: mail.Later{In: hours * 3600}})
			l.must(err)
		}
		time.Sleep(90 * time.Minute)
		out.Store(true)
		time.Sleep(time.Hour)
		l.wantTexts("ann", "from the laptop")
		if told := strings.Join(l.texts(mail.User), ""); !strings.Contains(told, "laptop, through which") {
			t.Errorf("the user is told %q", told)
		}
	})
}

// A message that an agent left to be sent is sent though it has gone, and is no sign of its life.
func TestP16_NoSignOfLife(t *testing.T) {
	inLab(t, Options{}, func(l *lab) {
		defer l.keep()()
		l.register(mail.Presence{Name: "ann"})
		bob := l.room.As("bob")
		_, err := bob.Register(l.Context(), mail.Presence{Session: "s"})
		l.must(err)
		l.later("bob", time.Hour, "left behind")
		_, err = bob.Register(l.Context(), mail.Presence{Session: "s", End: true})
		l.must(err)
		time.Sleep(2 * time.Hour)
		l.wantTexts("ann", "left behind")
		list, err := mail.Roster(l.Context(), l.room.As(mail.User))
		l.must(err)
		for _, a := range list {
			if a.Name == "bob" && a.State != mail.Gone {
				t.Errorf("bob is %s, want gone", a.State)
			}
		}
	})
}
