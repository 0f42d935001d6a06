package dialect

import (
	"fmt"
	"strconv"
	"strings"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// Subject turns a foreign text into a room's subject: one line, limited, without NUL.
func Subject(s string) string {
	return wording.Clip(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(Clean(s)), mail.MaxSubject)
}

// Clean turns a foreign text into one that the journal accepts.
func Clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Line turns a foreign text into one line: control characters become spaces.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, Clean(s))
}

// WithDocs returns a body followed by its documents, for a format without a field for them. revision formats a
// document's revision.
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

// ParseTypes parses a filter of types: "question,answer". Empty means all.
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

// ParseLimit parses a limit; usual if it is empty.
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
