package dialect

import (
	"strings"

	"pennypost/internal/mail"
)

// Subject makes a subject of a foreign text: a room's has one line, a limit, and no NUL.
func Subject(s string) string {
	s = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\x00",
		"\uFFFD").Replace(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= mail.MaxSubject {
		return s
	}
	const ellipsis = "…"
	return strings.ToValidUTF8(s[:mail.MaxSubject-len(ellipsis)], "") + ellipsis
}
