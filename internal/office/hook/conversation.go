package hook

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// Transcripts have a JSON object in each line. In those of Claude Code 2.1.330, Qwen Code 0.15.10, pi 0.73.1 and the
// Copilot CLI 1.0.102, the lines of the conversation have an id and name the line before, so that a prompt that was
// taken back hangs on a branch that nothing goes on from, and the last line is where the conversation stands. Codex
// 0.169.0 has no ids, and its lines are in order.

// maxConversation is how much of a transcript is read, from its end, in bytes. Mail told before that is told again.
const maxConversation = 16 << 20

// Holds returns which messages a client still has in a conversation of which it keeps a transcript: they are in its
// next request. At the start of a session the whole transcript goes on; later, a prompt to which there was no answer
// may have been taken back, and what hangs on it does not count. Of a client that does not tell, none are known.
func Holds(client, transcript string, starts bool) map[mail.ID]bool {
	c, ok := FindClient(client)
	if !ok || c.recall == nil || transcript == "" {
		return nil
	}
	f, err := openTranscript(transcript, maxConversation)
	if err != nil {
		return nil
	}
	defer f.Close()
	conv := readConversation(f, c.recall)
	return conv.holds(starts)
}

// conversation is what matters of a transcript.
type conversation struct {
	lines map[string]utterance // by their ids
	last  string               // the id of the last line
}

// utterance is a line of a conversation.
type utterance struct {
	id, parent string
	prompt     bool // somebody typed it, and the client may take it back
	answer     bool // it shows that the prompt before it stays: the model's, a tool's result, or a break
	fleeting   bool // a session that is resumed lacks what a hook told there
	told       []mail.ID
}

// recall reads a line of a transcript. ok is false for a line that is no part of the conversation, or torn. before is
// the id of the line before.
type recall func(line []byte, before string) (u utterance, ok bool)

func readConversation(r io.Reader, read recall) conversation {
	c := conversation{lines: make(map[string]utterance)}
	for lines := bufio.NewReaderSize(r, 64<<10); ; {
		line, err := lines.ReadBytes('\n')
		if u, ok := read(line, c.last); ok {
			c.lines[u.id], c.last = u, u.id
		}
		if err != nil {
			return c
		}
	}
}

// holds returns the messages that the conversation has, by the way from its last line to its first.
func (c *conversation) holds(whole bool) map[mail.ID]bool {
	var way []utterance
	answered := whole
	for at := c.last; ; {
		u, ok := c.lines[at]
		if !ok {
			break
		}
		delete(c.lines, at) // no line is met twice, whatever a file says
		way, at = append(way, u), u.parent
		answered = answered || u.answer
		if u.prompt && !answered {
			way, answered = nil, true
		}
	}
	held := make(map[mail.ID]bool)
	for _, u := range way {
		for _, id := range u.told {
			if !u.fleeting || !whole {
				held[id] = true
			}
		}
	}
	return held
}

// heldIn returns the messages that a JSON text has whole.
func heldIn(text []byte) map[mail.ID]bool {
	held := make(map[mail.ID]bool)
	for _, id := range toldIn(text) {
		held[id] = true
	}
	return held
}

// recallClaude reads a line of Claude Code. What a hook told the model is a line of its own, an attachment of the type
// hook_additional_context.
func recallClaude(line []byte, _ string) (u utterance, ok bool) {
	var l struct {
		UUID       string      `json:"uuid"`
		Parent     string      `json:"parentUuid"`
		Type       string      `json:"type"`
		Sidechain  bool        `json:"isSidechain"`
		Source     string      `json:"promptSource"`
		Attachment jsonx.Value `json:"attachment"`
	}
	if !decode(line, `"uuid"`, &l) || l.UUID == "" || l.Sidechain {
		return u, false
	}
	u = utterance{id: l.UUID, parent: l.Parent, prompt: l.Type == "user" && l.Source != "",
		answer: l.Type == "assistant" || l.Type == "user" && l.Source == ""}
	var a struct {
		Type string `json:"type"`
	}
	if jsonx.UnmarshalLenient(l.Attachment, &a) == nil && a.Type == "hook_additional_context" {
		u.told = toldIn(l.Attachment)
	}
	return u, true
}

// A script is how a client that takes nothing back keeps its transcript, by the types of its lines.
type script struct {
	has      string   // a member of the lines of the conversation
	told     []string // of those in which what a hook told stands
	fleeting string   // of these, the one that lacks it when the session is resumed
	sums     string   // or subtype: sums the conversation up, and lets go of what was before it
}

// recall reads a line.
func (s script) recall(line []byte, _ string) (u utterance, ok bool) {
	var l struct {
		UUID     string `json:"uuid"`
		ID       string `json:"id"`
		ParentOf string `json:"parentUuid"`
		Parent   string `json:"parentId"`
		Type     string `json:"type"`
		Subtype  string `json:"subtype"`
	}
	if !decode(line, s.has, &l) || l.UUID+l.ID == "" || l.Type == "session" {
		return u, false
	}
	u = utterance{id: cmp.Or(l.UUID, l.ID), parent: cmp.Or(l.ParentOf, l.Parent)}
	switch {
	case slices.Contains(s.told, l.Type):
		u.told, u.fleeting = toldIn(line), l.Type == s.fleeting
	case s.sums == l.Type, s.sums == l.Subtype:
		u.parent = ""
	}
	return u, true
}

// recallCodex reads a line of Codex, which takes a turn back only where its person asks for it; then all of it counts
// as let go, as it does when the conversation is summed up. What a hook told is a message of its own.
func recallCodex(line []byte, before string) (u utterance, ok bool) {
	var l struct {
		Type    string `json:"type"`
		Payload struct {
			Type string `json:"type"`
		} `json:"payload"`
	}
	if !decode(line, `"payload"`, &l) {
		return u, false
	}
	n, _ := strconv.Atoi(before) // our own number, or none
	u = utterance{id: strconv.Itoa(n + 1), parent: before}
	switch {
	case l.Type == "response_item":
		u.told = toldIn(line)
		return u, true
	case l.Type == "compacted", l.Type == "event_msg" && l.Payload.Type == "thread_rolled_back":
		u.parent = ""
		return u, true
	}
	return u, false
}

// decode decodes a line that has a member.
func decode(line []byte, member string, into any) bool {
	return bytes.Contains(line, []byte(member)) && jsonx.UnmarshalLenient(line, into) == nil
}

// tagOf finds the tags of a fence in a line of JSON, whose brackets some clients escape. Others' text has none: the
// fence sees to that.
var tagOf = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:<|&lt;|\\u003c)(/?)mail-[a-z0-9]+`)
})

// wholeOf finds, between an opening tag and the next tag, the id of a message that is there whole: its text begins on
// a line of its own.
var wholeOf = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?: [a-z]+=\\"[^"]*")* id=\\"(msg_[A-Za-z0-9_-]+)\\".*?(?:>|&gt;|\\u003e)\\n`)
})

// toldIn returns the messages that a line of JSON has whole, as hooks tell them.
func toldIn(line []byte) (ids []mail.ID) {
	tags := tagOf().FindAllSubmatchIndex(line, -1)
	for i, at := range tags {
		if at[2] != at[3] {
			continue // it closes
		}
		end := len(line)
		if i+1 < len(tags) {
			end = tags[i+1][0]
		}
		if m := wholeOf().FindSubmatch(line[at[1]:end]); m != nil {
			ids = append(ids, mail.ID(m[1]))
		}
	}
	return ids
}
