package check

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

// Breaker keeps agents from writing too much. It remembers in memory the messages that it was told were sent: after a
// restart all counters begin at zero.
type Breaker struct {
	limits    policy.Limits
	origins   map[mail.Name]mail.Name // by a name that an agent was given: the name under which it is counted
	senders   map[mail.Name]*policy.Allowance
	exchanges map[exchange]*policy.Exchange
	repeats   map[fold.Repeat]sentAt
	reported  map[string]time.Time // trips that the person was told of, and when
	swept     time.Time
}

// pair is two agents in alphabetical order.
type pair [2]mail.Name

func pairOf(a, b mail.Name) pair {
	if a > b {
		a, b = b, a
	}
	return pair{a, b}
}

// exchange is the mail between two agents: all of it, or only mail that wakes the other.
type exchange struct {
	pair
	wakes bool
}

// limits returns the limits of an exchange.
func (x exchange) limits(l policy.Limits) policy.Limits {
	if x.wakes {
		return l.Waking()
	}
	return l
}

// NewBreaker returns one that remembers nothing.
func NewBreaker(l policy.Limits) *Breaker {
	return &Breaker{
		limits: l.WithDefaults(), origins: make(map[mail.Name]mail.Name),
		senders: make(map[mail.Name]*policy.Allowance), exchanges: make(map[exchange]*policy.Exchange),
		repeats: make(map[fold.Repeat]sentAt), reported: make(map[string]time.Time),
	}
}

// Renamed notes that an agent has another name. It is counted as before: otherwise a new name would be a way around
// each limit. The roster remembers each name too.
func (b *Breaker) Renamed(from, to mail.Name) {
	b.origins[to] = b.origin(from)
}

// origin returns the name under which an agent is counted: the first that it had since the room was opened.
func (b *Breaker) origin(n mail.Name) mail.Name {
	if first, renamed := b.origins[n]; renamed {
		return first
	}
	return n
}

// originOf is origin for an address, which stays as it is if its agent was not renamed.
func (b *Breaker) originOf(a mail.Address) mail.Address {
	if first, renamed := b.origins[a.Signer()]; renamed {
		return mail.AgentAddress(first)
	}
	return a
}

// Trip is the error of a limit that was reached.
type Trip struct {
	What  string // identifies it, so that the person is told once
	Limit string // as the configuration names it
	Err   error  // for the sender; nil: the answer is the message that it repeats
	Note  string // for the person
}

// Error returns the text for the person.
func (t *Trip) Error() string { return t.Note }

// Admit decides whether m, which is for these peers among others, may be sent; r is the result of RepeatOf for m.
// same is the message that m repeats, if it does, which is a trip too. The person's messages are always admitted and
// reset exchanges, as do messages about tasks.
func (b *Breaker) Admit(m *mail.Message, peers []fold.Peer, r fold.Repeat, again bool, depth int, now time.Time,
) (same mail.ID, tripped *Trip) {
	b.sweep(now)
	from := m.From.Signer()
	switch from {
	case mail.System:
		return "", nil
	case mail.User:
		b.reset(m, peers)
		return "", nil
	}
	if id := b.repeated(r, now); id != "" && !again {
		return id, b.TripOfRepeat(m)
	}
	if b.limits.Depth >= 0 && depth > b.limits.Depth {
		return "", &Trip{
			What: "depth " + string(m.ThreadRoot()), Limit: "depth",
			Err: mail.Errorf(mail.Limited, "this conversation has %d replies without a word from the user: nothing "+
				"was sent. It can continue when the user writes into it", depth),
			Note: fmt.Sprintf("The conversation %s has %d replies in a row without you. The last one, by %s, was "+
				"refused. To let it continue, write into it.", m.ThreadRoot(), depth, from),
		}
	}
	if t := b.exchange(m, peers, from, now); t != nil {
		return "", t
	}
	a := b.senders[b.origin(from)]
	if a == nil {
		a = new(policy.Allowance)
		b.senders[b.origin(from)] = a
	}
	if ok, wait := a.Take(b.limits, now); !ok {
		return "", &Trip{
			What: "rate " + string(b.origin(from)), Limit: "per_minute",
			Err: mail.Errorf(mail.Limited, "%s has sent more than %d messages in a minute: nothing was sent. Wait %v",
				from, b.limits.PerMinute, wait.Round(time.Second)+time.Second),
			Note: fmt.Sprintf("%s sent more than %d messages a minute; some were refused.", from, b.limits.PerMinute),
		}
	}
	return "", nil
}

