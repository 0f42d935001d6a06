package mail

import (
	"crypto/rand"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Name is the unique name of an agent in its room: NFC Unicode, 1 to MaxName bytes, no control characters, compared
// exactly. User and System are names too, but no agent's. CheckNew has further conditions for new names.
type Name string

// Reserved names.
const (
	User   Name = "user"   // the person
	System Name = "system" // Pennypost itself, as the author of notices
	// an agent with this name holds the role with this name, and signs as Address "orchestrator"
	Orchestrator Name = "orchestrator"
)

// MaxName is the longest name, role, tag or id, in bytes.
const MaxName = 128

// ParseName checks s as an agent's name, including names from an older journal or a foreign file. It does not
// normalise s: the room does that before it calls.
func ParseName(s string) (Name, error) {
	if err := checkWord("agent name", s); err != nil {
		return "", err
	}
	switch Name(s) {
	case User, System, "all", "broadcast":
		return "", Errorf(Denied, "the name %q is reserved: choose another", s)
	}
	if kind, _, ok := strings.Cut(s, ":"); ok && (kind == "agent" || kind == "role") {
		return "", Errorf(Invalid, "%q is not a valid agent name: the prefix %q marks an address",
			s, kind+":")
	}
	return Name(s), nil
}

// CheckNew returns an error if a name accepted by ParseName cannot be given to an agent: it reads as another room's
// agent, or has invisible characters. The room checks for names that look alike.
func (n Name) CheckNew() error {
	if strings.Contains(string(n), "@") {
		return Errorf(Invalid, "%q is not a valid agent name: the part after '@' would name a room, as in "+
			"builder@lab. Choose a name without '@'", n)
	}
	if strings.EqualFold(string(n), string(GitHub)) {
		return Errorf(Denied, "the name %q is reserved for GitHub: choose another", n)
	}
	if strings.HasPrefix(string(n), far) {
		return Errorf(Invalid,
			"%q is not a valid agent name: the prefix %q marks an address", n, far)
	}
	if r, found := n.unseen(); found {
		return Errorf(Invalid,
			"%q is not a valid agent name: it contains the invisible character %U. Remove it", n, r)
	}
	return nil
}

// unseen returns an invisible character of n: one that Unicode lets programs ignore, outside of an emoji sequence,
// or a blank other than a space.
func (n Name) unseen() (rune, bool) {
	runes := []rune(n)
	for i, r := range runes {
		if (Ignorable(r) || r == brailleBlank) && !inEmoji(runes, i) {
			return r, true
		}
	}
	return 0, false
}

const brailleBlank = '\u2800'

// Ignorable reports whether r is a format character or one that Unicode lets programs not display: slightly more
// than Default_Ignorable_Code_Point of DerivedCoreProperties.txt. Arabic signs that precede a number are visible.
func Ignorable(r rune) bool {
	if r < 0xad || r > 0x3164 && r < 0xfe00 { // fast path: most text has none of these characters
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// inEmoji reports whether the character at i belongs to an emoji sequence (Unicode TR 51): a joiner between two
// emoji, or the emoji presentation selector after one. Flags of tag characters do not count, because they can hide
// text.
func inEmoji(s []rune, i int) bool {
	const joiner, presentation = '\u200d', '\ufe0f'
	behind := func(j int) bool { // an emoji ends before j
		for j > 0 && (s[j-1] == presentation || s[j-1] >= 0x1f3fb && s[j-1] <= 0x1f3ff) {
			j--
		}
		return j > 0 && emoji(s[j-1])
	}
	switch s[i] {
	case joiner:
		return behind(i) && i+1 < len(s) && emoji(s[i+1])
	case presentation:
		return i > 0 && emoji(s[i-1]) || i+1 < len(s) && s[i+1] == 0x20e3 // a keycap: 1, selector, enclosing square
	}
	return false
}

// emoji reports whether r may be part of an emoji sequence: a non-ASCII symbol, which includes skin tones.
func emoji(r rune) bool {
	return r > 0x7f && unicode.In(r, unicode.So, unicode.Sk, unicode.Sm, unicode.Po)
}

// checkWord checks the common rules of names, roles, tags and ids.
func checkWord(what, s string) error {
	switch {
	case s == "":
		return Errorf(Invalid, "the %s is empty", what)
	case len(s) > MaxName:
		return Errorf(Invalid, "the %s has %d bytes; the limit is %d", what, len(s), MaxName)
	case !utf8.ValidString(s):
		return Errorf(Invalid, "the %s %q is not valid UTF-8", what, s)
	case s != strings.TrimSpace(s):
		return Errorf(Invalid, "the %s %q begins or ends with white space", what, s)
	}
	for _, r := range s {
		if unicode.IsControl(r) || invisible(r) {
			return Errorf(Invalid, "the %s %q contains the invisible or control character %U", what, s, r)
		}
	}
	return nil
}

// invisible reports characters that would make two words look alike or reorder the text around them, and that were
// never allowed. The joiners U+200C and U+200D are allowed: roles, tags and ids may be Persian.
func invisible(r rune) bool {
	switch {
	case r == '\u200b', r == '\ufeff', r == '\u061c', r == '\u200e', r == '\u200f':
		return true
	}
	return r >= '\u2028' && r <= '\u202e' || r >= '\u2060' && r <= '\u206f'
}

// IsLine reports whether s is one line that reads as it is: it has no characters that break a line, control a
// terminal or reorder the text around them.
func IsLine(s string) bool {
	return utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || invisible(r) })
}

// ID identifies a message. Ids are opaque: Pennypost generates "msg_" and 21 characters of [A-Za-z0-9_-]; dialects
// and imports have their own forms.
type ID string

// IDForm is a form of new ids. The zero value is the form that the protocols of the room and of the recipient
// require, or else "msg_" and 21 characters.
type IDForm string

// The forms other than the usual one.
const (
	IDUUID  IDForm = "uuid"  // a random UUID: 01234567-89ab-4cde-8f01-23456789abcd
	IDHex12 IDForm = "hex12" // "msg-" and 12 hexadecimal digits
)

// NewUUID returns a random UUID, version 4 (RFC 9562).
func NewUUID() ID {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return ID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}

// ParseID checks the form of an id.
func ParseID(s string) (ID, error) {
	if err := checkWord("message id", s); err != nil {
		return "", err
	}
	return ID(s), nil
}

// Seq is the sequence number of an event in its room's journal. It begins at 1 and rises by one per event, but may
// skip numbers after compaction.
type Seq uint64

// RoomName names a room. It is also a directory name, so only letters, digits, '.', '_' and '-' are allowed.
type RoomName string

// DefaultRoom is the room of commands that run outside any project.
const DefaultRoom RoomName = "default"

// maxRoom leaves space for suffixes within the 255 bytes that file systems allow a name.
const maxRoom = 100

// ParseRoom checks s as a room name: 1 to 100 bytes, letters, digits, '.', '_', '-', beginning with a letter or digit.
func ParseRoom(s string) (RoomName, error) {
	const form = "use 1 to 100 bytes of letters, digits, '.', '_' or '-', beginning with a letter or digit"
	if s == "" || len(s) > maxRoom || !utf8.ValidString(s) {
		return "", Errorf(Invalid, "%q is not a room name: %s", s, form)
	}
	for i, r := range s {
		alnum := unicode.IsLetter(r) || unicode.IsDigit(r)
		if !alnum && (i == 0 || !strings.ContainsRune("._-", r) && !unicode.IsMark(r)) {
			return "", Errorf(Invalid, "%q is not a room name: %s", s, form)
		}
	}
	if strings.HasSuffix(s, ".") || windowsDevice(s) {
		return "", Errorf(Invalid, "%q is not a room name: Windows allows no directory with this name", s)
	}
	return RoomName(s), nil
}

// windowsDevice reports whether Windows would open a device instead of a file with this name.
func windowsDevice(s string) bool {
	base, _, _ := strings.Cut(s, ".")
	if len(base) > 4 {
		return false // the usual case; this runs on each call
	}
	switch base = strings.ToUpper(base); base {
	case "CON", "PRN", "AUX", "NUL":
		return true
	}
	return len(base) == 4 && (strings.HasPrefix(base, "COM") || strings.HasPrefix(base, "LPT")) && base[3] >= '0' &&
		base[3] <= '9'
}
