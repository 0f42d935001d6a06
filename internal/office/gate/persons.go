package gate

import (
	"maps"
	"sync"

	"pennypost/internal/base/process"
)

// persons are where processes stand that were known to be the person's. Such a process is the person's for as long as
// it runs, on a new connection too when its terminal has been closed: what it was told there last is to be done.
type persons struct {
	mu sync.Mutex
	at map[running]*standing
}

// running is a process and what it runs: one that has become another program is not known any more.
type running struct{ key, exe, name string }

// manyPersons is from how many on those are forgotten that have ended.
const manyPersons = 64

// standing returns where a peer stands, or stood when it was known to be the person's.
func (k *persons) standing(p *Peer) *standing {
	s := p.standing()
	if s.untold || s.ours || s.agent != "" || len(p.tree) == 0 {
		return s
	}
	me := &p.tree[0]
	r := running{me.Key, me.Exe(), me.Names()[0]}
	k.mu.Lock()
	defer k.mu.Unlock()
	if s.away != "" {
		if before := k.at[r]; before != nil {
			return before
		}
		return s
	}
	if k.at == nil {
		k.at = make(map[running]*standing)
	}
	if k.at[r] = s; len(k.at) >= manyPersons {
		maps.DeleteFunc(k.at, func(r running, _ *standing) bool { return !process.Alive(r.key) })
	}
	return s
}
