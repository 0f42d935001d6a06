package mailroom

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
)

// entry is one of the configuration, due at the beginning of each hour.
func entry(name, body string, to ...string) mail.Standing {
	return mail.Standing{Name: name, From: mail.User, Draft: mail.Draft{To: to, Body: body,
		Later: mail.Later{Every: "0 * * * *", Zone: "UTC"}}}
}

// stand makes the room obey the configuration; want is what waits then, by the entries' names and texts.
func (l *lab) stand(want string, standing ...mail.Standing) {
	l.Helper()
	refused, err := l.room.Stand(l.Context(), standing)
	l.must(err)
	for name, err := range refused {
		l.Errorf("%s is refused: %v", name, err)
	}
	l.wantWaiting(want)
}

func (l *lab) wantWaiting(want string) {
	l.Helper()
	list, err := l.room.As(mail.User).Scheduled(l.Context())
	l.must(err)
	var got []string
	for _, c := range list.Scheduled {
		got = append(got, c.Entry+"="+c.Draft.Body)
	}
	if got := strings.Join(got, " "); got != want {
		l.Errorf("%q waits, want %q", got, want)
	}
}

// The room sends the messages of the configuration once each time, however often it is told; changed entries replace
// the earlier ones, and removed ones end. An entry that the user takes back is not made again until it changes, even
// after the journal was compacted; messages scheduled by command are left alone.
func TestP16_Configured(t *testing.T) {
	fakeTime(t, func(t *testing.T) {
		store := newStore(t)
		l := &lab{t, reopen(t, store, "lab", Options{}), store}
		defer func() { l.must(l.room.Close()) }()
		l.register(mail.Presence{Name: "ann"})
		one, two := entry("one", "1", "ann"), entry("two", "2", "ann")
		l.later(mail.User, 30*24*time.Hour, "mine")
		l.stand("one=1 two=2 =mine", one, two)
		l.stand("one=1 two=2 =mine", one, two)
		stop := l.keep()
		time.Sleep(time.Hour)
		l.wantTexts("ann", "1", "2")
		stop()

		list, err := l.room.As(mail.User).Scheduled(l.Context())
		l.must(err)
		l.must(l.room.As(mail.User).Unschedule(l.Context(), list.Scheduled[0].ID))
		for range 2 {
			l.stand("two=2 =mine", one, two)
			l.again()
			l.stand("two=2 =mine", one, two)
			_, err = l.room.As(mail.User).Archive(l.Context())
			l.must(err)
			l.again()
		}
		one.Draft.Body = "one"
		l.stand("two=2 one=one =mine", one, two)
		two.Draft.Every = "30 * * * *"
		l.stand("two=2 one=one =mine", one, two)
		l.again()
		l.stand("one=one =mine", one)
		l.stand("two=2 one=one =mine", one, two)
		l.stand("=mine")
	})
}

// An entry that cannot be sent is refused, with what to do, and is obeyed once it can be. The rest are obeyed.
func TestP16_ConfiguredBadly(t *testing.T) {
	inLab(t, Options{}, func(l *lab) {
		l.register(mail.Presence{Name: "ann"})
		byBob := entry("by bob", "3", "ann")
		byBob.From = "bob"
		over := entry("over", "4", "ann")
		over.Draft.Until = 1
		all := []mail.Standing{entry("to bob", "1", "bob"), entry("to ann", "2", "ann"), byBob, over}
		refused, err := l.room.Stand(l.Context(), all)
		l.must(err)
		for name, want := range map[string]string{"to bob": "bob", "by bob": "no agent of the room is called so",
			"over": "over before it is sent once"} {
			if err := refused[name]; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
		if len(refused) != 3 {
			t.Errorf("refused is %v", refused)
		}
		l.wantWaiting("to ann=2")
		l.register(mail.Presence{Name: "bob"})
		l.stand("to ann=2 to bob=1 by bob=3", all[:3]...)
		defer l.keep()()
		time.Sleep(time.Hour)
		l.wantTexts("ann", "2", "3")
		page, err := l.room.As("ann").Inbox(l.Context(), mail.InboxQuery{All: true})
		l.must(err)
		if m := page.Messages[0].Message; m.From != mail.ToUser || m.By != mail.ByConfig || m.IsUsers() {
			t.Errorf("it is from %s by %q, the person's own word: %t", m.From, m.By, m.IsUsers())
		}
		if m := page.Messages[1].Message; m.From != "agent:bob" {
			t.Errorf("what bob sends is from %s", m.From)
		}
	})
}

// Two machines with one configuration make one schedule of it. Only the one that made an entry ends it when its own
// configuration no longer has it.
func TestP16_ConfiguredTwice(t *testing.T) {
	fakeTime(t, func(t *testing.T) {
		f := newFleet(t, 2, Options{})
		user := f.posts[0].As(mail.User)
		_, err := user.Register(t.Context(), mail.Presence{Name: "ann"})
		f.must("register", err)
		synctest.Wait() // until the other machine knows her
		one := entry("one", "1", "ann")
		var both sync.WaitGroup
		for _, p := range f.posts {
			both.Go(func() {
				refused, err := p.Stand(t.Context(), []mail.Standing{one})
				if err != nil || len(refused) > 0 {
					t.Error(refused, err)
				}
			})
		}
		both.Wait()
		synctest.Wait()
		waiting := func(want int) {
			t.Helper()
			synctest.Wait()
			for _, p := range f.posts {
				list, err := p.As(mail.User).Scheduled(t.Context())
				f.must("list", err)
				if len(list.Scheduled) != want {
					t.Errorf("%s: %d wait, want %d", p.opts.Machine, len(list.Scheduled), want)
				}
			}
		}
		waiting(1)
		made := f.posts[0].state.Entries["one"].Machine
		mine, others := f.posts[0], f.posts[1]
		if made != mine.opts.Machine {
			mine, others = others, mine
		}
		_, err = others.Stand(t.Context(), nil)
		f.must("stand", err)
		waiting(1)
		_, err = mine.Stand(t.Context(), nil)
		f.must("stand", err)
		waiting(0)
	})
}
