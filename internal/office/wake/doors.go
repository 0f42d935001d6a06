package wake

import (
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// Entry says how an agent, or whoever holds a role, is woken.
type Entry struct {
	For    mail.Address // "agent:NAME", "role:NAME" or "orchestrator"
	Wakers []Waker      // in the order in which they are tried
	Budget int          // rings in vain an hour; 0: the default
}

// Doors are the doors of one room: those that were configured, which are fixed but for what turned out to be off, and
// those of an agent's session. A nil *Doors has none.
type Doors struct {
	entries map[mail.Address]*entry
	arrange func(mail.Name, []Waker) []Waker // nil: what is configured is all

	mu     sync.Mutex
	ladder policy.Ladder
	counts map[mail.Address]counted // of those who were rung lately, or cannot be
}

// counted is what decides when somebody may be rung. The Ringer says it, and senders are told what follows from it.
type counted struct {
	rung      []mail.Time // what counts against the budget
	notBefore mail.Time
}

type entry struct {
	Entry
	off   []atomic.Bool // of Wakers
	under *entry        // of arranged ones: what was configured
}

// NewDoors returns doors. An agent's own entry counts before those of its roles.
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

// Arrange makes what is known of an agent's session count. arrange must not block and must not change configured; it
// returns the doors of an agent, in order, given those that are configured and not off: it adds doors of the session,
// and leaves out those that lead nowhere without a session. An empty name stands for whoever has the role. Arrange is
// called before Doors are used.
func (d *Doors) Arrange(arrange func(agent mail.Name, configured []Waker) []Waker) {
	d.arrange = arrange
}

// Len returns for how many agents and roles there are doors.
func (d *Doors) Len() int {
	if d == nil {
		return 0
	}
	return len(d.entries)
}

// For returns for whom there are configured doors that may lead somewhere without a session, as addresses in order.
func (d *Doors) For() (all []mail.Address) {
	for a, e := range d.entries {
		if slices.ContainsFunc(e.Wakers, func(w Waker) bool { _, keys := w.(AtSessions); return !keys }) {
			all = append(all, a)
		}
	}
	slices.Sort(all)
	return all
}

// find returns the entry of an agent with roles; nil if there is none. An empty name stands for whoever has the roles.
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

// Covers reports whether there are doors for an agent, also if all of them are off.
func (d *Doors) Covers(agent mail.Name, roles []string) bool { return d.find(agent, roles) != nil }

// Name returns the kind of the first door of an agent that is not off, "" if there is none. It serves
// mailroom.Options.Door.
func (d *Doors) Name(agent mail.Name, roles []string) string {
	if on := d.find(agent, roles).on(); len(on) > 0 {
		return on[0].Door()
	}
	return ""
}

// PutOff returns until when an agent, or whoever has the roles, is not rung for mail that comes now; zero if it is not
// put off. It serves mailroom.Options.PutOff.
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

// keyOf returns under which address what is known of somebody is kept, in which receipts are written too. Who is not
// there yet has the one role.
func keyOf(agent mail.Name, roles []string) mail.Address {
	if agent == "" {
		return mail.RoleAddress(roles[0])
	}
	return mail.AgentAddress(agent)
}

// count notes what decides when somebody may be rung.
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

// turnOff has a waker never be tried again.
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
