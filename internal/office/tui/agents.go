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

func newRoster() pane[agent] {
	return pane[agent]{
		key: func(a *agent) string { return string(a.room) + "/" + string(a.Name) },
		texts: func(a *agent) []string {
			return []string{string(a.Name), a.Task, string(a.State), string(a.room), strings.Join(a.Roles, " "),
				strings.Join(a.Tags, " ")}
		},
	}
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

func (msg rosterLoaded) change(m *model) []effect {
	if m.people.end() {
		m.people = loading{running: true}
		return []effect{loadRoster(m.room)}
	}
	if msg.err != nil {
		return m.wrong(msg.err)
	}
	slices.SortStableFunc(msg.agents, func(a, b agent) int {
		return slices.Index(states, a.State) - slices.Index(states, b.State)
	})
	m.roster.refresh(msg.agents, m.bodyRows())
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
	m.lists[updates] = newList()
	return m.reload()
}
