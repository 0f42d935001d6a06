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

// Ntfy publishes to a topic of an ntfy server (https://docs.ntfy.sh/publish/, as of 2.12; what replaces a
// notification, sequence_id, came with 2.16, and servers before that show another one).
type Ntfy struct {
	Server     string // without a closing slash
	Topic      string
	Token      string // of access; "": none
	ReplyTopic string // where buttons write
	ReplyToken string // that buttons show; "": none

	client http.Client // its redirects; set by NewNtfy
}

var (
	_ Channel = (*Ntfy)(nil)
	_ replier = (*Ntfy)(nil)
)

const (
	// A server takes 4096 bytes of text, and makes a file of more; it takes twice that of JSON.
	maxNtfyText  = 3000
	ntfyTime     = 30 * time.Second // for one request
	ntfySilence  = 3 * time.Minute  // a stream that says nothing for so long is dead: it is to every 45 s
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

// ntfyMessage is what is published, and with Event and ID what a stream says.
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
	Clear   bool              `json:"clear,omitzero"` // once it has succeeded
}

// Send implements Channel.
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

// Update implements replier.
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

// do makes a request and returns the answer if it is of status 200. Errors hold neither topic nor token.
func (c *Ntfy) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.Server+path, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the address of the server is none")
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

// Listen implements replier, by the JSON stream of the reply topic.
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
			return errors.New("the server's stream is not of ntfy's form")
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

// isPlace reports whether an id of a message can stand in an address as it is.
func isPlace(id string) bool {
	return id != "" && len(id) <= 64 &&
		strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// cutBytes cuts a text behind a character.
func cutBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for s = s[:most]; !utf8.ValidString(s); {
		s = s[:len(s)-1]
	}
	return s + "…"
}
