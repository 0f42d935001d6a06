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

// Transcripts have one JSON object per line. In Claude Code 2.1.330, Qwen Code 0.15.10, pi 0.73.1 and the Copilot CLI
// 1.0.102 each line of the conversation has an id and names its parent. A prompt that was taken back ends up on a dead
// branch, and the last line is the end of the conversation. Codex 0.169.0 has no ids; its lines are in order.

// maxConversation is how many bytes are read from the end of a transcript. Mail told before that is told again.
const maxConversation = 16 << 20

// Holds returns the messages that a client still has in its transcribed conversation and so sends in its next request.
// At the start of a session the whole transcript counts. Later, a prompt without an answer may have been taken back,
// so it and the lines after it do not count. Without a readable transcript Holds returns nil.
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

// conversation is the part of a transcript that we use.
type conversation struct {
	lines map[string]utterance // by id
	last  string               // the id of the last line
}

// utterance is a line of a conversation.
type utterance struct {
	id, parent string
	prompt     bool // a person typed it, and the client may take it back
	answer     bool // proves that the prompt before it stays: an answer, a tool result or an interruption
	fleeting   bool // a resumed session lacks the hook output in it
	told       []mail.ID
}

// recall reads a line of a transcript. ok is false for a line outside the conversation, or a torn one. before is the
// id of the line before.
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

// holds returns the messages in the conversation, following the parents from its last line to its first.
func (c *conversation) holds(whole bool) map[mail.ID]bool {
	var way []utterance
	answered := whole
	for at := c.last; ; {
		u, ok := c.lines[at]
		if !ok {
			break
		}
		delete(c.lines, at) // visit no line twice, whatever the file says
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

// heldIn returns the messages that a JSON text contains whole.
func heldIn(text []byte) map[mail.ID]bool {
	held := make(map[mail.ID]bool)
	for _, id := range toldIn(text) {
		held[id] = true
	}
	return held
}

// recallClaude reads a line of Claude Code's transcript. Hook output is a line of its own: an attachment of type
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

// A script describes, by line types, the transcript of a client that takes nothing back.
type script struct {
	has      string   // a member that every conversation line has
	told     []string // the types that contain hook output
	fleeting string   // the one of them that a resumed session lacks
	sums     string   // the type or subtype that summarises the conversation and drops the lines before it
}

// recall reads a line of the transcript.
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

// recallCodex reads a line of Codex's transcript. Codex takes a turn back only on its person's request. Then, as
// after a compaction, all earlier lines count as gone. Hook output is a message of its own.
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

// decode decodes a line that contains a member.
func decode(line []byte, member string, into any) bool {
	return bytes.Contains(line, []byte(member)) && jsonx.UnmarshalLenient(line, into) == nil
}

// tagOf finds the fence's tags in a line of JSON; some clients escape the brackets. The fence keeps them out of other
// text.
var tagOf = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:<|&lt;|\\u003c)(/?)mail-[a-z0-9]+`)
})

// wholeOf finds, between an opening tag and the next tag, the id of a message that is there whole: its text begins on
// its own line.
var wholeOf = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?: [a-z]+=\\"[^"]*")* id=\\"(msg_[A-Za-z0-9_-]+)\\".*?(?:>|&gt;|\\u003e)\\n`)
})

// toldIn returns the messages that a line of JSON contains whole, in the form that hooks tell them.
func toldIn(line []byte) (ids []mail.ID) {
	tags := tagOf().FindAllSubmatchIndex(line, -1)
	for i, at := range tags {
		if at[2] != at[3] {
			continue // a closing tag
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
