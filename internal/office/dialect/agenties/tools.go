package agenties

import (
	"context"
	"slices"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// tools are the document's three, with exactly its parameters.
func tools() []dialect.Tool {
	return []dialect.Tool{
		{
			Name: "read_messages", Title: "Read messages", ReadOnly: true, Idempotent: true,
			Description: "Read the mailbox, oldest first: by default what you have not read, at most 50. Reading " +
				"marks nothing: mark handled messages with mark_read. hasMore means that there are more: mark the " +
				"handled ones and read again, or give since. An answer holds 20 KB: bodies of several messages may " +
				"be cut, and say so. A single message is complete (limit 1).",
			Input: readSchema, Letters: true, Run: dialect.With(readMessages),
		},
		{
			Name: "send_message", Title: "Send a message",
			Description: "Send a message to an agent, the orchestrator, a role (one of its members gets it) or all " +
				"that are running. The connection tells who the sender is. Only the orchestrator writes to the " +
				"user.",
			Input: sendSchema, Run: func(ctx context.Context, c *dialect.Call) (any, error) {
				c.Args = jsonx.Mended(c.Args)
				return dialect.With(sendMessage)(ctx, c)
			},
		},
		{
			Name: "mark_read", Title: "Mark as read", Idempotent: true,
			Description: "Mark messages as read: either those in messageIds or, with all, every message to you.",
			Input:       markSchema, Run: dialect.With(markRead),
		},
	}
}

const readSchema = `{"type":"object","additionalProperties":false,"properties":{
"to":{"type":"string","description":"Only messages to this recipient, e.g. \"broadcast\" or \"role:builder\". ` +
	`Default: everything for you. Looking at the mail of others does not change what they have read"},
"since":{"type":"string","description":"ISO 8601 time: only messages after it"},
"unreadOnly":{"type":"boolean","default":true,"description":"Only what you have not read. Default: true"},
"limit":{"type":"integer","minimum":1,"default":50,"description":"At most this many. Default: 50"}}}`

const sendSchema = `{"type":"object","additionalProperties":false,"required":["type","to","body"],"properties":{
"type":{"type":"string","enum":["task-assigned","task-done","review-request","review-result","question","answer",` +
	`"cancel","status","custom"],"description":"The kind. A review-result needs metadata.verdict: approved, ` +
	`changes-requested or blocked"},
"to":{"type":"string","description":"agent:<agentId>, orchestrator, role:<role>, broadcast, or (from the ` +
	`orchestrator) user"},
"subject":{"type":"string","description":"One line on its topic"},
"body":{"type":"string","description":"The message, in Markdown"},
"metadata":{"type":"object","description":"Further data"},
"issueId":{"type":"string","description":"The issue it belongs to"}}}`

const markSchema = `{"type":"object","additionalProperties":false,"properties":{
"messageIds":{"type":"array","items":{"type":"string"},"description":"Ids of the messages"},
"all":{"type":"boolean","description":"Every message to you"}}}`

type sendParams struct {
	Type     string        `json:"type"`
	To       string        `json:"to"`
	Subject  string        `json:"subject"`
	Body     string        `json:"body"`
	Metadata mail.Metadata `json:"metadata"`
	IssueID  string        `json:"issueId"`
}

// sent is the answer of send_message.
type sent struct {
	ID         mail.ID     `json:"id"`
	To         string      `json:"to"`
	Recipients []recipient `json:"recipients"`
	// Others counts unlisted recipients by state.
	Others map[mail.DeliveryState]int `json:"others,omitempty"`
}

// recipient is a recipient of a message. Mail to a role without a holder is held and has no agent yet.
type recipient struct {
	AgentID mail.Name          `json:"agentId,omitempty"`
	State   mail.DeliveryState `json:"state"`
	Wake    string             `json:"wake"`
	PutOff  mail.Time          `json:"putOff,omitzero"` // when a deferred wake is due
}

func sendMessage(ctx context.Context, c *dialect.Call, p sendParams) (out sent, err error) {
	if p.Type == "" {
		return out, mail.Errorf(mail.Invalid,
			"the type is missing: nothing was sent. Give one, custom if no other fits")
	}
	t, err := mail.ParseType(p.Type)
	if err != nil {
		return out, err
	}
	to, err := target(ctx, c, p.To)
	if err != nil {
		return out, err
	}
	from, err := sender(ctx, c)
	if err == nil {
		err = checkDirection(t, from, to)
	}
	if err != nil {
		return out, err
	}
	d := mail.Draft{To: mail.Recipients{string(to)}, Type: p.Type, Subject: dialect.Subject(p.Subject),
		Body: dialect.Clean(p.Body), Metadata: p.Metadata, Issue: dialect.Clean(p.IssueID), Again: true}
	if to == mail.ToAll {
		d.Audience, d.TTLSeconds = mail.AudienceTeam, broadcastTTL
	}
	done, err := c.Service.Send(mail.Unkept(ctx), d)
	if err != nil {
		return out, err
	}
	if t == mail.Status && from == anAgent {
		showStatus(ctx, c, p)
	}
	all := done.Recipients
	out, _, err = fence.FitJSON(min(len(all), maxListed), func(k int) sent {
		out := sent{ID: done.ID, To: p.To, Recipients: []recipient{}, Others: mail.CountStates(all[k:])}
		for _, r := range all[:k] {
			out.Recipients = append(out.Recipients, recipient{r.Agent, r.State, r.Wake, r.PutOff})
		}
		return out
	})
	return out, err
}

// maxListed is how many recipients or ids an answer lists; the rest are counted.
const maxListed = 20

// target parses the address of a message: exactly one of the document's five forms. A room accepts several separated
// by commas, unless an agent has such a name.
func target(ctx context.Context, c *dialect.Call, s string) (mail.Address, error) {
	a, bare, err := mail.ParseAddress(strings.TrimSpace(s), nil)
	one := !strings.Contains(s, ",")
	if !one && a.Kind() == mail.ToAgent {
		if _, one, err = mail.OneAgent(ctx, c.Service, mail.Name(a.Value())); err != nil {
			return "", err
		}
	}
	switch {
	case !one:
		return "", mail.Errorf(mail.Invalid,
			"%q is not one routing address: nothing was sent. Send a message to each "+
				"recipient, or one to broadcast", s)
	case err != nil:
		return "", err
	case bare:
		return "", mail.Errorf(mail.Invalid, "%q is not a routing address: nothing was sent. To an agent write %q; "+
			"otherwise orchestrator, role:<role>, broadcast or user", s, "agent:"+s)
	}
	return a, nil
}

// sender returns the caller's kind.
func sender(ctx context.Context, c *dialect.Call) (party, error) {
	if c.Caller == mail.User {
		return theUser, nil
	}
	lead, err := findLeaders(ctx, c.Service)
	if c.Caller == mail.Orchestrator || slices.Contains(lead, c.Caller) {
		return theOrchestrator, err
	}
	return anAgent, err
}

// showStatus shows a status on the roster, the document's agent panel. The message is sent even if this fails.
func showStatus(ctx context.Context, c *dialect.Call, p sendParams) {
	line := p.Subject
	if line == "" {
		line, _, _ = strings.Cut(strings.TrimSpace(p.Body), "\n")
	}
	line = wording.Clip(plain(line), maxStatus)
	if _, err := c.Service.Register(ctx, mail.Presence{Task: &line, Update: true}); err != nil {
		c.Log.Warn("status not recorded in the roster", "agent", c.Caller, "err", err)
	}
}

// maxStatus is how much of a status, in bytes, the roster shows.
const maxStatus = 200

type markParams struct {
	MessageIDs []mail.ID `json:"messageIds"`
	All        bool      `json:"all"`
}

// marked is the answer of mark_read (A14).
type marked struct {
	Marked      int       `json:"marked"`
	AlreadyRead []mail.ID `json:"alreadyRead"`
	NotFound    []mail.ID `json:"notFound"`
	NotYours    []mail.ID `json:"notYours"`
	Unlisted    int       `json:"unlisted,omitzero"` // number of ids missing from the three lists
}

// fit shortens the lists to fit an answer.
func (m marked) fit() (marked, error) {
	first := func(k int, ids []mail.ID) []mail.ID { return ids[:min(k, len(ids))] }
	out, _, err := fence.FitJSON(min(maxListed, max(len(m.AlreadyRead), len(m.NotFound), len(m.NotYours))),
		func(k int) marked {
			out := marked{Marked: m.Marked, AlreadyRead: first(k, m.AlreadyRead), NotFound: first(k, m.NotFound),
				NotYours: first(k, m.NotYours)}
			out.Unlisted = len(m.AlreadyRead) - len(out.AlreadyRead) + len(m.NotFound) - len(out.NotFound) + len(
				m.NotYours) - len(out.NotYours)
			return out
		})
	return out, err
}

func markRead(ctx context.Context, c *dialect.Call, p markParams) (marked, error) {
	if p.All == (len(p.MessageIDs) > 0) {
		return marked{}, mail.Errorf(mail.Invalid, "no messages given: use either messageIds or all. Nothing was "+
			"marked")
	}
	out := marked{AlreadyRead: []mail.ID{}, NotFound: []mail.ID{}, NotYours: []mail.ID{}}
	ids := p.MessageIDs
	if p.All {
		unread, err := mailbox(ctx, c, true)
		if err != nil || len(unread) == 0 {
			return out, err
		}
		for _, it := range unread {
			ids = append(ids, it.ID)
		}
	}
	if err := out.mark(ctx, c.Service, ids); err != nil {
		return out, err
	}
	return out.fit()
}

// mark marks ids and records each result. If the room marks none it returns only an error; then mark asks again for
// each id, to tell unknown messages from those of others.
func (m *marked) mark(ctx context.Context, svc mail.Service, ids []mail.ID) error {
	done, err := svc.Mark(ctx, mail.Marking{IDs: ids, Mark: mail.MarkRead})
	code := mail.CodeOf(err)
	switch {
	case err == nil:
		m.Marked += len(done.Marked)
		m.AlreadyRead = append(m.AlreadyRead, done.Already...)
		m.NotFound = append(m.NotFound, done.NotFound...)
		m.NotYours = append(m.NotYours, done.NotYours...)
	case code != mail.NotFound && code != mail.Denied:
		return err
	case len(ids) > 1:
		for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
			if err := m.mark(ctx, svc, []mail.ID{id}); err != nil {
				return err
			}
		}
	case code == mail.NotFound:
		m.NotFound = append(m.NotFound, ids...)
	default:
		m.NotYours = append(m.NotYours, ids...)
	}
	return nil
}
