package mail

import (
	"context"
	"slices"
	"strings"
)

// RosterQuery says which agents of the roster to return. Conditions are joined by "and"; empty ones hold for all.
type RosterQuery struct {
	Name   Name    `query:"name" about:"only the agent of this name"`
	Search string  `query:"search" about:"text in name, task, roles or tags, case ignored"`
	States []State `query:"state" about:"only agents in these states"`
	Role   string  `query:"role" about:"only agents with this role"`
	Tag    string  `query:"tag" about:"only agents with this tag"`
	After  Name    `query:"after" about:"only agents whose names come behind this one"`
	Latest bool    `query:"latest" about:"those first whose state changed last; then after has no meaning"`
	Limit  int     `query:"limit" about:"at most so many agents; 0 means 1000, which is the most"`
}

// Says reports whether the roster says a text of an agent, in its name, the names that lead to it as well, its task,
// its roles or its tags. The text is in lower case.
func Says(text string, name Name, aliases []Name, task string, roles, tags []string) bool {
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	return text == "" || has(string(name)) || has(task) || slices.ContainsFunc(roles, has) ||
		slices.ContainsFunc(tags, has) ||
		slices.ContainsFunc(aliases, func(n Name) bool { return has(string(n)) })
}

// AgentList is a part of the roster, by name as CompareNames has it.
type AgentList struct {
	Agents []Agent `json:"agents"`
	More   bool    `json:"more,omitzero"`  // the list goes on: ask again with After set to Next, if there is one
	Next   Name    `json:"next,omitempty"` // the last of Agents, if there are more; none with Latest
	Total  int     `json:"total"`          // how many fit the query, those before After and behind Limit included
	// States counts, by state, those that fit but for their state.
	States map[State]int `json:"states,omitempty"`
}

// Roster returns the whole roster, by name, for what needs all of it, as foreign protocols do.
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
