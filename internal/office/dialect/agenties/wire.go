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

// message is the document's MailboxMessage: a line of the file, and what the tools show. Keys stand in the document's
// order.
type message struct {
	ID        string        `json:"id"`
	Type      string        `json:"type"`
	From      string        `json:"from"`
	To        string        `json:"to"`
	Subject   string        `json:"subject,omitempty"`
	Body      string        `json:"body"`
	Metadata  mail.Metadata `json:"metadata,omitzero"` // {} is not the same as none
	IssueID   string        `json:"issueId,omitempty"`
	AgentID   string        `json:"agentId,omitempty"`
	Read      bool          `json:"read"`
	CreatedAt string        `json:"createdAt"`
}

// parse reads a line, in which what JavaScript leaves when it cuts a text in an emoji is mended. The file keeps it.
func parse(line []byte) (message, error) {
	var m message
	if err := jsonx.UnmarshalLenient(jsonx.Mended(line), &m); err != nil {
		return m, mail.Errorf(mail.Invalid, "%s", jsonx.Explain(err))
	}
	return m, nil
}

// encode writes a line, without its end.
func (m *message) encode() ([]byte, error) { return jsonx.Marshal(m) }

// item translates a message into the room's words. An error says why it cannot be.
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
		it.Body = "" // which a room takes from elsewhere, and white space not
	}
	if m.Metadata != nil && !jsonx.Value(m.Metadata).IsValid() {
		return it, mail.Errorf(mail.Invalid, "the metadata has a member twice")
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

// broadcastTTL is how long a broadcast waits, in seconds: as long as the file keeps it, for the document knows no
// expiry. Other mail does not expire sooner anyway.
const broadcastTTL = int64(policy.DefaultAge / time.Second)

// parseType reads a type, which must be there.
func parseType(m *message) (mail.Type, error) {
	if m.Type == "" {
		return "", mail.Errorf(mail.Invalid, "the type is missing")
	}
	return mail.ParseType(m.Type)
}

// leaders are the agents who have the orchestrator's role, by name.
type leaders []mail.Name

// findLeaders asks who has the orchestrator's role.
func findLeaders(ctx context.Context, svc mail.Service) (leaders, error) {
	list, err := svc.Agents(ctx, mail.RosterQuery{Role: string(mail.Orchestrator)})
	out := leaders{}
	for i := range list.Agents {
		out = append(out, list.Agents[i].Name)
	}
	return out, err
}

// first returns who is meant by "orchestrator" where one name is wanted: the agent of that name if it has the role, or
// if nobody has.
func (l leaders) first() mail.Name {
	if len(l) == 0 || slices.Contains(l, mail.Orchestrator) {
		return mail.Orchestrator
	}
	return l[0]
}

// fromItem translates a message of the room. read says whether it counts as read: by whom depends on who asks. What
// one of lead sent is from "orchestrator", whatever its name.
func fromItem(it *mail.Message, read bool, lead leaders) message {
	m := message{
		ID: string(it.ID), Type: string(it.Type), From: spellSender(it.From, lead), To: spellAll(it.To),
		Subject: it.Subject,
		Body:    it.Body,
		IssueID: it.Issue, Read: read, CreatedAt: spellTime(it.Sent),
	}
	m.Metadata, m.AgentID = fold(it)
	if m.AgentID == "" && it.Via == "" { // what a file says stays as it is there
		m.AgentID = relatesTo(m.From, it.To)
	}
	return m
}

// relatesTo returns the agent of the document's agentId, "the spawned agent this relates to": who sent the message, or
// else the one agent that it is for. from is spelled as the document does.
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

// spellTime writes a time as the document's example does, with milliseconds only where there are any.
func spellTime(t mail.Time) string {
	text, _ := t.MarshalText()
	return strings.Replace(string(text), ".000Z", "Z", 1)
}

// everybodyRead reports whether a message counts as read where a single word has to do for all whom it is for: all of
// them have read it (A2).
func everybodyRead(it *mail.Item) bool {
	for _, d := range it.Deliveries {
		if d.State != mail.Read && d.State != mail.Archived {
			return false
		}
	}
	return len(it.Deliveries) > 0 || it.Read
}

// parseSender reads the document's three forms of a sender. What the document does not know is signed as an agent of
// a name that none can bear: Pennypost's own notices as agent:system, agents of other rooms as agent:far:NAME@ROOM.
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

// parseRecipients reads a routing address. The document knows single ones only; a union, which other doors can send
// to, is written with commas between, and tags as they are.
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
