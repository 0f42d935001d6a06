package agenties

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
	"pennypost/internal/policy"
)

// message is the document's MailboxMessage: a line of the file, and a message in the tools' answers. The keys have
// the document's order.
type message struct {
	ID        string        `json:"id"`
	Type      string        `json:"type"`
	From      string        `json:"from"`
	To        string        `json:"to"`
	Subject   string        `json:"subject,omitempty"`
	Body      string        `json:"body"`
	Metadata  mail.Metadata `json:"metadata,omitzero"` // {} differs from none
	IssueID   string        `json:"issueId,omitempty"`
	AgentID   string        `json:"agentId,omitempty"`
	Read      bool          `json:"read"`
	CreatedAt string        `json:"createdAt"`
}

// parse parses a line and mends the half of an emoji that JavaScript leaves when it cuts a text. The file keeps it.
func parse(line []byte) (message, error) {
	var m message
	if err := jsonx.UnmarshalLenient(jsonx.Mended(line), &m); err != nil {
		return m, mail.Errorf(mail.Invalid, "%s", jsonx.Explain(err))
	}
	return m, nil
}

// encode prints a line without the newline.
func (m *message) encode() ([]byte, error) { return jsonx.Marshal(m) }

// item returns a message as mail of the room, or an error that says why it cannot be.
func (m *message) item() (mail.Item, error) {
	it := mail.Item{Read: m.Read}
	var err error
	if it.ID, err = mail.ParseID(m.ID); err != nil {
		return it, err
	}
	if it.Type, err = parseType(m); err != nil {
		return it, err
	}
	if it.Sent, err = mail.ParseTime(m.CreatedAt); err != nil {
		return it, err
	}
	if it.From, err = parseSender(m.From); err != nil {
		return it, err
	}
	if it.To, err = parseRecipients(m.To); err != nil {
		return it, err
	}
	it.Subject, it.Body, it.Issue = dialect.Subject(m.Subject), dialect.Clean(m.Body), dialect.Clean(m.IssueID)
	if strings.TrimSpace(it.Body) == "" {
		it.Body = "" // from elsewhere a room takes an empty body, but not white space
	}
	if m.Metadata != nil && !jsonx.Value(m.Metadata).IsValid() {
		return it, mail.Errorf(mail.Invalid, "the metadata has a duplicate member")
	}
	it.Metadata = unfold(m.Metadata, &it.Message)
	if m.AgentID != "" {
		it.Metadata = withLast(it.Metadata, extras{Agenties: &known{AgentID: m.AgentID}})
	}
	if slices.Contains(it.To, mail.ToAll) {
		it.Audience, it.TTLSeconds = mail.AudienceTeam, broadcastTTL
	}
	return it, nil
}

// broadcastTTL is the time to live of a broadcast, in seconds: as long as the file keeps it, because the document
// has no expiry. Other mail does not expire sooner anyway.
const broadcastTTL = int64(policy.DefaultAge / time.Second)

// parseType parses a type, which is required.
func parseType(m *message) (mail.Type, error) {
	if m.Type == "" {
		return "", mail.Errorf(mail.Invalid, "the type is missing")
	}
	return mail.ParseType(m.Type)
}

// leaders are the names of the agents with the orchestrator's role.
type leaders []mail.Name

// findLeaders looks up the agents with the orchestrator's role.
func findLeaders(ctx context.Context, svc mail.Service) (leaders, error) {
	list, err := svc.Agents(ctx, mail.RosterQuery{Role: string(mail.Orchestrator)})
	out := leaders{}
	for i := range list.Agents {
		out = append(out, list.Agents[i].Name)
	}
	return out, err
}

// first returns the agent meant by "orchestrator" where one name is needed: the agent of that name if it has the
// role or no agent has it.
func (l leaders) first() mail.Name {
	if len(l) == 0 || slices.Contains(l, mail.Orchestrator) {
		return mail.Orchestrator
	}
	return l[0]
}