// exchange counts m in the exchanges between its sender and its recipients. A message about a task resets those
// exchanges, and no others.
func (b *Breaker) exchange(m *mail.Message, peers []fold.Peer, from mail.Name, now time.Time) *Trip {
	for _, to := range peers {
		p := pairOf(b.origin(from), b.origin(to.Name))
		if p[0] == p[1] {
			continue
		}
		if m.Type.Rule().AboutTask {
			delete(b.exchanges, exchange{p, false})
			delete(b.exchanges, exchange{p, true})
			continue
		}
		kinds := []exchange{{p, false}}
		if to.Woken {
			kinds = append(kinds, exchange{p, true})
		}
		for _, k := range kinds {
			x := b.exchanges[k]
			if x == nil {
				x = new(policy.Exchange)
				b.exchanges[k] = x
			}
			l := k.limits(b.limits)
			if x.Turn(l, string(from), now) {
				continue
			}
			return &Trip{
				What: fmt.Sprint("exchange ", p), Limit: "exchanges",
				Err: mail.Errorf(mail.Limited, "you and %s have answered each other %d times in %v without a word "+
					"from the user or a task message: nothing was sent. Stop thanking each other; you can continue "+
					"when the user writes to either of you",
					to.Name, l.Exchanges, l.ExchangeWindow),
				Note: fmt.Sprintf("%s and %s answered each other %d times in %v, and %s's last message was "+
					"refused. To let them continue, write "+
					"to either.", to.Name, from, l.Exchanges, l.ExchangeWindow, from),
			}
		}
	}
	return nil
}

// reset resets the exchanges of the person's recipients, and all exchanges if some address is not an agent or a role.
func (b *Breaker) reset(m *mail.Message, peers []fold.Peer) {
	all := slices.ContainsFunc(m.To, func(a mail.Address) bool {
		return a.Kind() != mail.ToAgent && a.Kind() != mail.ToRole && a.Kind() != mail.ToPerson
	})
	to := make(map[mail.Name]bool, len(peers))
	for _, p := range peers {
		to[b.origin(p.Name)] = true
	}
	maps.DeleteFunc(b.exchanges, func(x exchange, _ *policy.Exchange) bool {
		return all || to[x.pair[0]] || to[x.pair[1]]
	})
}

// News reports whether the person has not been told of a trip within the window.
func (b *Breaker) News(t *Trip, now time.Time) bool {
	if at, ok := b.reported[t.What]; ok &&
		now.Sub(at) < max(b.limits.ExchangeWindow, policy.DefaultExchangeWindow) {
		return false
	}
	b.reported[t.What] = now
	return true
}

// Memory is how much a Breaker remembers.
type Memory struct{ Senders, Exchanges, Texts, Trips int }

// Memory returns how many senders, exchanges, texts and trips are remembered.
func (b *Breaker) Memory() Memory {
	return Memory{len(b.senders), len(b.exchanges), len(b.repeats), len(b.reported)}
}

// sweepEvery limits the memory without a sweep at each message.
const sweepEvery = time.Minute

func (b *Breaker) sweep(now time.Time) {
	if now.Sub(b.swept) < sweepEvery {
		return
	}
	b.swept = now
	for r, s := range b.repeats {
		if s.ago(now) > b.limits.RepeatWindow {
			delete(b.repeats, r)
		}
	}
	for from, a := range b.senders {
		if a.Full(b.limits, now) {
			delete(b.senders, from)
		}
	}
	for p, x := range b.exchanges {
		if x.Old(p.limits(b.limits), now) {
			delete(b.exchanges, p)
		}
	}
	for what, at := range b.reported {
		if now.Sub(at) > time.Hour {
			delete(b.reported, what)
		}
	}
}

// Heard counts a message that was sent through the post office of another machine, for the limits on mail between
// agents. It refuses nothing.
func (b *Breaker) Heard(m *mail.Message, peers []fold.Peer, now time.Time) {
	_, _ = b.Admit(m, peers, fold.Repeat{}, true, 0, now) // which counts it
}
