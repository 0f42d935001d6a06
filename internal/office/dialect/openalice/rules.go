package openalice

import (
	"slices"
	"strconv"
	"strings"

	"pennypost/internal/mail"
)

// nothingSaid is the original's answer to an empty push.
const nothingSaid = "at least one of docs or comments must be present"

// checkPush returns an error text for the content of a push, or "".
func checkPush(docs []mail.Doc, comments string) string {
	if len(docs) == 0 && strings.TrimSpace(comments) == "" {
		return "inbox_push: " + nothingSaid
	}
	for _, d := range docs {
		if why := checkPath(d.Path); why != "" {
			return "inbox_push: " + why
		}
	}
	return ""
}

// checkPath returns an error text for a document's path, or "". It checks both kinds of slashes on every system,
// because the machine that shows the entry interprets the path again.
func checkPath(path string) string {
	slashed := strings.ReplaceAll(path, `\`, "/")
	drive := len(path) > 1 && path[1] == ':' && (path[0]|0x20 >= 'a' && path[0]|0x20 <= 'z')
	switch {
	case strings.TrimSpace(path) == "":
		return "the path of a document is empty"
	case strings.ContainsRune(path, 0):
		return "the path of a document contains a NUL"
	case strings.HasPrefix(slashed, "/") || drive:
		return "docs take paths relative to the workspace's root; " + strconv.Quote(path) + " is absolute"
	case slices.Contains(strings.Split(slashed, "/"), ".."):
		return "docs take paths inside the workspace; " + strconv.Quote(path) + ` goes through ".."`
	}
	return ""
}

// labelOf returns the label of the entry that m is, and whether it is one: mail to the user that was pushed, came
// from an inbox, or was sent by a workspace of the room. Notifications are never entries.
func labelOf(m *mail.Message, workspaces map[mail.Name]string) (string, bool) {
	if !isPush(m) {
		return "", false
	}
	if label := labelIn(m.Metadata); label != "" {
		return label, true
	}
	label, ok := workspaces[m.From.Signer()]
	return label, ok
}

// Label returns the label of the workspace that pushed m or whose inbox it came from, and whether there is one.
func Label(m *mail.Message) (string, bool) { return labelOf(m, nil) }

// isPush reports whether m is an entry if its sender is a workspace.
func isPush(m *mail.Message) bool {
	return slices.Contains(m.To, mail.ToUser) && fromAgent(m) && !isNotification(m.Metadata)
}

func fromAgent(m *mail.Message) bool {
	return m.From.Kind() == mail.ToAgent || m.From == mail.ToOrchestrator
}
