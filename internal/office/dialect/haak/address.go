package haak

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// recipients parses a recipient: an address, or several separated by commas.
func recipients(s string, known sessions) ([]mail.Address, error) {
	one, err := recipient(s, known)
	if err == nil {
		return []mail.Address{one}, nil
	}
	return union(strings.Split(s, ","), known)
}

// union parses addresses and drops duplicates.
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

// listed returns the words of a recipient that is a JSON array of addresses, or nil if it is not.
func listed(recipient []byte) []string {
	var words []string
	if len(recipient) == 0 || recipient[0] != '[' || jsonx.Unmarshal(recipient, &words) != nil {
		return nil
	}
	return words
}

// recipient parses one address. A session's id is that session, known or not. Any other word is a role, which some
// session may take later.
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
	if name, ok := known(s); ok || isSessionID(s) {
		return mail.AgentAddress(name), nil
	}
	if spaced && ns == "agent" {
		name, err := mail.ParseName(value)
		name, _ = known(string(name))
		return mail.AgentAddress(name), err
	}
	role, err := mail.ParseRole(s)
	return mail.RoleAddress(role), err
}

// spell writes an address as HAAK does: the bare id or role if that parses to the same address.
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

// signer parses the name of a session that wrote or read something.
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

// by is signer with known sessions: the first digits of an id stand for the session.
func by(s string, known sessions) (mail.Address, error) {
	a, err := signer(s)
	if err == nil && a.Kind() == mail.ToAgent {
		if name, ok := known(string(a.Signer())); ok {
			return mail.AgentAddress(name), nil
		}
	}
	return a, err
}
