package policy

import (
	"slices"
	"time"

	"pennypost/internal/mail"
)

// TTL holds how long mail waits for its reader, by kind of address. A zero field means the default, a negative one
// forever.
type TTL struct {
	Agent time.Duration // default 7 days
	Tag   time.Duration // default 24 hours
	All   time.Duration // default 4 hours
}

// The default lifetimes. Role mail and mail to the user never expire unless the sender says so.
const (
	DefaultAgentTTL = 7 * 24 * time.Hour
	DefaultTagTTL   = 24 * time.Hour
	DefaultAllTTL   = 4 * time.Hour
)

// Life returns how long mail waits at an address, given the sender's TTL in seconds, 0 for the default; ok is false if
// it never expires.
func (t TTL) Life(seconds int64, a mail.Address) (life time.Duration, ok bool) {
	if seconds > 0 {
		return time.Duration(seconds) * time.Second, true
	}
	switch a.Kind() {
	case mail.ToAgent:
		return orDefault(t.Agent, DefaultAgentTTL)
	case mail.ToTag:
		return orDefault(t.Tag, DefaultTagTTL)
	case mail.ToEveryone:
		return orDefault(t.All, DefaultAllTTL)
	}
	return 0, false
}

func orDefault(d, def time.Duration) (time.Duration, bool) {
	switch {
	case d < 0:
		return 0, false
	case d == 0:
		return def, true
	}
	return d, true
}

// Expiry returns when mail sent at a time expires at an address, 0 if never; seconds is as in Life. For mail addressed
// to an agent by name, the time in which it was frozen does not count; freezes are its frozen spans in order, nil for
// other addresses. Once past, an expiry stays past: a later freeze does not bring the message back.
func (t TTL) Expiry(sent mail.Time, seconds int64, a mail.Address, freezes []mail.Freeze) mail.Time {
	life, ok := t.Life(seconds, a)
	if !ok {
		return 0
	}
	at := sent.Add(life)
	for _, f := range freezes {
		from := max(f.From, sent)
		switch {
		case from >= at:
			return at
		case f.To == 0:
			return 0
		case f.To > from:
			at += f.To - from
		}
	}
	return at
}

// Past reports whether an expiry from Expiry has been reached.
func Past(expiry, now mail.Time) bool { return expiry != 0 && now >= expiry }

// MaxFreezes is how many frozen spans of an agent are recorded. Otherwise an agent that is frozen and thawed all the
// time would grow without limit, and every checkpoint with it.
const MaxFreezes = 64

// Join merges two neighbours of more than MaxFreezes spans, those with the shortest gap between them. The gap then
// counts as frozen, so mail lives longer by that time; none is lost.
func Join(freezes []mail.Freeze) []mail.Freeze {
	if len(freezes) <= MaxFreezes {
		return freezes
	}
	least := 1
	for i := 2; i < len(freezes); i++ {
		if freezes[i].From-freezes[i-1].To < freezes[least].From-freezes[least-1].To {
			least = i
		}
	}
	freezes[least-1].To = freezes[least].To
	return slices.Delete(freezes, least, least+1)
}
