package gate

import (
	"maps"
	"sync"

	"pennypost/internal/base/process"
)

// persons remembers the standing of processes that were known to be the person's. Such a process is the person's while
// it runs, even on a new connection after its terminal was closed: the last command given there must still run.
type persons struct {
	mu sync.Mutex
	at map[running]*standing
}

// running is a process and its program: a process that runs another program is no longer known.
type running struct{ key, exe, name string }

// manyPersons is the number of entries from which ended processes are forgotten.
const manyPersons = 64

// standing returns the standing of a peer, or the one it had when it was known to be the person's.
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
