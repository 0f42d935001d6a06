package amq

import (
	"errors"
	"fmt"
	"slices"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// typeOf returns what a kind of AMQ is. A review_response has no verdict, which a review-result needs, and what the
// others mean no type of ours says: they are custom, and metadata keeps the kind.
func typeOf(kind string) mail.Type {
	switch kind {
	case "question":
		return mail.Question
	case "answer":
		return mail.Answer
	case "review_request":
		return mail.ReviewRequest
	case "status":
		return mail.Status
	case "todo":
		return mail.TaskAssigned
	}
	return mail.Custom
}

// kept is what metadata.amq keeps of a header, because a message has no place for it.
type kept struct {
	Kind         string         `json:"kind,omitempty"`
	Priority     string         `json:"priority,omitempty"`
	Thread       string         `json:"thread,omitempty"`
	Refs         []string       `json:"refs,omitempty"`
	Labels       []string       `json:"labels,omitempty"`
	Context      map[string]any `json:"context,omitempty"`
	ReplyTo      string         `json:"reply_to,omitempty"`
	ReplyProject string         `json:"reply_project,omitempty"`
	FromProject  string         `json:"from_project,omitempty"`
}

// address is that of an AMQ handle. "user" is its reserved name for the person, as it is ours.
func address(handle string) (mail.Address, error) {
	if handle == string(mail.User) {
		return mail.ToUser, nil
	}
	n, err := mail.ParseName(handle)
	if err == nil {
		err = n.CheckNew()
	}
	return mail.AgentAddress(n), err
}

// ttlSeconds is a century less a year: AMQ's mail does not expire.
const ttlSeconds = 99 * 365 * 24 * 3600

// convert makes the message that a file is, and checks all that a room checks of it, so that one that is refused
// takes no other with it.
func convert(h *header, body string) (it mail.Item, err error) {
	id, err := mail.ParseID(h.ID)
	if err != nil {
		return it, err
	}
	it.Message = mail.Message{ID: id, Type: typeOf(h.Kind), Subject: h.Subject, Body: body, Via: Bridge,
		TTLSeconds: ttlSeconds}
	if h.Priority == "urgent" {
		it.Priority = mail.Urgent
	}
	if it.Sent, err = mail.ParseTime(h.Created); err != nil {
		return it, err
	}
	if it.Sent <= 0 {
		return it, fmt.Errorf("it was created at %s, which is no time for a message", h.Created)
	}
	if it.From, err = address(h.From); err != nil {
		return it, err
	}
	d := mail.Draft{Subject: it.Subject, Body: it.Body, TTLSeconds: it.TTLSeconds}
	for _, handle := range h.To {
		to, err := address(handle)
		if err != nil {
			return it, err
		}
		if !slices.Contains(it.To, to) {
			it.To, d.To = append(it.To, to), append(d.To, string(to))
		}
	}
	it.Metadata, err = jsonx.Marshal(map[string]kept{Bridge: {h.Kind, h.Priority, h.Thread, h.Refs, h.Labels,
		h.Context, h.ReplyTo, h.ReplyProject, h.FromProject}})
	if err != nil {
		return it, errors.New("what its header says cannot be kept: " + jsonx.Explain(err))
	}
	if d.Metadata = it.Metadata; body == "" {
		d.Body = "-" // an empty one is a message all the same
	}
	return it, d.CheckAccepted(mail.MaxBody)
}
