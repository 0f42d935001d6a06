package haak

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// sessions finds the session that a word means.
type sessions func(word string) (mail.Name, bool)

// exactly finds sessions by their whole ids only, as lines of files have them: a line names whom it names.
func exactly(ids map[mail.Name]bool) sessions {
	return func(word string) (mail.Name, bool) { return mail.Name(word), ids[mail.Name(word)] }
}

// minPrefix is how much of a session's id stands for it.
const minPrefix = 8

// abbreviated finds sessions for what people type: by the whole id or, where the ids are random ones, by the only one
// that begins so. A word that somebody has as a role is that role, and a session that was given a name of words is
// called by all of it: "architect" is never architect-new.
func abbreviated(ids map[mail.Name]bool, isRole func(string) bool) sessions {
	return func(word string) (found mail.Name, ok bool) {
		if ids[mail.Name(word)] || len(word) < minPrefix || isRole(word) {
			return mail.Name(word), ids[mail.Name(word)]
		}
		n := 0
		for id := range ids {
			if strings.HasPrefix(string(id), word) && isRandom(string(id)) {
				found = id
				n++
			}
		}
		return found, n == 1
	}
}

// isRandom reports whether an id is a UUID, or other hexadecimal digits.
func isRandom(id string) bool { return strings.Trim(id, "0123456789abcdefABCDEF-") == "" }

// recipients reads a recipient: an address, or several with commas between them.
func recipients(s string, known sessions) ([]mail.Address, error) {
	one, err := recipient(s, known)
	if err == nil {
		return []mail.Address{one}, nil
	}
	return union(strings.Split(s, ","), known)
}

// union reads addresses, each of which counts once.
func union(words []string, known sessions) ([]mail.Address, error) {
	var all []mail.Address
	for _, w := range words {
		a, err := recipient(w, known)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	return all, nil
}

// listed returns the words of a recipient that is a JSON array of addresses, nil if it is none.
func listed(recipient []byte) []string {
	var words []string
	if len(recipient) == 0 || recipient[0] != '[' || jsonx.Unmarshal(recipient, &words) != nil {
		return nil
	}
	return words
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
	return wording.Join(to, ",", func(a mail.Address) string { return spell(a, known) })
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
