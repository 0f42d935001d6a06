package words

import (
	"net/url"
	"strings"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

// DialogGist is the question of a dialog on one line, short enough for a list.
func DialogGist(c *mail.Card) string { return wording.ClipRunes(triage.DialogGist(c), 240) }

// DialogTitle is the title of a dialog on one line.
func DialogTitle(c *mail.Card) string {
	line, _ := triage.Exposed(strings.Join(strings.Fields(triage.DialogTitle(c)), " "))
	return wording.ClipRunes(line, 240)
}

// DialogNews is the text of a dialog's notification after the agent's name.
func DialogNews(c *mail.Card) string {
	if c.Kind == mail.AsksPermission && c.Tool != "" {
		return c.Tool + ": " + DialogGist(c)
	}
	return DialogTitle(c)
}

// CardHref is the address of a dialog in full.
func CardHref(c *mail.Card) string {
	return "/@" + url.PathEscape(string(c.Room)) + "/?" + url.Values{"d": {string(c.ID)}}.Encode()
}
