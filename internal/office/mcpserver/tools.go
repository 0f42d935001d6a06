package mcpserver

import (
	"context"
	"time"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

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
	At       string          `json:"at"`
	Key      string          `json:"key"`
}

// sentTo is the answer of send_message.
type sentTo struct {
	mail.Sent
	Note   string                     `json:"note,omitempty"`
	Others map[mail.DeliveryState]int `json:"others,omitempty"` // unlisted recipients, by state
}

func sendMessage(ctx context.Context, c *dialect.Call, p sendParams) (out sentTo, err error) {
	const century = 100 * 365 * 24
	if p.TTLHours < 0 || p.TTLHours > century {
		return out, mail.Errorf(mail.Invalid, "ttl_hours %v is out of range; omit it for the default", p.TTLHours)
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
	if d.Key = p.Key; d.Key == "" && c.Key != "" {
		d.Key = mail.MadeKey + c.Key
	}
	if d.At, err = mail.ParseWhen(p.At, time.Now(), mail.Ahead); err != nil {
		return out, err
	}
	sent, err := c.Service.Send(ctx, d)
	if err != nil {
		return out, err
	}
	if p.Key == "" && c.Key != "" {
		sent.Duplicate = false // it could only duplicate our own first attempt
	}
	all := sent.Recipients
	for i := range all {
		d := &all[i] // this answer has no fence
		d.Agent, d.Address = mail.Name(mail.Slug(string(d.Agent))), mail.Address(mail.Slug(string(d.Address)))
	}
	out, _, err = fence.FitJSON(min(len(all), maxListed), func(k int) sentTo {
		sent.Recipients = all[:k]
		note := sent.Suggestion()
		if sent.Kept != nil {
			note = "kept on this machine, not delivered yet. It is sent when the room is reachable; do not send it " +
				"again"
		}
		return sentTo{sent, note, mail.CountStates(all[k:])}
	})
	return out, err
}

// maxListed limits the recipients or ids that an answer lists. It counts the rest.
const maxListed = 20

type markParams struct {
	IDs  []mail.ID `json:"ids"`
	All  bool      `json:"all"`
	Mark string    `json:"mark"`
}

func markMessages(ctx context.Context, c *dialect.Call, p markParams) (out marked, err error) {
	if p.Mark == "" {
		p.Mark = string(mail.MarkRead)
	}
	mark, err := mail.ParseMark(p.Mark)
	if err != nil {
		return out, err
	}
	done, err := c.Service.Mark(ctx, mail.Marking{IDs: p.IDs, All: p.All, Mark: mark})
	if err != nil {
		return out, err
	}
	longest := max(len(done.Marked), len(done.NotFound), len(done.NotYours), len(done.Open))
	out, _, err = fence.FitJSON(min(longest, maxListed), func(k int) marked {
		out := marked{Count: len(done.Marked), Already: len(done.Already), NotFound: first(k, done.NotFound),
			NotYours: first(k, done.NotYours), Open: first(min(k, mail.MaxOpenIDs), done.Open)}
		if len(done.Marked) <= k {
			out.IDs = done.Marked
		}
		out.Unlisted = len(done.NotFound) - len(out.NotFound) + len(done.NotYours) - len(out.NotYours)
		return out
	})
	return out, err
}

// marked is the answer of mark_messages.
type marked struct {
	Count    int       `json:"marked"`
	IDs      []mail.ID `json:"ids,omitempty"` // the marked messages, if not too many
	Already  int       `json:"already,omitzero"`
	NotFound []mail.ID `json:"not_found,omitempty"`
	NotYours []mail.ID `json:"not_yours,omitempty"`
	Open     []mail.ID `json:"still_open,omitempty"` // wait for an answer until one is sent
	Unlisted int       `json:"unlisted,omitzero"`    // number of further messages not found or not the caller's
}

func first(k int, ids []mail.ID) []mail.ID { return ids[:min(k, len(ids))] }
