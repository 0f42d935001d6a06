package hook

import (
	"bufio"
	"bytes"
	"io"
	"regexp"
	"slices"
	"sync"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// The transcript of Claude Code 2.1.330 has a JSON object in each line. Those with a uuid are the conversation: each
// names the one before it in parentUuid, so that what was taken back hangs on a branch that nothing goes on from. The
// last line with a uuid is where the conversation stands. What a hook told the model is a line of its own, an
// attachment of the type hook_additional_context.

// maxConversation is how much of a transcript is read, from its end, in bytes. Mail told before that is told again.
const maxConversation = 16 << 20

// Holds returns which messages a client still has in a conversation of which it keeps a transcript: they are in its
// next request. At the start of a session the whole transcript goes on; later, a prompt to which there was no answer
// may have been taken back, and what hangs on it does not count. Of a client that does not tell, none are known.
func Holds(client, transcript string, starts bool) map[mail.ID]bool {
	if client != "claude" || transcript == "" {
		return nil
	}
	f, err := openTranscript(transcript, maxConversation)
	if err != nil {
		return nil
	}
	defer f.Close()
	c := readConversation(f)
	return c.holds(starts)
}

// conversation is what matters of a transcript of Claude Code.
type conversation struct {
	lines map[string]utterance
	last  string // the uuid of the last line
}

type utterance struct {
	parent string
	prompt bool // somebody typed it
	answer bool // it shows that the prompt before it stays: the model's, a tool's result, or that it was broken off
	told   []mail.ID
}

// toldID is how a message is named in what a hook tells, as JSON has it.
var toldID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(` id=\\"(msg_[A-Za-z0-9_-]+)\\"`)
})

func readConversation(r io.Reader) conversation {
	c := conversation{lines: make(map[string]utterance)}
	for lines := bufio.NewReaderSize(r, 64<<10); ; {
		line, err := lines.ReadBytes('\n')
		c.add(line)
		if err != nil {
			return c
		}
	}
}

// add takes in a line. What is no line of the conversation, or only a part of one, is let go.
func (c *conversation) add(line []byte) {
	var l struct {
		UUID       string      `json:"uuid"`
		Parent     string      `json:"parentUuid"`
		Type       string      `json:"type"`
		Sidechain  bool        `json:"isSidechain"`
		Source     string      `json:"promptSource"`
		Attachment jsonx.Value `json:"attachment"`
	}
	if !bytes.Contains(line, []byte(`"uuid"`)) || jsonx.UnmarshalLenient(line, &l) != nil || l.UUID == "" ||
		l.Sidechain {
		return
	}
	u := utterance{parent: l.Parent, prompt: l.Type == "user" && l.Source != "",
		answer: l.Type == "assistant" || l.Type == "user" && l.Source == ""}
	var a struct {
		Type string `json:"type"`
	}
	if jsonx.UnmarshalLenient(l.Attachment, &a) == nil && a.Type == "hook_additional_context" {
		for _, m := range toldID().FindAllSubmatch(l.Attachment, -1) {
			u.told = append(u.told, mail.ID(m[1]))
		}
	}
	c.lines[l.UUID], c.last = u, l.UUID
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
	for _, u := range slices.Backward(way) {
		for _, id := range u.told {
			held[id] = true
		}
	}
	return held
}
