package wake

import (
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// Entry says how an agent, or the holder of a role, is woken.
type Entry struct {
	For    mail.Address // "agent:NAME", "role:NAME" or "orchestrator"
	Wakers []Waker      // in the order in which they are tried
	Budget int          // unanswered rings per hour; 0: the default
}

// Doors are the doors of one room: the configured ones, which are fixed except that doors turn out to be off, and
// those of agents' sessions. A nil *Doors has none.
type Doors struct {
	entries map[mail.Address]*entry
	arrange func(mail.Name, []Waker) []Waker // nil: only configured doors count

	mu     sync.Mutex
	ladder policy.Ladder
	counts map[mail.Address]counted // for agents and roles that were rung recently, or cannot be
}

// counted limits when an agent or role may be rung. The Ringer sets it, and senders are told the result.
type counted struct {
	rung      []mail.Time // rings that count against the budget
	notBefore mail.Time
}

type entry struct {
	Entry
	off   []atomic.Bool // of Wakers
	under *entry        // for an arranged entry: the configured one
}

// NewDoors returns doors. An agent's own entry takes precedence over those of its roles.
func NewDoors(entries ...Entry) *Doors {
	d := &Doors{entries: make(map[mail.Address]*entry, len(entries)), counts: make(map[mail.Address]counted)}
	for _, e := range entries {
		if len(e.Wakers) > 0 {
			d.entries[mail.Address(norm.NFC.String(string(e.For)))] = &entry{Entry: e,
				off: make([]atomic.Bool, len(e.Wakers))}
		}
	}
	return d
}

// Arrange takes agents' sessions into account. arrange must not block and must not change configured; given the
// configured doors of an agent that are not off, it returns the agent's doors in order: it adds doors of the session,
// and omits those that lead nowhere without a session. An empty name means any holder of the role. Call Arrange before
// using Doors.
func (d *Doors) Arrange(arrange func(agent mail.Name, configured []Waker) []Waker) {
	d.arrange = arrange
}

// Len returns the number of agents and roles with configured doors.
func (d *Doors) Len() int {
	if d == nil {
		return 0
	}
	return len(d.entries)
}

// For returns the agents and roles with configured doors that may work without a session, as sorted addresses.
func (d *Doors) For() (all []mail.Address) {
	for a, e := range d.entries {
		if slices.ContainsFunc(e.Wakers, func(w Waker) bool { _, keys := w.(AtSessions); return !keys }) {
			all = append(all, a)
		}
	}
	slices.Sort(all)
	return all
}

// find returns the entry of an agent with roles; nil if there is none. An empty name means any holder of the roles.
func (d *Doors) find(agent mail.Name, roles []string) *entry {
	if d == nil {
		return nil
	}
	e := d.configured(agent, roles)
	if d.arrange == nil {
		return e
	}
	on := e.on()
	wakers := d.arrange(agent, on)
	switch {
	case len(wakers) == 0 && len(on) > 0:
		return nil
	case len(wakers) == 0:
		return e
	}
	over := &entry{Entry: Entry{For: mail.AgentAddress(agent), Wakers: wakers}, under: e}
	if e != nil {
		over.Budget = e.Budget
	}
	over.off = make([]atomic.Bool, len(over.Wakers))
	return over
}

func (d *Doors) configured(agent mail.Name, roles []string) *entry {
	if e := d.entries[mail.AgentAddress(agent)]; agent != "" && e != nil {
		return e
	}
	for _, role := range roles {
		if e := d.entries[mail.RoleAddress(role)]; e != nil {
			return e
		}
	}
	return nil
}

// Covers reports whether an agent has doors, even if all of them are off.
func (d *Doors) Covers(agent mail.Name, roles []string) bool { return d.find(agent, roles) != nil }

// Name returns the kind of the first door of an agent that is not off, "" if there is none. It serves
// mailroom.Options.Door.
func (d *Doors) Name(agent mail.Name, roles []string) string {
	if on := d.find(agent, roles).on(); len(on) > 0 {
		return on[0].Door()
	}
	return ""
}

// PutOff returns until when an agent, or the holder of the roles, is not rung for new mail; zero if it is not
// deferred. It serves mailroom.Options.PutOff.
func (d *Doors) PutOff(agent mail.Name, roles []string, urgent bool, now mail.Time) mail.Time {
	e := d.find(agent, roles)
	if e == nil {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.counts[keyOf(agent, roles)]
	if at := max(c.notBefore, e.ladder(d.ladder).Allowed(c.rung, urgent, now)); at > now {
		return at
	}
	return 0
}

// keyOf returns the address under which facts about an agent or role are kept and receipts are written. A role without
// a holder is its own key.
func keyOf(agent mail.Name, roles []string) mail.Address {
	if agent == "" {
		return mail.RoleAddress(roles[0])
	}
	return mail.AgentAddress(agent)
}

// count sets the limits on when an agent or role may be rung.
func (d *Doors) count(k mail.Address, l policy.Ladder, c counted) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ladder = l
	if delete(d.counts, k); len(c.rung) > 0 || c.notBefore != 0 {
		d.counts[k] = c
	}
}

// ladder returns l with the entry's own budget.
func (e *entry) ladder(l policy.Ladder) policy.Ladder {
	if e.Budget != 0 {
		l.Budget = e.Budget
	}
	return l.WithDefaults()
}

// on returns the wakers that are not off.
func (e *entry) on() []Waker {
	if e == nil {
		return nil
	}
	var out []Waker
	for i, w := range e.Wakers {
		if !e.off[i].Load() {
			out = append(out, w)
		}
	}
	return out
}

// turnOff makes sure that a waker is never tried again.
func (e *entry) turnOff(w Waker) {
	for i := range e.Wakers {
		if e.Wakers[i] == w {
			e.off[i].Store(true)
		}
	}
	if e.under != nil {
		e.under.turnOff(w)
	}
}
