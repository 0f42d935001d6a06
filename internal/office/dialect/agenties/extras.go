package agenties

import (
	"bytes"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// extras is what either side says and the other has no place for. It travels as the last member of the metadata, which
// both keep: as "agenties" in the room, as "pennypost" in the document's shape. On the way back it is taken out again.
type extras struct {
	Agenties  *known  `json:"agenties,omitempty"`
	Pennypost *beyond `json:"pennypost,omitempty"`
}

// known is what the document has a key for and a room has not.
type known struct {
	AgentID string `json:"agentId"`
}

// beyond is what a room's message says and the document has no key for.
type beyond struct {
	Priority mail.Priority `json:"priority,omitempty"`
	Thread   mail.ID       `json:"thread,omitempty"`
	ReplyTo  mail.ID       `json:"replyTo,omitempty"`
	Docs     []mail.Doc    `json:"docs,omitempty"`
}

// unfold returns the metadata of a foreign message without what it says of m beyond the document, which m gets.
func unfold(meta mail.Metadata, m *mail.Message) mail.Metadata {
	a, rest := takeLast(meta)
	if a.Pennypost == nil || a.Agenties != nil {
		return meta
	}
	b := a.Pennypost
	m.Priority, m.Thread, m.ReplyTo, m.Docs = b.Priority, b.Thread, b.ReplyTo, b.Docs
	return rest
}

// fold returns the metadata of a foreign message for m, and its agentId.
func fold(m *mail.Message) (meta mail.Metadata, agentID string) {
	meta = m.Metadata
	if a, rest := takeLast(meta); a.Agenties != nil && a.Pennypost == nil {
		meta, agentID = rest, a.Agenties.AgentID
	}
	b := beyond{Priority: m.Priority, Thread: m.Thread, ReplyTo: m.ReplyTo, Docs: m.Docs}
	if b.Priority != "" || b.Thread != "" || b.ReplyTo != "" || b.Docs != nil {
		meta = withLast(meta, extras{Pennypost: &b})
	}
	return meta, agentID
}

// withLast returns meta with one more member behind the others. Metadata that has such a member keeps its own.
func withLast(meta mail.Metadata, a extras) mail.Metadata {
	last, err := jsonx.Marshal(a)
	if err != nil {
		return meta
	}
	head := bytes.TrimSuffix(bytes.TrimSpace(meta), []byte("}"))
	if len(bytes.TrimSpace(head)) <= 1 { // none, or {}
		return last
	}
	joined := append(append(bytes.Clone(bytes.TrimSpace(head)), ','), last[1:]...)
	if !jsonx.Value(joined).IsValid() {
		return meta
	}
	return joined
}

// takeLast returns what withLast added, and the metadata without it. Only what stands there exactly as withLast wrote
// it counts: whatever else somebody says under these names is theirs.
func takeLast(meta mail.Metadata) (extras, mail.Metadata) {
	var a extras
	if !bytes.Contains(meta, []byte(`"agenties"`)) && !bytes.Contains(meta, []byte(`"pennypost"`)) ||
		jsonx.Unmarshal(meta, &a) != nil {
		return extras{}, meta
	}
	last, err := jsonx.Marshal(a)
	if err != nil {
		return extras{}, meta
	}
	if bytes.Equal(meta, last) {
		return a, nil
	}
	head, ok := bytes.CutSuffix(meta, append([]byte{','}, last[1:]...))
	if !ok {
		return extras{}, meta
	}
	return a, append(bytes.Clone(head), '}')
}
