package mcpserver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/jsonx"
	"pennypost/internal/mail"
)

func (n *Native) addTools() {
	for _, t := range tools() {
		n.Server.AddTool(&mcp.Tool{
			Name: t.name, Description: t.description, Annotations: &t.hints,
			InputSchema: json.RawMessage(t.input), OutputSchema: json.RawMessage(t.output),
		}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			out, err := t.call(n, ctx, req)
			return toolResult(n.box, t.name, out, err), nil
		})
	}
}

// decode reads a tool's arguments: unknown and repeated members are errors.
func decode(req *mcp.CallToolRequest, into any) error {
	if len(req.Params.Arguments) == 0 {
		return nil
	}
	if err := jsonx.UnmarshalStrict(req.Params.Arguments, into); err != nil {
		return mail.Errorf(mail.Invalid, "the arguments of %s do not fit: %s", req.Params.Name, jsonx.Explain(err))
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

func (n *Native) sendMessage(ctx context.Context, req *mcp.CallToolRequest) (any, error) {
	var p sendParams
	if err := decode(req, &p); err != nil {
		return nil, err
	}
	const century = 100 * 365 * 24
	if p.TTLHours < 0 || p.TTLHours > century {
		return nil, mail.Errorf(mail.Invalid, "ttl_hours %v is out of range; leave it out for the default", p.TTLHours)
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
	return n.box.Service.Send(ctx, d)
}

type readParams struct {
	ID     mail.ID  `json:"id"`
	Thread mail.ID  `json:"thread"`
	Since  string   `json:"since"`
	To     string   `json:"to"`
	Query  string   `json:"query"`
	After  mail.Seq `json:"after"`
	Limit  int      `json:"limit"`
}

// readBudget is how many bytes of bodies one call returns: half of the 10,000 tokens at which clients begin to warn.
const readBudget = 20_000

func (n *Native) readMessages(ctx context.Context, req *mcp.CallToolRequest) (any, error) {
	var p readParams
	if err := decode(req, &p); err != nil {
		return nil, err
	}
	page, err := n.page(ctx, p)
	if err != nil {
		return nil, err
	}
	n.present(ctx, page.Messages, toolDoor)
	return page, nil
}

func (n *Native) page(ctx context.Context, p readParams) (mail.Page, error) {
	if p.ID != "" {
		it, err := n.box.Service.Message(ctx, p.ID)
		return mail.Page{Messages: []mail.Item{it}}, err
	}
	if p.Thread == "" && p.Since == "" && p.To == "" && p.Query == "" {
		return n.box.Service.Inbox(ctx, mail.InboxQuery{After: p.After, Limit: p.Limit, Bytes: readBudget})
	}
	q := mail.HistoryQuery{Thread: p.Thread, To: p.To, Search: p.Query, After: p.After, Limit: p.Limit}
	if p.Thread == "" && p.To == "" {
		q.Agent = n.box.Agent
	}
	if p.Since != "" {
		var err error
		if q.Since, err = mail.ParseTime(p.Since); err != nil {
			return mail.Page{}, err
		}
	}
	page, err := n.box.Service.History(ctx, q)
	if err != nil {
		return mail.Page{}, err
	}
	return withinBudget(page), nil
}

// withinBudget cuts a page where the bodies exceed the budget, keeping at least one message.
func withinBudget(page mail.Page) mail.Page {
	bytes := 0
	for i := range page.Messages {
		if bytes += len(page.Messages[i].Body); bytes > readBudget && i > 0 {
			page.Messages, page.More, page.Next = page.Messages[:i], true, page.Messages[i-1].Seq
			break
		}
	}
	return page
}

// toolDoor is the door of what an agent asked for.
const toolDoor = "mcp"

// present records that the text of messages is on its way to the agent, for those of its mail where that was not known yet.
func (n *Native) present(ctx context.Context, items []mail.Item, door string) {
	m := mail.Marking{Mark: mail.MarkPresented, Door: door}
	for _, it := range items {
		if it.State == mail.Queued || it.State == mail.Notified {
			m.IDs = append(m.IDs, it.ID)
		}
	}
	if len(m.IDs) == 0 {
		return
	}
	if _, err := n.box.Service.Mark(ctx, m); err != nil {
		n.box.Log.Warn("presented mail not recorded", "agent", n.box.Agent, "err", err)
	}
}

type markParams struct {
	IDs  []mail.ID `json:"ids"`
	All  bool      `json:"all"`
	Mark string    `json:"mark"`
}

func (n *Native) markMessages(ctx context.Context, req *mcp.CallToolRequest) (any, error) {
	var p markParams
	if err := decode(req, &p); err != nil {
		return nil, err
	}
	if p.Mark == "" {
		p.Mark = string(mail.MarkRead)
	}
	mark, err := mail.ParseMark(p.Mark)
	if err != nil {
		return nil, err
	}
	return n.box.Service.Mark(ctx, mail.Marking{IDs: p.IDs, All: p.All, Mark: mark})
}

type waitParams struct {
	Types   []mail.Type `json:"types"`
	ReplyTo mail.ID     `json:"reply_to"`
	After   mail.Seq    `json:"after"`
	Timeout float64     `json:"timeout_seconds"`
}

type waited struct {
	Messages []mail.Item `json:"messages"`
	TimedOut bool        `json:"timed_out"`
}

const (
	defaultWait = 10 * time.Minute
	longestWait = 24 * time.Hour
	// progressEvery keeps a waiting call alive: clients give up on a call that is silent for five minutes over HTTP, and some
	// on the first byte after one.
	progressEvery = 25 * time.Second
)

func (n *Native) waitForMessages(ctx context.Context, req *mcp.CallToolRequest) (any, error) {
	var p waitParams
	if err := decode(req, &p); err != nil {
		return nil, err
	}
	timeout := time.Duration(p.Timeout * float64(time.Second))
	switch {
	case p.Timeout < 0 || p.Timeout > longestWait.Seconds():
		return nil, mail.Errorf(mail.Invalid, "timeout_seconds %v is out of range; use 0 to %v", p.Timeout, longestWait.Seconds())
	case p.Timeout == 0:
		timeout = defaultWait
	}
	for _, t := range p.Types {
		if _, err := mail.ParseType(string(t)); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	stop := reportProgress(ctx, req, timeout)
	it, err := n.box.Service.Wait(ctx, mail.WaitQuery{Types: p.Types, ReplyTo: p.ReplyTo, After: p.After})
	stop()
	if mail.CodeOf(err) == mail.Timeout {
		return waited{Messages: []mail.Item{}, TimedOut: true}, nil
	}
	if err != nil {
		return nil, err
	}
	n.present(context.WithoutCancel(ctx), []mail.Item{it}, mail.WaitDoor)
	return waited{Messages: []mail.Item{it}}, nil
}

// reportProgress tells the client, if it wants to know, that the call is still alive: at once, and then regularly. The
// returned function ends that and waits for it.
func reportProgress(ctx context.Context, req *mcp.CallToolRequest, total time.Duration) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for began := time.Now(); ; {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: time.Since(began).Seconds(), Total: total.Seconds(), Message: "waiting for mail",
			})
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

type roster struct {
	You    mail.Name     `json:"you"`
	Room   mail.RoomName `json:"room"`
	Agents []mail.Agent  `json:"agents"`
}

func (n *Native) listAgents(ctx context.Context, req *mcp.CallToolRequest) (any, error) {
	if err := decode(req, &struct{}{}); err != nil {
		return nil, err
	}
	agents, err := n.box.Service.Agents(ctx)
	for i := range agents {
		agents[i].Session = "" // nobody's business but the session's
	}
	return roster{You: n.box.Agent, Room: n.box.Room, Agents: agents}, err
}

type presenceParams struct {
	Name  mail.Name  `json:"name"`
	Roles []string   `json:"roles"`
	Tags  []string   `json:"tags"`
	Task  *string    `json:"task"`
	State mail.State `json:"state"`
}

func (n *Native) setPresence(ctx context.Context, req *mcp.CallToolRequest) (any, error) {
	var p presenceParams
	if err := decode(req, &p); err != nil {
		return nil, err
	}
	a, err := n.box.Service.Register(ctx, mail.Presence{Roles: p.Roles, Tags: p.Tags, Task: p.Task, State: p.State})
	if err == nil && p.Name != "" && p.Name != a.Name {
		a, err = n.box.Service.Rename(ctx, a.Name, p.Name)
	}
	a.Session = ""
	return a, err
}
