package mailroom

import (
	"context"
	"sync"

	"pennypost/internal/base/life"
	"pennypost/internal/mail"
)

// Lives are the lifetimes of the tokens of a room's agents, and of the agents on the roster: contexts that depend on
// them end with them. They outlive the Room, which is closed while it is not used, and its owner keeps them. The zero
// value is empty and ready.
type Lives struct {
	mu     sync.Mutex
	tokens map[string]*life.Life // by the hash of the token
	agents map[mail.Name]*life.Life
}

// End ends all of them, when the room is removed. gone is the error for its agents.
func (l *Lives) End(gone error) {
	l.mu.Lock()
	tokens, agents := l.tokens, l.agents
	l.tokens, l.agents = nil, nil
	l.mu.Unlock()
	for _, one := range tokens {
		one.End(UnknownToken())
	}
	for _, one := range agents {
		one.End(gone)
	}
}

// minLives is how many lives are kept, at least, before those on which nothing depends are dropped.
const minLives = 64

// stand makes ctx end with the life of a key, which begins if there is none.
func stand[K comparable](ctx context.Context, mu *sync.Mutex, all *map[K]*life.Life, key K) error {
	mu.Lock()
	one := (*all)[key]
	if one == nil {
		if len(*all) >= minLives {
			dropIdle(*all)
		}
		if *all == nil {
			*all = make(map[K]*life.Life)
		}
		one = life.New()
		(*all)[key] = one
	}
	err := life.Stand(ctx, one) // held until here, so that it is not dropped before
	mu.Unlock()
	return err
}

func dropIdle[K comparable](all map[K]*life.Life) {
	for key, one := range all {
		if one.Idle() {
			delete(all, key)
		}
	}
}

// review ends the lives that have ended according to the state. The caller holds the state, so no one has seen that
// yet.
func (r *Room) review() {
	l, s := r.opts.Lives, r.state
	var tokens, agents []*life.Life
	var gone []error
	l.mu.Lock()
	for sum, one := range l.tokens {
		if m := s.Tokens[sum]; m == nil || !m.Listed() {
			delete(l.tokens, sum)
			tokens = append(tokens, one)
		}
	}
	for name, one := range l.agents {
		if s.Agent(name) == nil {
			delete(l.agents, name)
			agents, gone = append(agents, one), append(gone, r.on(s, r.now()).NoAgent(name))
		}
	}
	l.mu.Unlock()
	for _, one := range tokens { // first: a caller with a token is told of that
		one.End(UnknownToken())
	}
	for i, one := range agents {
		one.End(gone[i])
	}
}

// CheckToken returns the agent whose token has this hash; ctx ends when the token does. Looking a hash up in a map
// reveals nothing about the token by its timing: an attacker that could choose hashes at will would already have
// broken SHA-256.
func (r *Room) CheckToken(ctx context.Context, sum string) (mail.Name, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	m := r.state.Tokens[sum]
	if m == nil || !m.Listed() {
		return "", UnknownToken()
	}
	l := r.opts.Lives
	return m.Name, stand(ctx, &l.mu, &l.tokens, sum)
}

// UnknownToken is the error for every token that is not good.
func UnknownToken() error {
	return mail.Errorf(mail.Unknown, "token not valid: it is wrong, was replaced by a newer one, or its agent was "+
		"retired. To create a new one: pennypost agents token NAME")
}

// Stand makes ctx end when the agent as which a service sees the room is taken off its roster, or the room is
// removed.
func Stand(ctx context.Context, as mail.Service) error {
	v := as.(*view)
	if v.IsUser() || v.Who == mail.System || v.Foreign {
		return nil
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	m := v.state.Members[v.Who]
	switch {
	case m == nil: // a caller on no roster is taken off none
		return nil
	case !m.Listed():
		return v.on(v.state, v.now()).NoAgent(v.Who)
	}
	l := v.opts.Lives
	return stand(ctx, &l.mu, &l.agents, m.Name)
}
