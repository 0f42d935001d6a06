package notify

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"pennypost/internal/base/child"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/webhook"
)

// Ntfy publishes to a topic of an ntfy server (https://docs.ntfy.sh/publish/, as of 2.12; sequence_id, which
// replaces a notification, came with 2.16, and earlier servers show another one).
type Ntfy struct {
	Server     string // without a trailing slash
	Topic      string
	Token      string // access token; "": none
	ReplyTopic string // topic that buttons write to
	ReplyToken string // token in buttons; "": none

	client http.Client // limits redirects; set by NewNtfy
}

var (
	_ Channel = (*Ntfy)(nil)
	_ replier = (*Ntfy)(nil)
)

const (
	// A server accepts 4096 bytes of text and turns longer ones into a file; of JSON it accepts twice that.
	maxNtfyText  = 3000
	ntfyTime     = 30 * time.Second // for one request
	ntfySilence  = 3 * time.Minute  // a stream silent for so long is dead: keep-alives come every 45 s
	maxNtfyLine  = 64 << 10
	ntfyUrgent   = 5
	ntfyNormal   = 3
	ntfyNoSound  = 2
	maxNtfyReply = 4 << 10
)

// NewNtfy completes c.
func NewNtfy(c *Ntfy) *Ntfy {
	c.client = http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: ntfyTime},
		CheckRedirect: webhook.SameHost,
	}
	return c
}

// ntfyMessage is a published message and, with Event and ID, one in a stream.
type ntfyMessage struct {
	Event    string       `json:"event,omitempty"`
	ID       string       `json:"id,omitempty"`
	Topic    string       `json:"topic"`
	Title    string       `json:"title,omitempty"`
	Message  string       `json:"message,omitempty"`
	Priority int          `json:"priority,omitzero"`
	Click    string       `json:"click,omitempty"`
	Actions  []ntfyAction `json:"actions,omitempty"`
	Sequence string       `json:"sequence_id,omitempty"`
}

type ntfyAction struct {
	Action  string            `json:"action"`
	Label   string            `json:"label"`
	URL     string            `json:"url"`
	Method  string            `json:"method,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Clear   bool              `json:"clear,omitzero"` // after it has succeeded
}

func (c *Ntfy) Send(ctx context.Context, n *Note) (string, error) {
	m := ntfyMessage{Topic: c.Topic, Title: n.Subject, Message: cutBytes(n.Text, maxNtfyText), Priority: ntfyNormal,
		Click: n.URL, Sequence: n.ID}
	if n.Urgent {
		m.Priority = ntfyUrgent
	}
	for _, b := range n.Buttons {
		a := ntfyAction{Action: "http", Label: b.Label, URL: c.Server + "/" + c.ReplyTopic, Method: http.MethodPost,
			Body: b.Token, Clear: true}
		if c.ReplyToken != "" {
			a.Headers = map[string]string{"Authorization": "Bearer " + c.ReplyToken}
		}
		m.Actions = append(m.Actions, a)
	}
	if n.URL != "" && len(m.Actions) < maxButtons {
		m.Actions = append(m.Actions, ntfyAction{Action: "view", Label: "Open", URL: n.URL})
	}
	return c.publish(ctx, &m)
}

func (c *Ntfy) Update(ctx context.Context, id, subject, text string) error {
	_, err := c.publish(ctx, &ntfyMessage{Topic: c.Topic, Title: subject, Message: text, Priority: ntfyNoSound,
		Sequence: id})
	return err
}

func (c *Ntfy) publish(ctx context.Context, m *ntfyMessage) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, ntfyTime)
	defer cancel()
	body, err := jsonx.Marshal(m)
	if err != nil {
		return "", err
	}
	resp, err := c.do(ctx, http.MethodPost, "/", body)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var said ntfyMessage
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxNtfyReply))
	_ = jsonx.Unmarshal(text, &said)
	answer := fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	if said.ID != "" {
		answer += ", message " + child.Plain(said.ID)
	}
	return answer, nil
}

// do sends a request and returns the answer if its status is 200. Errors contain neither topic nor token.
func (c *Ntfy) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.Server+path, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the address of the server is not valid")
	}
	req.Header.Set("User-Agent", "pennypost")
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, webhook.Reason(err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	var why struct {
		Error string `json:"error"`
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxNtfyReply))
	_ = jsonx.Unmarshal(text, &why)
	said := fmt.Sprintf("answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	if why.Error != "" {
		said += ": " + child.Plain(why.Error)
	}
	return nil, errors.New(said)
}

// Listen implements replier with the JSON stream of the reply topic.
func (c *Ntfy) Listen(ctx context.Context, after string, take func(place, text string) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	alive := time.AfterFunc(ntfySilence, cancel)
	defer alive.Stop()
	resp, err := c.do(ctx, http.MethodGet, "/"+c.ReplyTopic+"/json?since="+cmp.Or(after, "all"), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxNtfyLine)
	for lines.Scan() {
		alive.Reset(ntfySilence)
		var m ntfyMessage
		if err := jsonx.Unmarshal(lines.Bytes(), &m); err != nil {
			return errors.New("the server's stream is not in ntfy's format")
		}
		place, text := m.ID, strings.TrimSpace(m.Message)
		if m.Event != "message" || !isPlace(place) {
			place, text = "", ""
		}
		if !take(place, text) {
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return webhook.Reason(err)
	}
	return errors.New("the server ended the stream")
}

// isPlace reports whether a message id can be part of a URL unescaped.
func isPlace(id string) bool {
	return id != "" && len(id) <= 64 &&
		strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// cutBytes cuts a text at a character boundary.
func cutBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for s = s[:most]; !utf8.ValidString(s); {
		s = s[:len(s)-1]
	}
	return s + "…"
}
