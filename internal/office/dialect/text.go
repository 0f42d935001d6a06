package dialect

import (
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
