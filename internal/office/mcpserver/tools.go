package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/fence"
	"pennypost/internal/mail"
)

func (n *Native) addTools() {
	all := n.served()
	for _, t := range tools() {
		n.Server.add(&mcp.Tool{
			Name: t.name, Description: t.description, Annotations: &t.hints,
			InputSchema: json.RawMessage(t.input),
		}, all[t.name])
	}
}

// served returns the tools as they are run.
func (n *Native) served() map[string]served {
	all := make(map[string]served)
	for _, t := range tools() {
		all[t.name] = served{n.running(&t), t.waits}
	}
	return all
}

// running returns what runs a tool.
func (n *Native) running(t *tool) toolFunc {
	return func(ctx context.Context, c *toolCall) toolAnswer {
		at, err := n.of(ctx, c.Meta)
		if err != nil {
			return n.box.answer(t.name, "", err)
		}
		text, err := t.call(at, ctx, c)
		return at.box.answer(t.name, text, err)
	}
}

// decode reads a tool's arguments: unknown and repeated members are errors.
func decode(c *toolCall, into any) error {
	if len(c.Arguments) == 0 {
		return nil
	}
	if err := jsonx.UnmarshalStrict(c.Arguments, into); err != nil {
		return mail.Errorf(mail.Invalid, "the arguments of %s do not fit: %s", c.Name, jsonx.Explain(err))
	}
	return nil
}

type sendParams struct {
	To       mail.Recipients `json:"to"`
	Body     string          `json:"body"`
	Type     string          `json:"type"`
	Subject  string          `json:"subject"`
	ReplyTo  mail.ID         `json:"reply_to"`
	Priority string          `json:"priority"`
	Issue    string          `json:"issue_id"`
	Metadata mail.Metadata   `json:"metadata"`
	Docs     []string        `json:"docs"`
	TTLHours float64         `json:"ttl_hours"`
}

func (n *Native) sendMessage(ctx context.Context, c *toolCall) (string, error) {
	var p sendParams
	if err := decode(c, &p); err != nil {
		return "", err
	}
	const century = 100 * 365 * 24
	if p.TTLHours < 0 || p.TTLHours > century {
		return "", mail.Errorf(mail.Invalid, "ttl_hours %v is out of range; leave it out for the default", p.TTLHours)
	}
	d := mail.Draft{
		To: p.To, Body: p.Body, Type: p.Type, Subject: p.Subject, ReplyTo: p.ReplyTo, Priority: p.Priority,
		Issue: p.Issue, Metadata: p.Metadata, TTLSeconds: int64(p.TTLHours * 3600),
	}
	if p.TTLHours > 0 && d.TTLSeconds == 0 {
		d.TTLSeconds = 1
	}
	for _, path := range p.Docs {
		d.Docs = append(d.Docs, mail.Doc{Path: path})
	}
	if c.key != "" {
		d.Key = mail.MadeKey + c.key
	}
	sent, err := n.box.Service.Send(ctx, d)
	if err != nil {
		return "", err
	}
	if c.key != "" {
		sent.Duplicate = false // of nothing but our own first attempt
	}
	all := sent.Recipients
	for i := range all {
		d := &all[i] // this answer has no fence
		d.Agent, d.Address = mail.Name(mail.Slug(string(d.Agent))), mail.Address(mail.Slug(string(d.Address)))
	}
	out, _, err := fence.FitJSON(min(len(all), maxListed), func(k int) any {
		sent.Recipients = all[:k]
		return struct {
			mail.Sent
			Note   string                     `json:"note,omitempty"`
			Others map[mail.DeliveryState]int `json:"others,omitempty"` // recipients that are not listed, by state
		}{sent, sent.Suggestion(), mail.CountStates(all[k:])}
	})
	return jsonAnswer(out, err)
}

// maxListed is how many recipients or ids an answer lists. Of more it says how many they are.
const maxListed = 20

func jsonAnswer(out any, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return fence.JSON(out)
}

type markParams struct {
	IDs  []mail.ID `json:"ids"`
	All  bool      `json:"all"`
	Mark string    `json:"mark"`
}

func (n *Native) markMessages(ctx context.Context, c *toolCall) (string, error) {
	var p markParams
	if err := decode(c, &p); err != nil {
		return "", err
	}
	if p.Mark == "" {
		p.Mark = string(mail.MarkRead)
	}
	mark, err := mail.ParseMark(p.Mark)
	if err != nil {
		return "", err
	}
	done, err := n.box.Service.Mark(ctx, mail.Marking{IDs: p.IDs, All: p.All, Mark: mark})
	if err != nil {
		return "", err
	}
	longest := max(len(done.Marked), len(done.NotFound), len(done.NotYours), len(done.Open))
	out, _, err := fence.FitJSON(min(longest, maxListed), func(k int) any {
		out := marked{Count: len(done.Marked), Already: len(done.Already), NotFound: first(k, done.NotFound),
			NotYours: first(k, done.NotYours), Open: first(min(k, mail.MaxOpenIDs), done.Open)}
		if len(done.Marked) <= k {
			out.IDs = done.Marked
		}
		out.Unlisted = len(done.NotFound) - len(out.NotFound) + len(done.NotYours) - len(out.NotYours)
		return out
	})
	return jsonAnswer(out, err)
}

// marked answers mark_messages.
type marked struct {
	Count    int       `json:"marked"`
	IDs      []mail.ID `json:"ids,omitempty"` // of these, if they are not too many
	Already  int       `json:"already,omitzero"`
	NotFound []mail.ID `json:"not_found,omitempty"`
	NotYours []mail.ID `json:"not_yours,omitempty"`
	Open     []mail.ID `json:"still_open,omitempty"` // they wait for an answer until it is sent
	Unlisted int       `json:"unlisted,omitzero"`    // how many more were not found or not the caller's
}

func first(k int, ids []mail.ID) []mail.ID { return ids[:min(k, len(ids))] }
