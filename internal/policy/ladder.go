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
	FirstRetry time.Duration // after a failed ring; doubles each time. Default 1 s
	LastRetry  time.Duration // the maximum of both waits. Default 5 min
	Answer     time.Duration // time for a rung agent to look; doubles each time. Default 2 min
	Failures   int           // consecutive failures before the user is told. Default 8, which is two minutes
	Rings      int           // unanswered rings before the user is told. Default 5: each may be a paid turn
	Budget     int           // unanswered rings in an hour. Default 12
	Urgent     int           // unanswered rings in an hour beyond Budget, for urgent mail. Default Budget
}

// The default budget, and the span over which it is counted.
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

// Retry returns how long to wait after the n-th consecutive failure.
func (l Ladder) Retry(n int) time.Duration { return doubled(l.FirstRetry, n, l.LastRetry) }

// Patience returns how long to wait for an answer to the n-th consecutive ring.
func (l Ladder) Patience(n int) time.Duration { return doubled(l.Answer, n, l.LastRetry) }

// doubled returns d, doubled n-1 times, and at most limit.
func doubled(d time.Duration, n int, limit time.Duration) time.Duration {
	for ; n > 1 && d < limit; n-- {
		d *= 2
	}
	return min(d, limit)
}

// Allowed returns when the budget allows the next ring, now or later, after unanswered rings at the given times, in
// order.
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
	// OpenedFor is how long a newly opened session is left to its person, who may begin the first turn.
	OpenedFor = 18 * time.Second
	// TypedFor is how long the person must then have typed nothing, and TypedMost how long typing may delay a ring: a
	// terminal may type to its program by itself.
	TypedFor  = 15 * time.Second
	TypedMost = 2 * time.Minute
	// BrokenFor is how long an agent whose turn was interrupted is left alone, so that it does not resume work that
	// its person has just stopped. Urgent mail does not wait.
	BrokenFor = time.Minute
)

// AfterBreak returns until when an idle agent is not rung because its last turn was interrupted at a certain time;
// zero if it may be rung.
func AfterBreak(broken, urgent bool, at, now mail.Time) mail.Time {
	if until := at.Add(BrokenFor); broken && !urgent && until > now {
		return until
	}
	return 0
}

// AfterOpening returns until when an agent is not rung because it was told of mail when its session opened, at told;
// typed is when the person last typed there. It returns zero if the agent may be rung.
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

// MayRing reports whether to ring an agent in a state. A working agent looks when its turn ends. An asking agent is at
// a dialog, into which a ring would type; it looks, or is rung, afterwards. A frozen agent should stay frozen, and its
// mail does not expire meanwhile. An idle or gone agent does not look by itself.
func MayRing(s mail.State) bool { return s == mail.Idle || s == mail.Gone }

// VainKey is the idempotency key of the message that tells the user of mail that could not wake its reader. The end of
// a turn and the ringer of doors may both notice it; with this key the user is told once.
func VainKey(who string, waiting []mail.ID) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", who, waiting))
	return "vain-" + hex.EncodeToString(sum[:])
}
