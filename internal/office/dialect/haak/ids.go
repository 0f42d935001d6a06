package haak

import (
	"regexp"
	"strings"

	"pennypost/internal/mail"
)

// sessions finds the session that a word names. It returns an unknown word as it is.
type sessions func(word string) (mail.Name, bool)

// ids are the names of sessions. HAAK gives a session a UUID; its roster often has only the first 8 digits, while
// the hook passes the whole id. Both name one session, which keeps the form first seen.
type ids struct {
	whole  map[mail.Name]bool
	begins map[string]mail.Name // random ids by their first 8 digits; "": ambiguous
}

func newIDs() ids { return ids{make(map[mail.Name]bool), make(map[string]mail.Name)} }

// add records the name of a session.
func (s ids) add(name mail.Name) {
	if s.whole[name] {
		return
	}
	s.whole[name] = true
	if len(name) <= minPrefix || !isRandom(string(name)) || !isShort(string(name[:minPrefix])) {
		return
	}
	short := string(name[:minPrefix])
	if _, several := s.begins[short]; several {
		name = ""
	}
	s.begins[short] = name
}

// find finds a session by its name in a file: the whole id or the first 8 digits.
func (s ids) find(word string) (mail.Name, bool) {
	name := mail.Name(word)
	switch {
	case s.whole[name]:
		return name, true
	case isUUID(word) && s.whole[name[:minPrefix]]:
		return name[:minPrefix], true
	case isShort(word) && s.begins[word] != "":
		return s.begins[word], true
	}
	return name, false
}

// minPrefix is the length of a short id.
const minPrefix = 8

// abbreviated finds a session by a word that a person typed: as find does or, for random ids, by a unique prefix. A
// role in use takes precedence, and a session named in words needs its whole name: "architect" is never
// architect-new.
func (s ids) abbreviated(isRole func(string) bool) sessions {
	return func(word string) (found mail.Name, ok bool) {
		if name, ok := s.find(word); ok || len(word) <= minPrefix || isRole(word) {
			return name, ok
		}
		n := 0
		for id := range s.whole {
			if strings.HasPrefix(string(id), word) && isRandom(string(id)) {
				found = id
				n++
			}
		}
		if n != 1 {
			return mail.Name(word), false
		}
		return found, true
	}
}

// isRandom reports whether an id is a UUID or other hexadecimal digits.
func isRandom(id string) bool { return strings.Trim(id, "0123456789abcdefABCDEF-") == "" }

var (
	shortID = regexp.MustCompile(`^[0-9a-fA-F]{8}$`)
	uuid    = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

func isShort(word string) bool { return len(word) == minPrefix && shortID.MatchString(word) }
func isUUID(word string) bool  { return len(word) == 36 && uuid.MatchString(word) }

// isSessionID reports whether a word can only be a session's id, never a role.
func isSessionID(word string) bool { return isShort(word) || isUUID(word) }
