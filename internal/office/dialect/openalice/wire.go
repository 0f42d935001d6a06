package openalice

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// entry is a line of entries.jsonl. The fields have the document's order; empty ones are omitted.
type entry struct {
	ID             string     `json:"id"`
	TS             int64      `json:"ts"` // milliseconds
	WorkspaceID    string     `json:"workspaceId"`
	WorkspaceLabel string     `json:"workspaceLabel"`
	Docs           []mail.Doc `json:"docs,omitempty"` // with revision, a later addition of the original
	Comments       string     `json:"comments,omitempty"`

	// Body replaces docs and comments in the original since 0.92.1. It is read but never written.
	Body string `json:"body,omitempty"`
	// more are the members that mail has no field for: origin and future ones.
	more []jsonx.Member
}

func known(name string) bool {
	switch name {
	case "id", "ts", "workspaceId", "workspaceLabel", "docs", "comments", "body":
		return true
	}
	return false
}

// parse parses a line.
func parse(line []byte) (entry, error) {
	line = jsonx.Mended(line)
	var e entry
	if err := jsonx.UnmarshalLenient(line, &e); err != nil {
		return e, err
	}
	all, err := jsonx.Members(line)
	e.more = slices.DeleteFunc(all, func(m jsonx.Member) bool { return known(m.Name) })
	return e, err
}

// encode returns e as JSON.stringify would, without a newline, followed by more members.
func (e *entry) encode(more ...jsonx.Member) ([]byte, error) {
	out, err := jsonx.Marshal(e)
	if err != nil {
		return nil, err
	}
	return join(out, slices.Concat(e.more, more)), nil
}

// join returns object, which is not empty, with more members at its end.
func join(object []byte, more []jsonx.Member) []byte {
	for _, m := range more {
		value := m.Value.Clone()
		_ = value.Compact() // on one line; it cannot fail, because the value was read from JSON
		object = jsonx.AppendQuote(append(object[:len(object)-1], ','), m.Name)
		object = append(append(append(object, ':'), value...), '}')
	}
	return object
}

// Members of an entry that asks. They are ours: OpenAlice keeps them like all unknown members and shows the entry
// like any other.
const (
	needsMember   = "needs"
	decision      = "decision" // its only value: the person must decide
	optionsMember = "options"  // offered answers, as mail.Metadata has them
)

// kind returns the message type of an entry: a question if it needs a decision.
func (e *entry) kind() mail.Type {
	if i := slices.IndexFunc(e.more, named(needsMember)); i >= 0 && string(e.more[i].Value) == `"`+decision+`"` {
		return mail.Question
	}
	return mail.Custom
}

// asking returns the members of an entry that asks. options are offered answers, as a JSON list, or empty.
func asking(options jsonx.Value) []jsonx.Member {
	more := []jsonx.Member{{Name: needsMember, Value: jsonx.Value(`"` + decision + `"`)}}
	if len(options) > 0 {
		more = append(more, jsonx.Member{Name: optionsMember, Value: options})
	}
	return more
}

// annotated is the metadata of a message: for an entry its label and the members that mail has no field for, for a
// notification its tool; and for an entry that asks its offered answers, in the member that every question uses.
type annotated struct {
	Openalice jsonx.Value `json:"openalice"`
	Options   jsonx.Value `json:"options,omitempty"`
}

// notification is the metadata of notify_user's messages.
const notification = `{"openalice":"notify_user"}`

func isNotification(m mail.Metadata) bool { return m.Text("openalice") == "notify_user" }

// labelled is an entry's annotation.
type labelled struct {
	WorkspaceLabel string `json:"workspaceLabel"`
}

// labelIn returns the label in a message's metadata, or "".
func labelIn(m mail.Metadata) string {
	var of struct {
		Openalice labelled `json:"openalice"`
	}
	if len(m) == 0 || jsonx.Unmarshal(m, &of) != nil {
		return ""
	}
	return of.Openalice.WorkspaceLabel
}

