package policy

import "time"

// Limits are breakers against agents that send too much. A zero field means the default, a negative one no limit. The
// person is never limited, nor is mail from a bridge or an import.
type Limits struct {
	// Exchanges is how many messages two agents may exchange within ExchangeWindow without a word from the person or a
	// message about a task in between: more is politeness, or a loop. For messages that wake see Waking.
	Exchanges      int           // default 20
	ExchangeWindow time.Duration // default 10 minutes
	// RepeatWindow is how long the same text to the same agent counts as the same message and is not sent again.
	RepeatWindow time.Duration // default 5 minutes
	// PerMinute and Burst bound the messages of one agent.
	PerMinute int // default 1,200
	Burst     int // default 5,000
	// Depth is how long a chain of replies may grow without a word from the person.
	Depth int // default 100
	// Children is how many descendants of one agent may live at the same time, of those that agents register.
	Children int // default 50
}

// Waking returns the limits of exchanges that wake: twice as many, within six times as long. Each may be a paid turn,
// and two agents that wake each other forever answer every ring, so that no budget of rings stops them.
func (l Limits) Waking() Limits {
	l.Exchanges, l.ExchangeWindow = 2*l.Exchanges, 6*l.ExchangeWindow
	return l
}

// The defaults of Limits.
const (
	DefaultExchanges      = 20
	DefaultExchangeWindow = 10 * time.Minute
	DefaultRepeatWindow   = 5 * time.Minute
	DefaultPerMinute      = 1200
	DefaultBurst          = 5000
	DefaultDepth          = 100
	DefaultChildren       = 50
)

// WithDefaults returns l with its zero fields filled.
func (l Limits) WithDefaults() Limits {
	number := func(n *int, def int) {
		if *n == 0 {
			*n = def
		}
	}
	span := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	number(&l.Exchanges, DefaultExchanges)
	span(&l.ExchangeWindow, DefaultExchangeWindow)
	span(&l.RepeatWindow, DefaultRepeatWindow)
	number(&l.PerMinute, DefaultPerMinute)
	number(&l.Burst, DefaultBurst)
	number(&l.Depth, DefaultDepth)
	number(&l.Children, DefaultChildren)
	return l
}

// Allowance is how much an agent may still send: a token bucket that fills by PerMinute up to Burst.
type Allowance struct {
	tokens float64
	at     time.Time
	used   bool
}

// Take takes one message at now, and reports whether one was available and, if not, how long to wait.
func (a *Allowance) Take(l Limits, now time.Time) (ok bool, wait time.Duration) {
	if l.PerMinute < 0 || l.Burst < 0 {
		return true, 0
	}
	if !a.used {
		a.tokens, a.used = float64(l.Burst), true
	} else if since := now.Sub(a.at); since > 0 {
		a.tokens = min(float64(l.Burst), a.tokens+since.Minutes()*float64(l.PerMinute))
	}
	a.at = now
	if a.tokens >= 1 {
		a.tokens--
		return true, 0
	}
	return false, time.Duration((1 - a.tokens) / float64(l.PerMinute) * float64(time.Minute))
}

// Full reports whether an Allowance is as good as a new one.
func (a *Allowance) Full(l Limits, now time.Time) bool {
	return l.PerMinute < 0 || l.Burst < 0 || a.tokens+now.Sub(a.at).Minutes()*float64(l.PerMinute) >= float64(l.Burst)
}

// Exchange counts how often two agents have answered each other.
type Exchange struct {
	turns []time.Time // when the speaker changed, oldest first
	last  string      // the last speaker
}

// Turn notes that one of the two speaks, and reports whether they may: they must not have answered each other too
// often. Several messages of one in a row are one turn. A refused one is not noted.
func (x *Exchange) Turn(l Limits, from string, now time.Time) bool {
	if l.Exchanges < 0 || x.last == from {
		return true
	}
	for len(x.turns) > 0 && now.Sub(x.turns[0]) > l.ExchangeWindow {
		x.turns = x.turns[1:]
	}
	if len(x.turns) >= l.Exchanges {
		return false
	}
	x.turns, x.last = append(x.turns, now), from
	return true
}

// Old reports whether nothing of the exchange counts any more.
func (x *Exchange) Old(l Limits, now time.Time) bool {
	return len(x.turns) == 0 || now.Sub(x.turns[len(x.turns)-1]) > l.ExchangeWindow
}
