package agenties

import (
	"bytes"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// extras holds data that one side has and the other has no field for. It is the last member of the metadata, which
// both sides keep: "agenties" in the room, "pennypost" in the document's format. It is removed on the way back.
type extras struct {
	Agenties  *known  `json:"agenties,omitempty"`
	Pennypost *beyond `json:"pennypost,omitempty"`
}

// known holds the fields that the document has and a room lacks.
type known struct {
	AgentID string `json:"agentId"`
}

// beyond holds the fields that a room's message has and the document lacks.
type beyond struct {
	Priority mail.Priority `json:"priority,omitempty"`
	Thread   mail.ID       `json:"thread,omitempty"`
	ReplyTo  mail.ID       `json:"replyTo,omitempty"`
	Docs     []mail.Doc    `json:"docs,omitempty"`
}

// unfold moves the fields beyond the document from a foreign message's metadata to m, and returns the rest.
func unfold(meta mail.Metadata, m *mail.Message) mail.Metadata {
	a, rest := takeLast(meta)
	if a.Pennypost == nil || a.Agenties != nil {
		return meta
	}
	b := a.Pennypost
	m.Priority, m.Thread, m.ReplyTo, m.Docs = b.Priority, b.Thread, b.ReplyTo, b.Docs
	return rest
}

// fold returns the metadata and the agentId of m as a foreign message.
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

// withLast returns meta with one more member at its end. Metadata that already has the member stays as it is.
func withLast(meta mail.Metadata, a extras) mail.Metadata {
	last, err := jsonx.Marshal(a)
	if err != nil {
		return meta
	}
	head := bytes.TrimSuffix(bytes.TrimSpace(meta), []byte("}"))
	if len(bytes.TrimSpace(head)) <= 1 { // empty, or {}
		return last
	}
	joined := append(append(bytes.Clone(bytes.TrimSpace(head)), ','), last[1:]...)
	if !jsonx.Value(joined).IsValid() {
		return meta
	}
	return joined
}

// takeLast returns the member that withLast added, and the metadata without it. It counts only in withLast's exact
// form: anything else under these names belongs to the writer.
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
