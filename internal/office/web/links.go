package web

import (
	"fmt"
	"net/url"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/words"
)

// address is a path with more behind its question mark: keys and values. Those without a value are left out.
func address(path string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			path = query(path, pairs[i], pairs[i+1])
		}
	}
	return path
}

// query adds one key to an address, with its value or without.
func query(path, key, value string) string {
	mark := "?"
	if strings.Contains(path, "?") {
		mark = "&"
	}
	return path + mark + url.Values{key: {value}}.Encode()
}

// roomBase is what stands before every path of a room.
func roomBase(room mail.RoomName) string { return "/@" + url.PathEscape(string(room)) }

// letterPath is where a message is shown in full.
func letterPath(id mail.ID) string { return query("/", "m", string(id)) }

// LetterHref is the address of a message in full, with its documents.
func (v *view) LetterHref(id mail.ID) string { return v.Base + letterPath(id) }

// threadPath is the path of the conversation to which a message belongs.
func threadPath(id mail.ID) string { return "/t/" + url.PathEscape(string(id)) }

// AgentHref is the address of an agent's page. A name of dots alone would lead elsewhere as a piece of a path.
func (v *view) AgentHref(name any) string {
	n := words.Who(name)
	if n == "." || n == ".." {
		return v.Base + "/agents?name=" + n
	}
	return v.Base + "/agents/" + url.PathEscape(n)
}

// ChannelHref is the address of a channel's page.
func (v *view) ChannelHref(a any) string {
	return v.Base + "/channels/" + url.PathEscape(fmt.Sprint(a))
}

// ComposeHref is the address of an empty letter.
func (v *view) ComposeHref(to mail.Address) string {
	return address(v.Base+"/compose", "to", string(to))
}
