package mailroom

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// TestP12_ClaimNotices makes agents take, give up, write and wait at random for an hour, as fast as they can: each
// gets a limited number of notices, and an agent that waits at the end is told that its target is free.
func TestP12_ClaimNotices(t *testing.T) {
	for _, rule := range []policy.ClaimRule{policy.ClaimsRefuse, policy.ClaimsWarn} {
		for _, reads := range []bool{true, false} {
			t.Run(fmt.Sprint(rule, " reads ", reads), func(t *testing.T) {
				inLab(t, Options{Claims: rule}, func(l *lab) { claimStorm(l, reads) })
			})
		}
	}
}

func claimStorm(l *lab, reads bool) {
	agents, targets := []mail.Name{"ann", "bob", "cid"}, []string{"a.go", "b.go"}
	defer l.keep()()
	for _, a := range agents {
		l.register(mail.Presence{Name: a, State: mail.Working})
	}
	random := rand.New(rand.NewPCG(5, 6))
	target := func() mail.Target {
		return mail.Target{Root: "1-2", At: "/src", Path: targets[random.IntN(len(targets))]}
	}
	pause := func() { time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond) }
	for began := time.Now(); time.Since(began) < time.Hour; pause() {
		a := agents[random.IntN(len(agents))]
		r := mail.ClaimRequest{Take: []mail.Target{target()}}
		switch random.IntN(6) {
		case 0, 1:
			r = mail.ClaimRequest{All: true}
			if random.IntN(2) == 0 {
				r = mail.ClaimRequest{Free: r.Take}
			}
		case 2:
			r.Wait = true
		case 3:
			r.Write = true
		case 4:
			if reads {
				l.readAll(a)
			}
		}
		if _, err := l.room.As(a).Claim(l.Context(), r); err != nil {
			l.Fatal(err)
		}
	}
	var kinds [3]int // of all agents
	for _, a := range append(agents, mail.User) {
		counts := map[string]int{}
		page, err := l.room.As(a).Inbox(l.Context(), mail.InboxQuery{All: true, Limit: 1000})
		l.must(err)
		for _, it := range page.Messages {
			counts[it.Subject]++
		}
		free := 0
		for subject, n := range counts {
			most := 61
			switch {
			case strings.HasPrefix(subject, "It is free"):
				free += n
				continue
			case strings.Contains(subject, " waits for "):
				most = 7
				kinds[1] += n
			case strings.Contains(subject, "Agents wait for"):
				most = 4 * 7 // three pairs, and all of them
			default:
				kinds[2] += n
			}
			if !reads {
				most = 1
			}
			if a == mail.User && !reads {
				most = 4
			}
			if n > most {
				l.Errorf("%s is told %d times in an hour: %s", a, n, subject)
			}
		}
		kinds[0] += free
		if most := map[bool]int{true: 61, false: 1}[reads]; free > most {
			l.Errorf("%s is told %d times in an hour that something is free", a, free)
		}
	}
	l.Logf("told: %d free, %d waits, %d writes", kinds[0], kinds[1], kinds[2])

	// An agent that still waits is told, once it has seen its earlier notices.
	for _, a := range agents {
		_, err := l.room.As(a).Claim(l.Context(), mail.ClaimRequest{All: true})
		l.must(err)
		l.readAll(a)
	}
	_, err := l.room.As("ann").Claim(l.Context(), mail.ClaimRequest{Take: []mail.Target{{Name: "build"}}})
	l.must(err)
	_, err = l.room.As("bob").Claim(l.Context(), mail.ClaimRequest{Take: []mail.Target{{Name: "build"}}, Wait: true})
	l.must(err)
	_, err = l.room.As("ann").Claim(l.Context(), mail.ClaimRequest{All: true})
	l.must(err)
	time.Sleep(time.Minute + time.Second)
	synctest.Wait()
	page, err := l.room.As("bob").Inbox(l.Context(), mail.InboxQuery{})
	l.must(err)
	if n := len(page.Messages); n != 1 || page.Messages[0].Subject != "It is free: build" {
		l.Errorf("bob, who waits for build, is told %+v", page.Messages)
	}
}

// readAll makes an agent read all its notices.
func (l *lab) readAll(n mail.Name) {
	l.Helper()
	for {
		page, err := l.room.As(n).Inbox(l.Context(), mail.InboxQuery{Limit: 200})
		l.must(err)
		if len(page.Messages) == 0 {
			return
		}
		var ids []mail.ID
		for _, it := range page.Messages {
			ids = append(ids, it.ID)
		}
		l.mark(n, mail.MarkRead, ids...)
	}
}
