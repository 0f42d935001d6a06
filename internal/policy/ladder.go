package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"pennypost/internal/mail"
)

// Ladder says how often, and how patiently, an agent is rung. Zero fields mean the defaults.
type Ladder struct {
	FirstRetry time.Duration // behind a ring that failed; doubles each time. Default 1 s
	LastRetry  time.Duration // to which both waits grow. Default 5 min
	Answer     time.Duration // an agent that was rung has so long to look; doubles each time. Default 2 min
	Failures   int           // so many in a row, and the user is told. Default 8, which is two minutes
	Rings      int           // so many without an answer, and the user is told. Default 5: each may be a paid turn
	Budget     int           // rings in vain in an hour. Default 12
	Urgent     int           // rings in vain in an hour beyond the budget for urgent mail. Default as many as Budget
}

// The budget's default, and the span over which it is counted.
const (
	DefaultBudget = 12
	BudgetSpan    = time.Hour
)

// WithDefaults returns l with its zero fields filled.
func (l Ladder) WithDefaults() Ladder {
	for _, d := range []struct {
		into *time.Duration
		def  time.Duration
	}{{&l.FirstRetry, time.Second}, {&l.LastRetry, 5 * time.Minute}, {&l.Answer, 2 * time.Minute}} {
		if *d.into == 0 {
			*d.into = d.def
		}
	}
	for _, n := range []struct {
		into *int
		def  int
	}{{&l.Failures, 8}, {&l.Rings, 5}, {&l.Budget, DefaultBudget}} {
		if *n.into == 0 {
			*n.into = n.def
		}
	}
	if l.Urgent == 0 {
		l.Urgent = l.Budget
	}
	return l
}

// Retry returns how long to wait behind the n-th failure in a row.
func (l Ladder) Retry(n int) time.Duration { return doubled(l.FirstRetry, n, l.LastRetry) }

// Patience returns how long to wait for an answer to the n-th ring in a row.
func (l Ladder) Patience(n int) time.Duration { return doubled(l.Answer, n, l.LastRetry) }

// doubled returns d, doubled n-1 times, and at most limit.
func doubled(d time.Duration, n int, limit time.Duration) time.Duration {
	for ; n > 1 && d < limit; n-- {
		d *= 2
	}
	return min(d, limit)
}

// Allowed returns when the budget lets an agent be rung, which was rung in vain at these times, in order: now or
// later.
func (l Ladder) Allowed(rung []mail.Time, urgent bool, now mail.Time) mail.Time {
	limit := l.Budget
	if urgent {
		limit += l.Urgent
	}
	if len(rung) < limit {
		return now
	}
	return max(now, rung[len(rung)-limit].Add(BudgetSpan))
}

// Courtesies towards a person who is at an agent's session.
const (
	// OpenedFor is how long a session that was just opened is left to its person, who may begin the first turn.
	OpenedFor = 18 * time.Second
	// TypedFor is how long nothing must have been typed into it then, and TypedMost how long typing may put a ring
	// off: a terminal may type to its program by itself.
	TypedFor  = 15 * time.Second
	TypedMost = 2 * time.Minute
	// BrokenFor is how long an agent whose turn was broken off is left alone, so that it does not resume what its
	// person has just stopped. Urgent mail does not wait.
	BrokenFor = time.Minute
)

// AfterBreak returns until when an idle agent is not rung because its last turn was broken off, at a time; zero if it
// may be rung.
func AfterBreak(broken, urgent bool, at, now mail.Time) mail.Time {
	if until := at.Add(BrokenFor); broken && !urgent && until > now {
		return until
	}
	return 0
}

// AfterOpening returns until when an agent is not rung to which mail was told when its session was opened, at a time,
// while the person last typed into that at another; zero if it may be rung.
func AfterOpening(told, typed, now mail.Time) mail.Time {
	until := told.Add(OpenedFor)
	if typed > told {
		until = max(until, min(typed.Add(TypedFor), told.Add(TypedMost)))
	}
	if until > now {
		return until
	}
	return 0
}

// MayRing reports whether an agent in a state is to be rung. Who works looks when the turn ends; who is asking stands
// at a dialog, into which a ring would type, and looks, or is rung, when that has ended; who was frozen is to stay so,
// and its mail does not expire meanwhile; who is idle or gone does not look by itself.
func MayRing(s mail.State) bool { return s == mail.Idle || s == mail.Gone }

// VainKey is the idempotency key of the message that tells the user of mail over which somebody sleeps. The end of a
// turn and the ringer of doors may both find the same; by this key the user is told once.
func VainKey(who string, waiting []mail.ID) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", who, waiting))
	return "vain-" + hex.EncodeToString(sum[:])
}
