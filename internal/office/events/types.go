package events

import (
	"context"
	"encoding/json"
	"slices"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// Type is a type of events.
type Type struct {
	Name        string
	Description string
	Input       json.RawMessage // JSON Schema of the arguments of a subscription
	Payload     json.RawMessage // JSON Schema of an occurrence's data

	// parse decodes a subscription's arguments, and returns a finder.
	parse func(asked json.RawMessage) (finder, error)
}

// finder returns the data of an occurrence, or nil if the event is none.
type finder func(ctx context.Context, f *Feed, e *mail.Event) (data any, err error)

// Types lists all types.
func Types() []Type { return types }

var types = []Type{
	{"mail.arrived", "A message has arrived in your mailbox.",
		object(`"types":{"type":"array","items":{"type":"string"},"description":"only messages of these types"},` +
			`"from":{"type":"array","items":{"type":"string"},"description":"only from these addresses, ` +
			`such as agent:builder or user"},"urgent":{"type":"boolean","description":"only urgent ones"}`),
		object(`"room":{"type":"string"},"id":{"type":"string","description":"of the message, for read_messages"},` +
			`"seq":{"type":"integer"},"type":{"type":"string"},"from":{"type":"string"},"urgent":{"type":"boolean"}`),
		asks(arrived)},
	{"question.settled", "A question that you asked, or that you were asked, is answered, declined or withdrawn.",
		object(`"id":{"type":"string","description":"only this question"}`),
		object(`"room":{"type":"string"},"id":{"type":"string","description":"of the question"},` +
			`"as":{"type":"string"},"by":{"type":"string"},"answer":{"type":"string"}`),
		asks(settled)},
	{"agent.state", "An agent has joined, changed its state, or left.",
		object(`"agent":{"type":"string","description":"only this one"}`),
		object(`"room":{"type":"string"},"agent":{"type":"string"},"state":{"type":"string"}`),
		asks(changed)},
	{"claim.freed", "Files, ports or names that an agent held are free.",
		object(`"target":{"type":"string","description":"only this one, as written in the list of claims"}`),
		object(`"room":{"type":"string"},"agent":{"type":"string","description":"who held it"},` +
			`"targets":{"type":"array","items":{"type":"string"}}`),
		asks(freed)},
}

func object(properties string) json.RawMessage {
	return json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{` + properties + `}}`)
}

// typeOf returns the type called name.
func typeOf(name string) (*Type, error) {
	i := slices.IndexFunc(types, func(t Type) bool { return t.Name == name })
	if i < 0 {
		return nil, &Error{NotFound, "unknown event name; events/list lists the names",
			map[string]any{"kind": "event"}}
	}
	return &types[i], nil
}

// asks makes a parse from a finder that needs the subscription's arguments.
func asks[A any](find func(ctx context.Context, f *Feed, a *A, e *mail.Event) (any, error)) func(
	json.RawMessage) (finder, error) {
	return func(asked json.RawMessage) (finder, error) {
		var a A
		if len(asked) > 0 && string(asked) != "null" {
			if err := jsonx.UnmarshalStrict(asked, &a); err != nil {
				return nil, &Error{Code: InvalidParams, Message: "arguments: " + jsonx.Explain(err)}
			}
		}
		return func(ctx context.Context, f *Feed, e *mail.Event) (any, error) { return find(ctx, f, &a, e) }, nil
	}
}

type arrivedArgs struct {
	Types  []mail.Type    `json:"types"`
	From   []mail.Address `json:"from"`
	Urgent bool           `json:"urgent"`
}

type arrivedData struct {
	Room   mail.RoomName `json:"room"`
	ID     mail.ID       `json:"id"`
	Seq    mail.Seq      `json:"seq"`
	Type   mail.Type     `json:"type"`
	From   mail.Address  `json:"from"`
	Urgent bool          `json:"urgent"`
}

func arrived(ctx context.Context, f *Feed, a *arrivedArgs, e *mail.Event) (any, error) {
	m := e.Message
	if m == nil || len(a.Types) > 0 && !slices.Contains(a.Types, m.Type) ||
		len(a.From) > 0 && !slices.Contains(a.From, m.From) || a.Urgent && m.Priority != mail.Urgent {
		return nil, nil
	}
	it, err := f.message(ctx, m.ID)
	if err != nil || it == nil || !f.isTo(it) {
		return nil, err
	}
	return arrivedData{f.Room, m.ID, e.Seq, m.Type, m.From, m.Priority == mail.Urgent}, nil
}

type settledArgs struct {
	ID mail.ID `json:"id"`
}

type settledData struct {
	Room   mail.RoomName `json:"room"`
	ID     mail.ID       `json:"id"`
	As     mail.Outcome  `json:"as"`
	By     mail.Address  `json:"by"`
	Answer mail.ID       `json:"answer,omitempty"`
}

func settled(ctx context.Context, f *Feed, a *settledArgs, e *mail.Event) (any, error) {
	var question mail.ID
	switch {
	case e.Settled != nil:
		question = e.Settled.Message
	case e.Message != nil:
		question = e.Message.ReplyTo
	}
	if question == "" || a.ID != "" && a.ID != question {
		return nil, nil
	}
	it, err := f.message(ctx, question)
	if err != nil || it == nil || it.Settled == nil || !f.isTo(it) && it.From != f.address() {
		return nil, err
	}
	if s := it.Settled; e.Settled != nil || s.Answer == e.Message.ID {
		return settledData{f.Room, question, s.As, s.By, s.Answer}, nil
	}
	return nil, nil
}

type changedArgs struct {
	Agent mail.Name `json:"agent"`
}

type changedData struct {
	Room  mail.RoomName `json:"room"`
	Agent mail.Name     `json:"agent"`
	State string        `json:"state"`
}

// States in agent.state in addition to those that agents report.
const (
	stateEnded   = "ended"   // its session has ended
	stateRetired = "retired" // it was removed from the roster
)

func changed(_ context.Context, f *Feed, a *changedArgs, e *mail.Event) (any, error) {
	c := e.Agent
	if c == nil || a.Agent != "" && a.Agent != c.Name {
		return nil, nil
	}
	state := string(c.State)
	switch {
	case c.Retired:
		state = stateRetired
	case c.End:
		state = stateEnded
	case state == "":
		return nil, nil
	}
	return changedData{f.Room, c.Name, state}, nil
}

type freedArgs struct {
	Target string `json:"target"`
}

type freedData struct {
	Room    mail.RoomName `json:"room"`
	Agent   mail.Name     `json:"agent"`
	Targets []string      `json:"targets"`
}

func freed(_ context.Context, f *Feed, a *freedArgs, e *mail.Event) (any, error) {
	if e.Claim == nil || len(e.Claim.Free) == 0 {
		return nil, nil
	}
	d := freedData{Room: f.Room, Agent: e.Claim.Agent}
	for _, t := range e.Claim.Free {
		if text := t.String(); a.Target == "" || a.Target == text {
			d.Targets = append(d.Targets, text)
		}
	}
	if len(d.Targets) == 0 {
		return nil, nil
	}
	return d, nil
}
