package mail

import (
	"context"
	"slices"
	"strings"
)

// RosterQuery selects agents of the roster. Conditions are joined by "and"; empty ones match everything.
type RosterQuery struct {
	Name   Name    `query:"name" about:"only the agent with this name"`
	Search string  `query:"search" about:"only agents with this text in name, task, roles or tags, ignoring case"`
	States []State `query:"state" about:"only agents in these states"`
	Role   string  `query:"role" about:"only agents with this role"`
	Tag    string  `query:"tag" about:"only agents with this tag"`
	After  Name    `query:"after" about:"only agents whose names sort after this one"`
	Latest bool    `query:"latest" about:"latest state change first; after is ignored"`
	Limit  int     `query:"limit" about:"at most this many agents; 0 means 1000, which is the maximum"`
}

// Says reports whether an agent's roster entry contains text in its name, aliases, task, roles or tags. The text
// must be in lower case.
func Says(text string, name Name, aliases []Name, task string, roles, tags []string) bool {
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	return text == "" || has(string(name)) || has(task) || slices.ContainsFunc(roles, has) ||
		slices.ContainsFunc(tags, has) ||
		slices.ContainsFunc(aliases, func(n Name) bool { return has(string(n)) })
}

// AgentList is a part of the roster, by name in the order of CompareNames.
type AgentList struct {
	Agents []Agent `json:"agents"`
	More   bool    `json:"more,omitzero"`  // there are more: ask again with After set to Next, if set
	Next   Name    `json:"next,omitempty"` // the last of Agents, if there are more; empty with Latest
	Total  int     `json:"total"`          // agents that match the query, regardless of After and Limit
	// States counts, by state, the agents that match all conditions except States.
	States map[State]int `json:"states,omitempty"`
}

// Roster returns the whole roster by name, for callers that need all of it, such as foreign protocols.
func Roster(ctx context.Context, r Registrar) ([]Agent, error) {
	all := []Agent{}
	for q, more := (RosterQuery{}), true; more; {
		page, err := r.Agents(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Agents...)
		more, q.After = page.More, page.Next
	}
	return all, nil
}

// OneAgent returns the agent of a name; ok is false if it is not on the roster.
func OneAgent(ctx context.Context, r Registrar, name Name) (a Agent, ok bool, err error) {
	if name == "" {
		return Agent{}, false, nil
	}
	page, err := r.Agents(ctx, RosterQuery{Name: name, Limit: 1})
	if err != nil || len(page.Agents) == 0 {
		return Agent{}, false, err
	}
	return page.Agents[0], true, nil
}
