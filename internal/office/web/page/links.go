package page

import (
	"fmt"
	"net/url"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/words"
)

// Address is a path with a query of keys and values, except empty values.
func Address(path string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			path = Query(path, pairs[i], pairs[i+1])
		}
	}
	return path
}

// Query adds a key and its value, even if empty, to an address.
func Query(path, key, value string) string {
	mark := "?"
	if strings.Contains(path, "?") {
		mark = "&"
	}
	return path + mark + url.Values{key: {value}}.Encode()
}

// RoomBase is the prefix of a room's paths.
func RoomBase(room mail.RoomName) string { return "/@" + url.PathEscape(string(room)) }

// LetterPath is the path that shows a message in full.
func LetterPath(id mail.ID) string { return Query("/", "m", string(id)) }

// LetterHref is the address of a message in full, with its documents.
func (v *View) LetterHref(id mail.ID) string { return v.Base + LetterPath(id) }

// ThreadPath is the path of a message's conversation.
func ThreadPath(id mail.ID) string { return "/t/" + url.PathEscape(string(id)) }

// AgentHref is the address of an agent's page. A path element "." or ".." would lead elsewhere.
func (v *View) AgentHref(name any) string {
	n := words.Who(name)
	if n == "." || n == ".." {
		return v.Base + "/agents?name=" + n
	}
	return v.Base + "/agents/" + url.PathEscape(n)
}

// ChannelHref is the address of a channel's page.
func (v *View) ChannelHref(a any) string {
	return v.Base + "/channels/" + url.PathEscape(fmt.Sprint(a))
}

// ComposeHref is the address of a new letter.
func (v *View) ComposeHref(to mail.Address) string {
	return Address(v.Base+"/compose", "to", string(to))
}

// Elsewhere reports whether an address is in another room.
func Elsewhere(a mail.Address) bool { return strings.Contains(string(a), "@") }

// MaxQuery limits a search, in characters.
const MaxQuery = 200

// Texts returns addresses as strings.
func Texts(list []mail.Address) []string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = string(a)
	}
	return out
}
