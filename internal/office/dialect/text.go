package dialect

import (
	"fmt"
	"strconv"
	"strings"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// Subject makes a subject of a foreign text: a room's has one line, a limit, and no NUL.
func Subject(s string) string {
	return wording.Clip(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(Clean(s)), mail.MaxSubject)
}

// Clean makes of a foreign text one that the journal takes.
func Clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Line makes a line of a foreign text: controls become spaces.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, Clean(s))
}

// WithDocs returns a body with its documents below it, for a format that has no place of their own for them. revision
// is how one of a revision says which.
func WithDocs(m *mail.Message, revision string) string {
	if len(m.Docs) == 0 {
		return m.Body
	}
	list := wording.Join(m.Docs, "", func(d mail.Doc) string {
		if d.Revision == "" {
			return "\n- " + d.Path
		}
		return "\n- " + d.Path + fmt.Sprintf(revision, d.Revision)
	})
	return strings.TrimPrefix(m.Body+"\n\nDocuments:"+list, "\n\n")
}

// ParseTypes reads the types of a filter: "question,answer". None means all.
func ParseTypes(s string) ([]mail.Type, error) {
	var types []mail.Type
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == ' ' }) {
		t, err := mail.ParseType(word)
		if err != nil {
			return nil, err
		}
		types = append(types, t)
	}
	return types, nil
}

// ParseLimit reads how many are wanted; usual if nothing is said.
func ParseLimit(s string, usual int) (int, error) {
	if s == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, mail.Errorf(mail.Invalid, "the limit %q is not a positive number", s)
	}
	return n, nil
}
