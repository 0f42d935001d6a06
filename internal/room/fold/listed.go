package fold

import (
	"slices"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/mail"
)

// Among returns, by name, members that include all matches of q.
func (s *State) Among(q mail.RosterQuery) []*Member {
	switch {
	case q.Name != "":
		m := s.Members[mail.Name(norm.NFC.String(string(q.Name)))]
		if m == nil {
			return nil
		}
		return []*Member{m}
	case q.Role != "":
		return slices.SortedFunc(slices.Values(s.Roles[q.Role]), ByName)
	case q.Tag != "":
		return slices.SortedFunc(slices.Values(s.Tags[q.Tag]), ByName)
	}
	return s.Listed
}

// Fits reports whether m, one of Among, matches q, whatever its state. needle is the search text, folded. The user is
// on no roster, but answers to names that once were an agent's.
func (m *Member) Fits(q mail.RosterQuery, needle string) bool {
	return (m.Listed() || m.IsUser() && q.Name != "" && len(m.Aliases) > 0) &&
		(q.Role == "" || m.HasRole(q.Role)) && (q.Tag == "" || slices.Contains(m.Tags, q.Tag)) &&
		mail.Says(needle, m.Name, m.Aliases, m.Task, m.Roles, m.Tags)
}

// list puts m on the roster.
func (s *State) list(m *Member, at mail.Time) {
	m.Retired = false
	s.enlist(m)
	s.follow(m, at)
}

// unlist takes m off the roster.
func (s *State) unlist(m *Member, at mail.Time) {
	m.Retired, s.Ended = true, true
	s.delist(m)
	s.follow(m, at)
}

// enlist puts m into the roster by its name.
func (s *State) enlist(m *Member) {
	i, _ := slices.BinarySearchFunc(s.Listed, m, ByName)
	s.Listed = slices.Insert(s.Listed, i, m)
	move(s.Outlines, m, nil, []string{Outline(string(m.Name))})
}

// delist takes m out again.
func (s *State) delist(m *Member) {
	if i, found := slices.BinarySearchFunc(s.Listed, m, ByName); found {
		s.Listed = slices.Delete(s.Listed, i, i+1)
	}
	move(s.Outlines, m, []string{Outline(string(m.Name))}, nil)
}

// setBase records the name that the session of m asked for, and found held.
func (s *State) setBase(m *Member, base mail.Name) {
	if m.Base != "" {
		move(s.Bases, m, []string{string(m.Base)}, nil)
	}
	m.Base = base
	move(s.Bases, m, nil, []string{string(base)})
}

// bearers returns the agents on the roster with a name, or with one that was numbered after it, in the order of the
// roster.
func (s *State) bearers(n mail.Name) []*Member {
	out := slices.DeleteFunc(slices.Clone(s.Bases[string(n)]), func(m *Member) bool { return !m.Listed() })
	if m := s.Agent(n); m != nil && m.Name == n && !slices.Contains(out, m) {
		out = append(out, m)
	}
	slices.SortFunc(out, ByName)
	return out
}

// setRoles gives m other roles; nil leaves its roles as they are. The orchestrator keeps the role of its name.
func (s *State) setRoles(m *Member, roles []string) {
	const first = string(mail.Orchestrator)
	led := m.HasRole(first)
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
	move(s.Roles, m, m.Roles, roles)
	if m.Roles = roles; led != m.HasRole(first) {
		s.refileUnread(m) // other mail wakes it now
	}
}

// setTags gives m other tags, and the mail that goes with them.
func (s *State) setTags(m *Member, tags []string, at mail.Time) {
	move(s.Tags, m, m.Tags, tags)
	m.Tags = tags
	s.follow(m, at)
}

// move updates an index after m's words have changed.
func move(by map[string][]*Member, m *Member, before, now []string) {
	for _, word := range before {
		by[word] = slices.DeleteFunc(by[word], func(o *Member) bool { return o == m })
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

// follow refiles the mail of tags and of all for m, whose tags have changed or which joined or left the roster.
func (s *State) follow(m *Member, at mail.Time) {
	s.dynamic = slices.DeleteFunc(s.dynamic, func(r *Record) bool { return s.allPast(r, at) })
	for _, r := range s.dynamic {
		s.refile(r, m)
	}
}

// carriers returns the members with the address of a tag, or of all, in no particular order. Some may be off the
// roster.
func (s *State) carriers(a mail.Address) []*Member {
	if a == mail.ToAll {
		return s.Listed
	}
	return s.Tags[string(a)]
}

// relist rebuilds the lists from the members' records.
func (s *State) relist() {
	s.Listed = s.Listed[:0]
	clear(s.Outlines)
	clear(s.Bases)
	clear(s.Roles)
	clear(s.Tags)
	for name, m := range s.Members {
		if name != m.Name {
			continue
		}
		if m.Listed() {
			s.Listed = append(s.Listed, m)
			move(s.Outlines, m, nil, []string{Outline(string(m.Name))})
		}
		if m.Base != "" {
			move(s.Bases, m, nil, []string{string(m.Base)})
		}
		move(s.Roles, m, nil, m.Roles)
		move(s.Tags, m, nil, m.Tags)
	}
	slices.SortFunc(s.Listed, ByName)
}
