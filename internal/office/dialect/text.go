package dialect

import (
	"strings"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// Subject makes a subject of a foreign text: a room's has one line, a limit, and no NUL.
func Subject(s string) string {
	s = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\x00",
		"\uFFFD").Replace(strings.ToValidUTF8(s, "\uFFFD"))
	return wording.Clip(s, mail.MaxSubject)
}

// All collects the pages of a list that go on behind one another, from the one behind after.
func All(after mail.Seq, page func(after mail.Seq) (mail.Page, error)) ([]mail.Item, error) {
	var items []mail.Item
	for {
		p, err := page(after)
		if err != nil {
			return nil, err
		}
		items = append(items, p.Messages...)
		if !p.More {
			return items, nil
		}
		after = p.Next
	}
}