// moreIn returns the entry members kept in a message's metadata.
func moreIn(m mail.Metadata) []jsonx.Member {
	var of annotated
	if len(m) == 0 || jsonx.Unmarshal(m, &of) != nil {
		return nil
	}
	all, _ := jsonx.Members(of.Openalice)
	return slices.DeleteFunc(all, func(m jsonx.Member) bool { return known(m.Name) })
}

// optionsIn returns the answers that a question offers, in their original encoding.
func optionsIn(m mail.Metadata) jsonx.Value {
	var of annotated
	if len(m.Options()) == 0 || jsonx.UnmarshalLenient(m, &of) != nil {
		return nil
	}
	return of.Options
}

// metadata returns the metadata of an entry: its label and, if it all fits, more.
func metadata(label string, more []jsonx.Member) mail.Metadata {
	inner, _ := jsonx.Marshal(labelled{label})
	all := annotated{Openalice: join(slices.Clone(inner), more)}
	if i := slices.IndexFunc(more, named(optionsMember)); i >= 0 && (&entry{more: more}).kind() == mail.Question {
		all.Options = more[i].Value
	}
	out, _ := jsonx.Marshal(all)
	if len(out) > mail.MaxKept {
		out, _ = jsonx.Marshal(annotated{Openalice: inner})
	}
	return out
}

// Limits for mail from another system.
const (
	maxImport = 1 << 20             // bytes of a body
	latest    = 253_402_300_799_999 // milliseconds: the end of the year 9999
)

// item returns e as a message, or an error that says why it cannot be one.
func (e *entry) item() (mail.Item, error) {
	var it mail.Item
	id, err := mail.ParseID(e.ID)
	if err != nil {
		return it, err
	}
	workspace, err := mail.ParseName(norm.NFC.String(e.WorkspaceID))
	if err != nil {
		return it, err
	}
	body := e.Comments
	if body == "" {
		body = e.Body
	}
	switch {
	case e.TS <= 0 || e.TS > latest:
		return it, mail.Errorf(mail.Invalid, "%d is not a valid time", e.TS)
	case len(body) > maxImport:
		return it, mail.Errorf(mail.TooLarge, "the comments are %d bytes long", len(body))
	}
	label := e.WorkspaceLabel
	if label == "" {
		label = e.WorkspaceID
	}
	it.Message = mail.Message{
		ID: id, Type: e.kind(), From: mail.AgentAddress(workspace), To: []mail.Address{mail.ToUser},
		Body: dialect.Clean(body), Docs: possible(e.Docs),
		Metadata: metadata(dialect.Subject(label), e.more), Sent: mail.Time(e.TS),
	}
	return it, nil
}

// possible returns the documents that a message can name. The line keeps the others.
func possible(docs []mail.Doc) []mail.Doc {
	var out []mail.Doc
	for _, d := range docs {
		if d.Path != "" && len(d.Path) <= mail.MaxPath && !strings.ContainsRune(dialect.Clean(d.Path), '\uFFFD') &&
			len(out) < mail.MaxDocs {
			out = append(out, d)
		}
	}
	return out
}

// entryOf returns a message as an entry, with the label that labelOf found.
func entryOf(m *mail.Message, label string) entry {
	e := entry{
		ID: string(m.ID), TS: int64(m.Sent), WorkspaceID: string(m.From.Signer()), WorkspaceLabel: label,
		Docs: m.Docs, Comments: m.Body, more: moreIn(m.Metadata),
	}
	if m.Type == mail.Question && e.kind() != mail.Question { // sent with other tools
		e.more = append(e.more, asking(optionsIn(m.Metadata))...)
	}
	if labelIn(m.Metadata) == "" && m.Subject != "" { // sent with other tools: an entry has no subject
		e.Comments = strings.TrimSuffix("**"+m.Subject+"**\n\n"+m.Body, "\n\n")
	}
	return e
}
