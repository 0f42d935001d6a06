package mailroom

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/mail"
)

// Agents implements mail.Registrar.
func (v *view) Agents(ctx context.Context, q mail.RosterQuery) (mail.AgentList, error) {
	n := mail.MaxLimit
	if q.Limit != 0 {
		var err error
		if n, err = limit(q.Limit); err != nil {
			return mail.AgentList{}, err
		}
	}
	for _, st := range q.States {
		if _, err := mail.ParseState(string(st)); err != nil {
			return mail.AgentList{}, err
		}
	}
	v.touch(ctx)
	out := mail.AgentList{Agents: []mail.Agent{}, States: make(map[mail.State]int)}
	v.read(func(s *state, now mail.Time) {
		needle := strings.ToLower(q.Search)
		among := s.among(q)
		if q.Latest {
			q.After = ""
			among = slices.Clone(among)
			slices.SortStableFunc(among, func(a, b *member) int { return cmp.Compare(b.Since, a.Since) })
		}
		for _, m := range among {
			if !m.listed() || !m.fits(q, needle) {
				continue
			}
			out.States[m.State]++
			if len(q.States) > 0 && !slices.Contains(q.States, m.State) {
				continue
			}
			out.Total++
			if mail.CompareNames(m.Name, q.After) <= 0 {
				continue
			}
			if len(out.Agents) == n {
				if out.More = true; !q.Latest {
					out.Next = out.Agents[n-1].Name
				}
				continue
			}
			out.Agents = append(out.Agents, v.sight(s).show(m, now))
		}
	})
	return out, nil
}

// among returns, by name, members among whom are all that q asks for.
func (s *state) among(q mail.RosterQuery) []*member {
	switch {
	case q.Name != "":
		m := s.agent(mail.Name(norm.NFC.String(string(q.Name))))
		if m == nil {
			return nil
		}
		return []*member{m}
	case q.Role != "":
		return slices.SortedFunc(slices.Values(s.roles[q.Role]), byName)
	case q.Tag != "":
		return slices.SortedFunc(slices.Values(s.tags[q.Tag]), byName)
	}
	return s.listed
}

// fits reports whether m is what q asks for, whatever its state. needle is the text that is searched for, folded.
func (m *member) fits(q mail.RosterQuery, needle string) bool {
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), needle) }
	return (q.Name == "" || m.Name == mail.Name(norm.NFC.String(string(q.Name)))) &&
		(q.Role == "" || m.hasRole(q.Role)) && (q.Tag == "" || slices.Contains(m.Tags, q.Tag)) &&
		(needle == "" || has(string(m.Name)) || has(m.Task) || slices.ContainsFunc(m.Roles, has) ||
			slices.ContainsFunc(m.Tags, has))
}

// What follows keeps the roster, and who has a role or carries a tag, as lists: mail is sent to them more often than
// they change, and a roster may have thousands of names.

// list puts m on the roster.
func (s *state) list(m *member, at mail.Time) {
	m.Retired = false
	s.enlist(m)
	s.follow(m, at)
}

// unlist takes m off the roster.
func (s *state) unlist(m *member, at mail.Time) {
	m.Retired, s.ended = true, true
	s.delist(m)
	s.follow(m, at)
}

// enlist puts m into the roster by its name.
func (s *state) enlist(m *member) {
	i, _ := slices.BinarySearchFunc(s.listed, m, byName)
	s.listed = slices.Insert(s.listed, i, m)
	move(s.outlines, m, nil, []string{outline(string(m.Name))})
}

// delist is the contrary.
func (s *state) delist(m *member) {
	if i, found := slices.BinarySearchFunc(s.listed, m, byName); found {
		s.listed = slices.Delete(s.listed, i, i+1)
	}
	move(s.outlines, m, []string{outline(string(m.Name))}, nil)
}

// setBase notes which name the session of m asked for, and found held.
func (s *state) setBase(m *member, base mail.Name) {
	if m.Base != "" {
		move(s.bases, m, []string{string(m.Base)}, nil)
	}
	m.Base = base
	move(s.bases, m, nil, []string{string(base)})
}

// bearers returns the agents on the roster with a name, or with one that was numbered after it, in the order of the
// roster.
func (s *state) bearers(n mail.Name) []*member {
	out := slices.DeleteFunc(slices.Clone(s.bases[string(n)]), func(m *member) bool { return !m.listed() })
	if m := s.agent(n); m != nil && m.Name == n && !slices.Contains(out, m) {
		out = append(out, m)
	}
	slices.SortFunc(out, byName)
	return out
}

// setRoles gives m other roles; nil leaves it those that it has. The orchestrator keeps the one of its name.
func (s *state) setRoles(m *member, roles []string) {
	const first = string(mail.Orchestrator)
	led := m.hasRole(first)
	if roles == nil {
		roles = m.Roles
	}
	roles = slices.Clone(roles)
	if m.Name == mail.Orchestrator && !slices.Contains(roles, first) {
		roles = append(roles, first)
	}
	if slices.Equal(roles, m.Roles) {
		return
	}
	move(s.roles, m, m.Roles, roles)
	if m.Roles = roles; led != m.hasRole(first) {
		s.refileUnread(m) // it is woken by other mail now
	}
}

// setTags gives m other tags, and the mail that goes with them.
func (s *state) setTags(m *member, tags []string, at mail.Time) {
	move(s.tags, m, m.Tags, tags)
	m.Tags = tags
	s.follow(m, at)
}

// move notes that m has other words than before.
func move(by map[string][]*member, m *member, before, now []string) {
	for _, word := range before {
		by[word] = slices.DeleteFunc(by[word], func(o *member) bool { return o == m })
		if len(by[word]) == 0 {
			delete(by, word)
		}
	}
	for _, word := range now {
		if !slices.Contains(by[word], m) { // journals of other versions may name one twice
			by[word] = append(by[word], m)
		}
	}
}

// follow files the mail of tags and of all anew for m, whose tags have changed or who came onto the roster or left it.
func (s *state) follow(m *member, at mail.Time) {
	s.dynamic = slices.DeleteFunc(s.dynamic, func(r *record) bool { return s.allPast(r, at) })
	for _, r := range s.dynamic {
		s.refile(r, m)
	}
}

// carriers returns those behind the address of a tag, or of all, in no particular order. Some may be off the roster.
func (s *state) carriers(a mail.Address) []*member {
	if a == mail.ToAll {
		return s.listed
	}
	return s.tags[string(a)]
}

// listAnew makes the lists from what is said of the members.
func (s *state) listAnew() {
	s.listed = s.listed[:0]
	clear(s.outlines)
	clear(s.bases)
	clear(s.roles)
	clear(s.tags)
	for name, m := range s.members {
		if name != m.Name {
			continue
		}
		if m.listed() {
			s.listed = append(s.listed, m)
			move(s.outlines, m, nil, []string{outline(string(m.Name))})
		}
		if m.Base != "" {
			move(s.bases, m, nil, []string{string(m.Base)})
		}
		move(s.roles, m, nil, m.Roles)
		move(s.tags, m, nil, m.Tags)
	}
	slices.SortFunc(s.listed, byName)
}
