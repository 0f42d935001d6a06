package amq

import (
	"errors"
	"fmt"
	"slices"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// typeOf returns the type for an AMQ kind. A review_response lacks the verdict that a review-result needs, and the
// other kinds have no equivalent: these become custom, and metadata keeps the kind.
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

// kept holds the header fields that have no place in a message; they are stored in metadata.amq.
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

// address returns the address of an AMQ handle. "user" is reserved for the person there too.
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

// ttlSeconds is 99 years, because AMQ's mail does not expire and a room accepts at most a century.
const ttlSeconds = 99 * 365 * 24 * 3600

// convert makes a message from a file, and checks all that a room checks, so that a refused message does not
// prevent the import of others.
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
		return it, fmt.Errorf("invalid time of creation %s", h.Created)
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
		return it, errors.New("invalid header: " + jsonx.Explain(err))
	}
	if d.Metadata = it.Metadata; body == "" {
		d.Body = "-" // an empty message is a message too
	}
	return it, d.CheckAccepted(mail.MaxBody)
}
