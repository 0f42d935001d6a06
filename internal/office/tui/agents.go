package tui

import (
	"context"
	"slices"
	"strings"

	"pennypost/internal/mail"
)

// agent is a line of the roster of a room.
type agent struct {
	mail.Agent
	room mail.RoomName
}

// roster is the list of agents of all open rooms.
type roster struct {
	all, rows   []agent
	words       string // that the rows fit
	cursor, top int
	loaded      bool
}

func (r *roster) current() *agent {
	if r.cursor >= len(r.rows) {
		return nil
	}
	return &r.rows[r.cursor]
}

func (r *roster) move(n, screen int) {
	r.cursor = min(max(0, r.cursor+n), max(0, len(r.rows)-1))
	r.settle(screen)
}

func (r *roster) settle(screen int) {
	r.cursor = min(r.cursor, max(0, len(r.rows)-1))
	r.top = min(max(r.top, r.cursor-screen+1), r.cursor)
}

// filter leaves those that fit words.
func (r *roster) filter(words string) {
	r.words = words
	r.rows = slices.DeleteFunc(slices.Clone(r.all), func(a agent) bool {
		return !fits(words, string(a.Name), a.Task, string(a.State), string(a.room), strings.Join(a.Roles, " "),
			strings.Join(a.Tags, " "))
	})
	r.cursor = min(r.cursor, max(0, len(r.rows)-1))
}

// rosterLoaded is the roster as the post office has it.
type rosterLoaded struct {
	agents []agent
	err    error
}

// loadRoster looks who is there. It leaves closed rooms closed: nobody is at work in them.
func loadRoster(only mail.RoomName) effect {
	return call(func(ctx context.Context, p mail.Office) message {
		rooms, err := p.Rooms(ctx)
		if err != nil {
			return rosterLoaded{nil, err}
		}
		var all []agent
		for _, r := range rooms {
			if only != "" && r.Name != only || only == "" && !r.Open {
				continue
			}
			svc, err := p.Room(ctx, r.Name, mail.User)
			if err != nil {
				return rosterLoaded{nil, err}
			}
			list, err := mail.Roster(ctx, svc)
			if err != nil {
				return rosterLoaded{nil, err}
			}
			for _, a := range list {
				all = append(all, agent{a, r.Name})
			}
		}
		return rosterLoaded{all, nil}
	})
}

// states in the order of the list: who works comes first.
var states = []mail.State{mail.Working, mail.Idle, mail.Frozen, mail.Gone}

func (m *model) rosterLoaded(msg rosterLoaded) []effect {
	if m.people.end() {
		m.people = loading{running: true}
		return []effect{loadRoster(m.room)}
	}
	if msg.err != nil {
		m.wrong(msg.err)
		return nil
	}
	r := &m.roster
	var under string
	if c := r.current(); c != nil {
		under = string(c.room) + "/" + string(c.Name)
	}
	above := r.cursor - r.top
	r.all, r.loaded = msg.agents, true
	slices.SortStableFunc(r.all, func(a, b agent) int {
		return slices.Index(states, a.State) - slices.Index(states, b.State)
	})
	r.filter(r.words)
	at := slices.IndexFunc(r.rows, func(a agent) bool { return string(a.room)+"/"+string(a.Name) == under })
	if at >= 0 {
		r.cursor, r.top = at, max(0, at-above)
	}
	r.settle(m.bodyRows())
	return nil
}

// openAgent shows what the agent under the cursor wrote.
func (m *model) openAgent() []effect {
	a := m.roster.current()
	if a == nil {
		return nil
	}
	m.filter = filter{from: a.Name}
	m.tab = updates
	m.lists[updates] = list{}
	return m.reload()
}