// fromItem returns a message of the room as a foreign message. read is its flag, which depends on the reader.
// Messages from an agent in lead are from "orchestrator".
func fromItem(it *mail.Message, read bool, lead leaders) message {
	m := message{
		ID: string(it.ID), Type: string(it.Type), From: spellSender(it.From, lead), To: spellAll(it.To),
		Subject: it.Subject,
		Body:    it.Body,
		IssueID: it.Issue, Read: read, CreatedAt: spellTime(it.Sent),
	}
	m.Metadata, m.AgentID = fold(it)
	if m.AgentID == "" && it.Via == "" { // a message from a file keeps the file's value
		m.AgentID = relatesTo(m.From, it.To)
	}
	return m
}

// relatesTo returns the document's agentId, "the spawned agent this relates to": the sender, or else the only
// recipient, if that is an agent. from is in the document's form.
func relatesTo(from string, to []mail.Address) string {
	a := mail.Address(from)
	if a.Kind() != mail.ToAgent && len(to) == 1 {
		a = to[0]
	}
	if a.Kind() != mail.ToAgent || a.Value() == string(mail.System) ||
		mail.Address(a.Value()).Kind() == mail.FromFar {
		return ""
	}
	return a.Value()
}

// spellTime prints a time as in the document's example, with milliseconds only if they are not zero.
func spellTime(t mail.Time) string {
	text, _ := t.MarshalText()
	return strings.Replace(string(text), ".000Z", "Z", 1)
}

// everybodyRead reports whether every recipient has read a message, for a read flag that applies to all (A2).
func everybodyRead(it *mail.Item) bool {
	for _, d := range it.Deliveries {
		if d.State != mail.Read && d.State != mail.Archived {
			return false
		}
	}
	return len(it.Deliveries) > 0 || it.Read
}

// parseSender parses the document's three forms of a sender. Other senders are signed as agents with names that no
// agent can have: Pennypost's own notices as agent:system, agents of other rooms as agent:far:NAME@ROOM.
func parseSender(s string) (mail.Address, error) {
	if s == "agent:"+string(mail.System) {
		return mail.FromSystem, nil
	}
	if far := mail.Address(norm.NFC.String(strings.TrimPrefix(s, "agent:"))); far.Kind() == mail.FromFar {
		s = string(far)
	}
	a, bare, err := mail.ParseAddress(norm.NFC.String(s), nil)
	if err != nil {
		return "", err
	}
	switch k := a.Kind(); {
	case k == mail.FromFar:
		return a, nil
	case bare || k != mail.ToAgent && k != mail.ToPerson && a != mail.ToOrchestrator:
		return "", mail.Errorf(mail.Invalid, "%q is not a sender: write agent:<id>, orchestrator or user", s)
	}
	return mail.AgentAddress(a.Signer()), nil
}

func spellSender(a mail.Address, lead leaders) string {
	switch {
	case a == mail.FromSystem, a.Kind() == mail.FromFar:
		return "agent:" + string(a)
	case a.Kind() == mail.ToAgent && slices.Contains(lead, a.Signer()):
		return string(mail.ToOrchestrator)
	}
	return string(a)
}

// parseRecipients parses a routing address. The document knows only single ones; a union from another door is
// written with commas, and tags as they are.
func parseRecipients(s string) ([]mail.Address, error) {
	s = norm.NFC.String(s)
	var all []mail.Address
	for part := range strings.SplitSeq(s, ",") {
		a, bare, err := mail.ParseAddress(part, mail.TagNamespaces())
		if err != nil || bare {
			all = nil
			break
		}
		all = append(all, a)
	}
	if all != nil {
		return all, nil
	}
	a, bare, err := mail.ParseAddress(s, mail.TagNamespaces()) // an id may contain a comma
	if err == nil && bare {
		err = mail.Errorf(mail.Invalid, "%q is not a routing address: %s", s, forms)
	}
	return []mail.Address{a}, err
}

// forms are the document's routing addresses.
const forms = "write agent:<agentId>, orchestrator, role:<role>, broadcast or user"

func spell(a mail.Address) string {
	if a == mail.ToAll {
		return "broadcast"
	}
	return string(a)
}

func spellAll(to []mail.Address) string {
	return wording.Join(to, ",", spell)
}
