//go:build linux

package proof

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/mail"
)

// maxAnswer is the largest answer to a model (P12).
const maxAnswer = 20 << 10

// model is an MCP client that reconnects when its connection breaks.
type model struct {
	name      mail.Name
	found     *findings
	transport func() mcp.Transport

	mu      sync.Mutex
	session *mcp.ClientSession
}

// overHTTP returns a client of the streamable HTTP endpoint.
func overHTTP(o *office, name mail.Name, token string, found *findings) *model {
	return &model{name: name, found: found, transport: func() mcp.Transport {
		client := &http.Client{Transport: o.tcp(token)}
		return &mcp.StreamableClientTransport{Endpoint: "http://" + o.listen + "/mcp", HTTPClient: client,
			MaxRetries: -1}
	}}
}

// overStdio returns a client of a process "pennypost mcp".
func overStdio(o *office, name mail.Name, room mail.RoomName, found *findings) *model {
	return &model{name: name, found: found, transport: func() mcp.Transport {
		cmd := o.command(context.Background(), "mcp", "--as", string(name), "--room", string(room), "--take-over")
		cmd.Path = o.person
		return &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Second}
	}}
}

func (m *model) connect(ctx context.Context) (*mcp.ClientSession, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.session != nil {
		return m.session, nil
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "proof", Version: "1"}, nil)
	session, err := client.Connect(ctx, m.transport(), nil)
	m.session = session
	return session, err
}

// drop forgets a connection that failed. A goodbye may take as long as the server likes.
func (m *model) drop(s *mcp.ClientSession) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s != nil && m.session == s {
		m.session = nil
		go s.Close()
	}
}

// close ends the connection.
func (m *model) close() {
	m.mu.Lock()
	s := m.session
	m.mu.Unlock()
	m.drop(s)
}

// errTool is an answer that is an error: it says in words whether something was done.
var errTool = errors.New("the tool answered with an error")

// call calls a tool and returns the text that a model would see.
func (m *model) call(ctx context.Context, tool string, args any) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	s, err := m.connect(ctx)
	if err != nil {
		return "", err
	}
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		m.drop(s)
		return "", err
	}
	text := ""
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			text += t.Text
		}
	}
	if len(text) > maxAnswer {
		m.found.add("P12", "%s answered %s with %d bytes, more than %d", tool, m.name, len(text), maxAnswer)
	}
	if res.IsError {
		return text, errTool
	}
	return text, nil
}

// idForm finds ids of messages in the output of a tool.
var idForm = regexp.MustCompile(`msg_[A-Za-z0-9_-]{21}`)

// sends makes s send by MCP.
func (m *model) sends(s *sender) *sender {
	s.send = func(ctx context.Context, d mail.Draft) (sent mail.Sent, err error) {
		args := map[string]any{"to": d.To, "body": d.Body, "type": d.Type}
		if d.Subject != "" {
			args["subject"] = d.Subject
		}
		text, err := m.call(ctx, "send_message", args)
		sent.ID = mail.ID(idForm.FindString(text))
		if err == nil && sent.ID == "" {
			err = errors.New("the answer names no message")
		}
		return sent, err
	}
	return s
}

// reads lets the agent read its mail, record what it received, and mark it: all mail that counts as presented must
// be in that record.
func (m *model) reads(ctx context.Context, b *book) {
	for ; ctx.Err() == nil; pause(ctx, 500*time.Millisecond) {
		o := op{Kind: "read", Call: b.now(), Agent: m.name}
		text, err := m.call(context.WithoutCancel(ctx), "read_messages", map[string]any{"limit": 1 + rand.IntN(50)})
		if err != nil {
			b.add(o, err)
			continue
		}
		ids := idForm.FindAllString(text, -1)
		for _, id := range ids {
			o.Message = mail.ID(id)
			b.add(o, nil)
		}
		if len(ids) > 0 {
			_, _ = m.call(context.WithoutCancel(ctx), "mark_messages", map[string]any{"ids": ids})
		}
	}
}

// tours makes the agent request everything that a crowd makes long.
func (m *model) tours(ctx context.Context) {
	for ctx.Err() == nil {
		for _, c := range []struct {
			tool string
			args map[string]any
		}{
			{"list_agents", map[string]any{}},
			{"send_message", map[string]any{"to": "all", "body": "tour " + time.Now().String()}},
			{"read_messages", map[string]any{"to": "all", "limit": 50}},
			{"mark_messages", map[string]any{"all": true}},
		} {
			_, _ = m.call(context.WithoutCancel(ctx), c.tool, c.args)
		}
		pause(ctx, 2*time.Second)
	}
}
