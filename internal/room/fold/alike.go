package fold

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/base/confusable"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// CheckNew says why m, which is nil for a newcomer, cannot be given a name that no one bears. It is not called for
// names in older journals or from a bridge: they stay as they are.
func (s *State) CheckNew(n mail.Name, m *Member) error {
	if err := n.CheckNew(); err != nil {
		return err
	}
	if word := ReservedLike(string(n)); word != "" && n != mail.Orchestrator {
		return mail.Errorf(mail.Denied,
			"%q is not a valid agent name: it reads as %q, which is reserved. Choose another name", n, word)
	}
	if o := cmp.Or(s.alike(n, m), s.mistaken(n, m)); o != nil {
		return mail.Errorf(mail.Conflict,
			"%q is not a valid agent name: it looks like %q, which is on the roster. Choose another name", n, o.Name)
	}
	return nil
}

// alike returns another agent on the roster than m whose name looks like n; nil if there is none.
func (s *State) alike(n mail.Name, m *Member) *Member {
	mine := apparent(string(n))
	return s.outlined(n, m, func(o string) bool { return apparent(o) == mine })
}

// outlined returns the first agent on the roster, other than m, with another name of the outline of n for which is
// holds; nil if there is none.
func (s *State) outlined(n mail.Name, m *Member, is func(name string) bool) (first *Member) {
	for _, o := range s.Outlines[Outline(string(n))] {
		if o != m && o.Name != n && is(string(o.Name)) && (first == nil || ByName(o, first) < 0) {
			first = o
		}
	}
	return first
}

// apparent returns the visible part of a name: without characters that leave no mark, and without the difference
// between forms of one character. Case is a difference.
func apparent(name string) string {
	if IsASCII(name) {
		return name
	}
	drop := func(s string) string {
		return strings.Map(func(r rune) rune {
			if mail.Ignorable(r) {
				return -1
			}
			return r
		}, s)
	}
	return strings.TrimSpace(drop(norm.NFKC.String(drop(name)))) // compatibility forms of fillers are ignorable too
}

// IsASCII reports whether s has ASCII characters only.
func IsASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f })
}

// ReservedLike returns the reserved word that a person would take name for, "" if there is none.
func ReservedLike(name string) string {
	folded := looks(name)
	for _, word := range []mail.Name{mail.User, mail.System, mail.Orchestrator, mail.GitHub, "all", "broadcast"} {
		like := looks(string(word))
		if folded == like || folded == strings.ReplaceAll(like, "i", "l") { // as latin has it
			return string(word)
		}
	}
	return ""
}

// looks returns name with every letter replaced by the Latin one that it looks like, in lower case.
func looks(name string) string {
	name = strings.Map(func(r rune) rune {
		switch r = latin(r); r {
		case 'I', '|':
			return 'l'
		case '0':
			return 'o'
		}
		return r
	}, apparent(name))
	return strings.ReplaceAll(strings.ToLower(name), "rn", "m")
}

// latin returns the Latin letter that r looks like, r if there is none. A character that looks like i or l could be
// either.
func latin(r rune) rune {
	like, marked := confusable.Like(r)
	switch {
	case like == 0 || marked: // ø is no o to those who write it
		return r
	case like == 'i':
		return 'l'
	}
	return rune(like)
}

// mistaken returns another agent on the roster than m for which n could be mistaken: its letters look like those of
// the other name, Cyrillic а for a. Names in ASCII are taken literally. This is called when a name is given, and
// never for a journal: replay must not depend on a table that grows.
func (s *State) mistaken(n mail.Name, m *Member) *Member {
	plain := IsASCII(string(n))
	return s.outlined(n, m, func(o string) bool { return !plain || !IsASCII(o) })
}

// Outline is apparent with lookalikes replaced by Latin letters, and one letter for i, l, I and 1. Names that look
// alike have one outline.
func Outline(name string) string {
	return strings.Map(func(r rune) rune {
		switch r = latin(r); r {
		case 'I', '1', '|', 'i':
			return 'l'
		case '0':
			return 'O'
		}
		return r
	}, apparent(name))
}

// Suggest names the agents, roles and tags that are spelled most like s, as the end of a message.
func (s *State) Suggest(word string) string {
	var all []string
	for m := range s.Agents() {
		all = append(all, string(m.Name))
		for _, role := range m.Roles {
			all = append(all, string(mail.RoleAddress(role)))
		}
		all = append(all, m.Tags...)
	}
	slices.Sort(all)
	near := policy.Nearest(word, slices.Compact(all), 3)
	switch {
	case len(all) == 0:
		return ". No agent is registered; register one with: pennypost agents register NAME"
	case len(near) == 0:
		return ". To see the roster: pennypost agents"
	}
	for i := range near {
		near[i] = mail.Slug(near[i])
	}
	return ". Did you mean " + strings.Join(near, ", ") + "?"
}
