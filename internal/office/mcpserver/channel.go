package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
)

// Channel is the standard output of a server whose client passes its notifications to the model as messages: a
// channel of Claude Code (code.claude.com/docs: channels-reference, as of 2.1.240). The server cannot tell whether
// the client accepts them; a session that was not started with the server as a channel drops them.
type Channel struct {
	ready chan struct{} // closed when the session is initialized: the client accepts nothing earlier
	once  sync.Once

	mu  sync.Mutex
	out io.Writer // guarded by mu, which is held for I/O and nothing else
}

// NewChannel returns the channel of a server that writes to out.
func NewChannel(out io.Writer) *Channel { return &Channel{ready: make(chan struct{}), out: out} }

// Write writes one message of the protocol.
func (c *Channel) Write(message []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Write(message)
}

// Ready is closed when the session is initialized.
func (c *Channel) Ready() <-chan struct{} { return c.ready }

// Notify tells the model that its agent was rung.
func (c *Channel) Notify(r *mail.Rung) error {
	var n struct {
		Version string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  struct {
			Content string            `json:"content"`
			Meta    map[string]string `json:"meta"`
		} `json:"params"`
	}
	n.Version, n.Method = "2.0", "notifications/"+channelCapability
	n.Params.Content, n.Params.Meta = fence.Text(r.Text), map[string]string{"ring": r.ID}
	line, err := json.Marshal(n)
	if err != nil {
		return err
	}
	_, err = c.Write(append(line, '\n'))
	return err
}

// channelCapability is the capability that a channel's server announces.
const channelCapability = "claude/channel"

// offer makes a server announce the channel. It leaves out the stateless era: the client does not use a server of
// that era as a channel.
func (c *Channel) offer(o *mcp.ServerOptions) {
	if c == nil {
		return
	}
	o.Capabilities.Experimental = map[string]any{channelCapability: struct{}{}}
	o.SupportedProtocolVersions = slices.DeleteFunc(mcp.SupportedProtocolVersions(), func(v string) bool {
		return v >= stateless
	})
	o.InitializedHandler = func(context.Context, *mcp.InitializedRequest) { c.once.Do(func() { close(c.ready) }) }
}
