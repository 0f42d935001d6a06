package mcpserver

import (
	"context"
	"errors"
	"slices"
	"strings"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

type rosterParams struct {
	Role  string     `json:"role"`
	State mail.State `json:"state"`
	Query string     `json:"query"`
	After string     `json:"after"`
	Limit int        `json:"limit"`
}

// agentLine is an agent as the roster shows it. The question of an asking agent is for its person alone.
type agentLine struct {
	Name     mail.Name  `json:"name"`
	Roles    []string   `json:"roles,omitempty"`
	Tags     []string   `json:"tags,omitempty"`
	State    mail.State `json:"state"`
	Asking   mail.Time  `json:"asking_since,omitzero"` // since when its client asks its person
	Task     string     `json:"task,omitempty"`
	Parent   mail.Name  `json:"parent,omitempty"`
	Seen     mail.Time  `json:"last_seen,omitzero"`
	Unread   int        `json:"unread,omitzero"`
	Door     string     `json:"door,omitempty"`
	On       string     `json:"on,omitempty"`      // its machine, if the room has several
	Unlisted int        `json:"unlisted,omitzero"` // roles and tags left out
}

// maxWords limits the roles, and the tags, of an agent in an answer.
const maxWords = 10

func lineOf(a *mail.Agent) agentLine {
	roles, tags := a.Roles[:min(maxWords, len(a.Roles))], a.Tags[:min(maxWords, len(a.Tags))]
	var asking mail.Time
	if len(a.Dialogs) > 0 {
		asking = a.Dialogs[0].Since
	}
	return agentLine{
		Name: a.Name, Roles: roles, Tags: tags, State: a.State, Asking: asking, Task: a.Task, Parent: a.Parent,
		Seen: a.Seen, Unread: a.Unread, Door: a.Door, On: strings.TrimPrefix(a.On(), "on "),
		Unlisted: len(a.Roles) - len(roles) + len(a.Tags) - len(tags),
	}
}

// short is the line of an agent whose full line would fill an answer by itself.
func (m agentLine) short() agentLine {
	return agentLine{Name: m.Name, State: m.State, Asking: m.Asking, Seen: m.Seen, Unread: m.Unread, Door: m.Door,
		Unlisted: m.Unlisted + len(m.Roles) + len(m.Tags)}
}

// maxRosterLine limits a roster line, in bytes: an agent has up to fifty roles and tags of 128 bytes.
const maxRosterLine = 2000

func rosterLine(a *mail.Agent) agentLine {
	m := lineOf(a)
	if text, err := fence.JSON(m); err == nil && fence.Sent(text) > maxRosterLine {
		return m.short()
	}
	return m
}

type roster struct {
	You    mail.Name     `json:"you"`
	Room   mail.RoomName `json:"room"`
	Agents []agentLine   `json:"agents"`
	// Total is the number of matching agents, if not all of them are listed.
	Total int    `json:"total,omitzero"`
	Next  string `json:"next,omitempty"` // the argument after of the next page
}

// listAgents lists live agents first, then the others, each part by name.
func listAgents(ctx context.Context, c *dialect.Call, p rosterParams) (dialect.Prose, error) {
	if p.Limit < 0 {
		return "", mail.Errorf(mail.Invalid,
			"limit %d is out of range; omit it to fill one answer", p.Limit)
	}
	if p.State != "" {
		if _, err := mail.ParseState(string(p.State)); err != nil {
			return "", err
		}
	}
	all, total, err := p.find(ctx, c.Service)
	if err != nil {
		return "", err
	}
	limit := len(all)
	if p.Limit > 0 {
		limit = min(limit, p.Limit)
	}
	var lines []agentLine
	f, theirs := fence.New(), false
	text, _ := fence.Fit(limit, func(k int) string {
		for i := len(lines); i < k; i++ {
			lines = append(lines, rosterLine(&all[i]))
			theirs = theirs || all[i].Name != c.Caller && lines[i].prose()
		}
		out := roster{You: c.Caller, Room: c.Room, Agents: append([]agentLine{}, lines[:k]...)}
		if k < total {
			out.Total = total
		}
		if 0 < k && k < len(all) {
			out.Next = place(&all[k-1])
		}
		text, e := fence.JSON(out)
		err = errors.Join(err, e)
		if theirs {
			return f.Around(text)
		}
		return text
	})
	return dialect.Prose(text), err
}

// prose reports whether a line has anything in its agent's own words. Such a list is fenced; one of plain names is
// not.
func (m agentLine) prose() bool {
	return m.Task != "" || slices.ContainsFunc(slices.Concat([]string{string(m.Name), string(m.Parent)}, m.Roles,
		m.Tags), func(word string) bool { return mail.Slug(word) != word })
}

// mostLines is more roster lines than an answer holds: the shortest takes some 40 bytes.
const mostLines = 500

// find returns the agents after the cursor p.After that match p, as many as an answer may hold and one more, live
// ones first; and the total before and after it.
func (p *rosterParams) find(ctx context.Context, svc mail.Service) (found []mail.Agent, total int, err error) {
	kind, after, _ := strings.Cut(p.After, ":")
	for _, part := range []struct {
		kind   string
		states []mail.State
	}{{live, mail.LiveStates()}, {others, []mail.State{mail.Frozen, mail.Gone}}} {
		q := mail.RosterQuery{Search: p.Query, Role: p.Role, States: part.states, Limit: mostLines + 1 - len(found)}
		switch {
		case p.State != "" && !slices.Contains(part.states, p.State):
			continue
		case p.State != "":
			q.States = []mail.State{p.State}
		}
		switch passed := part.kind < kind; {
		case passed, q.Limit == 0:
			q.Limit = 1 // for the total
		case part.kind == kind:
			q.After = mail.Name(after)
		}
		page, err := svc.Agents(ctx, q)
		if err != nil {
			return nil, 0, err
		}
		if total += page.Total; part.kind >= kind && len(found) <= mostLines {
			found = append(found, page.Agents...)
		}
	}
	return found, total, nil
}

// live and others begin the cursors of the list's two parts, and sort in their order.
const (
	live   = "live"
	others = "other"
)

// place is the cursor of an agent in the list.
func place(a *mail.Agent) string {
	if a.State.Live() {
		return live + ":" + string(a.Name)
	}
	return others + ":" + string(a.Name)
}
