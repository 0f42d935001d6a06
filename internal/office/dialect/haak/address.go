package haak

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/mail"
)

// sessions finds the session that a word means: by its whole id, or by the only one that begins with it.
type sessions func(word string) (mail.Name, bool)

// minPrefix is how much of a session's id stands for it.
const minPrefix = 8

// among returns the sessions of a set of ids. A word that is a role of somebody is no beginning of an id: "architect"
// is whoever has that role, though a session be called architect-new.
func among(ids map[mail.Name]bool, isRole func(string) bool) sessions {
	return func(word string) (found mail.Name, ok bool) {
		if ids[mail.Name(word)] || len(word) < minPrefix || isRole(word) {
			return mail.Name(word), ids[mail.Name(word)]
		}
		n := 0
		for id := range ids {
			if strings.HasPrefix(string(id), word) {
				found = id
				n++
			}
		}
		return found, n == 1
	}
}

// recipients reads a recipient: an address, or several with commas between them.
func recipients(s string, known sessions) ([]mail.Address, error) {
	one, err := recipient(s, known)
	if err == nil {
		return []mail.Address{one}, nil
	}
	var all []mail.Address
	for part := range strings.SplitSeq(s, ",") {
		a, err := recipient(part, known)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	return all, nil
}

// recipient reads one address. A word that is nothing else is a role, which somebody will take some day.
func recipient(s string, known sessions) (mail.Address, error) {
	s = norm.NFC.String(strings.TrimSpace(s))
	ns, value, spaced := strings.Cut(s, ":")
	switch {
	case s == "all":
		return mail.ToAll, nil
	case s == "user":
		return mail.ToUser, nil
	case spaced && ns == "role":
		role, err := mail.ParseRole(value)
		return mail.RoleAddress(role), err
	case spaced && slices.Contains(mail.TagNamespaces(), ns):
		tag, err := mail.ParseTag(s, mail.TagNamespaces())
		return mail.Address(tag), err
	}
	if name, ok := known(s); ok {
		return mail.AgentAddress(name), nil
	}
	if spaced && ns == "agent" {
		name, err := mail.ParseName(value)
		return mail.AgentAddress(name), err
	}
	role, err := mail.ParseRole(s)
	return mail.RoleAddress(role), err
}

// spell writes an address as HAAK does: the bare id or role where that is read as the same again.
func spell(a mail.Address, known sessions) string {
	if k := a.Kind(); k == mail.ToAgent || k == mail.ToRole {
		if back, err := recipient(a.Value(), known); err == nil && back == a {
			return a.Value()
		}
	}
	return string(a)
}

func spellAll(to []mail.Address, known sessions) string {
	words := make([]string, len(to))
	for i, a := range to {
		words[i] = spell(a, known)
	}
	return strings.Join(words, ",")
}

// signer reads the name of a session, as whom somebody wrote or read.
func signer(s string) (mail.Address, error) {
	s = norm.NFC.String(strings.TrimSpace(s))
	switch s {
	case "user":
		return mail.ToUser, nil
	case "system":
		return mail.FromSystem, nil
	}
	if mail.Address(s).Kind() == mail.FromFar {
		a, _, err := mail.ParseAddress(s, nil)
		return a, err
	}
	name, err := mail.ParseName(strings.TrimPrefix(s, "agent:"))
	return mail.AgentAddress(name), err
}
