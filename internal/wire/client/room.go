package client

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Client is one room as one caller sees it, far away. Its errors are those of the room; those of the way there are
// Unavailable, or Timeout when the context ended.
type Client struct {
	caller
	room mail.RoomName
}

var _ mail.Service = (*Client)(nil)

// path returns the segments of a route in the room.
func (c *Client) path(segments ...string) []string {
	return append([]string{"rooms", string(c.room)}, segments...)
}

// Send implements mail.Sender. A draft without a key is given one, so that it can be sent again when the connection
// broke and is still one message, also when the post office was started again in between. Readers are shown no keys.
func (c *Client) Send(ctx context.Context, d mail.Draft) (mail.Sent, error) {
	made := d.Key == ""
	if made {
		d.Key = mail.MadeKey + rand.Text()
	}
	sent, err := post[mail.Sent](ctx, &c.caller, request{path: c.path("messages"), repeat: true}, d)
	if made {
		sent.Duplicate = false // of nothing but our own first attempt
	}
	return sent, err
}

// Inbox implements mail.Reader.
func (c *Client) Inbox(ctx context.Context, q mail.InboxQuery) (mail.Page, error) {
	query := params{}.text("agent", string(q.Agent)).text("place", string(q.Place)).flag("all", q.All).flag("newest",
		q.Newest).
		seq("after", q.After).seq("before", q.Before).text("from", q.From).types(q.Types).count("limit",
		q.Limit).count("bytes", q.Bytes).values()
	return get[mail.Page](ctx, &c.caller, query, c.path("inbox")...)
}

// History implements mail.Reader.
func (c *Client) History(ctx context.Context, q mail.HistoryQuery) (mail.Page, error) {
	query := params{}.types(q.Types).
		text("from", q.From).text("to", q.To).text("agent", string(q.Agent)).text("thread", string(q.Thread)).
		text("issue", q.Issue).text("since", q.Since.String()).text("until", q.Until.String()).text("search",
		q.Search).
		text("state", joined(q.States)).flag("deliveries", q.Deliveries).flag("archive", q.Archive).seq("after",
		q.After).seq("before", q.Before).count("limit", q.Limit).values()
	return get[mail.Page](ctx, &c.caller, query, c.path("messages")...)
}

// Message implements mail.Reader.
func (c *Client) Message(ctx context.Context, id mail.ID) (mail.Item, error) {
	if _, err := mail.ParseID(string(id)); err != nil {
		return mail.Item{}, err // an empty segment would be another route
	}
	return get[mail.Item](ctx, &c.caller, nil, c.path("messages", string(id))...)
}

// Mark implements mail.Marker.
func (c *Client) Mark(ctx context.Context, m mail.Marking) (mail.Marked, error) {
	return post[mail.Marked](ctx, &c.caller, request{path: c.path("marks"), repeat: true}, m)
}

// poll is how long the far end waits before it says that nothing came. It is below the minute after which proxies cut
// a connection.
const poll = 50 * time.Second

// Wait implements mail.Watcher. It asks again and again until ctx ends; once it was connected it outlives a restart of
// the post office, but not one that is there and does not answer.
func (c *Client) Wait(ctx context.Context, q mail.WaitQuery) (mail.Item, error) {
	for back := (backoff{}); ; {
		item, err := c.waitOnce(ctx, q, back.connected)
		if err == nil && item != nil {
			return *item, nil
		}
		if err == nil {
			back.reset()
		}
		back.connected = back.connected || errors.Is(err, errBroken)
		switch {
		case ctx.Err() != nil:
			return mail.Item{}, &mail.Error{Code: mail.Timeout, Msg: "no message came", Err: ctx.Err()}
		case err != nil && (!back.connected || !passing(err) || errors.Is(err, errSilent)):
			return mail.Item{}, err
		case err != nil:
			back.wait(ctx)
		}
	}
}

// waitOnce lets the far end wait for a while; nil means that nothing came.
func (c *Client) waitOnce(ctx context.Context, q mail.WaitQuery, again bool) (*mail.Item, error) {
	r := request{method: http.MethodGet, path: c.path("wait"), background: again}
	r.query = params{}.types(q.Types).text("reply_to", string(q.ReplyTo)).seq("after", q.After).text("timeout",
		until(ctx).String()).values()
	var item *mail.Item
	err := c.do(ctx, r, &item)
	return item, err
}

// until returns how long the far end shall wait for somebody who waits until ctx ends.
func until(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return max(0, min(poll, time.Until(end)))
	}
	return poll
}

// passing reports whether an error may be gone when the same is asked again.
func passing(err error) bool {
	code := mail.CodeOf(err)
	return code == mail.Unavailable || code == mail.Timeout || code == mail.Limited
}

// Agents implements mail.Registrar.
func (c *Client) Agents(ctx context.Context) ([]mail.Agent, error) {
	list, err := get[wire.Agents](ctx, &c.caller, nil, c.path("agents")...)
	return list.Agents, err
}

// Turn implements mail.Turner.
func (c *Client) Turn(ctx context.Context, t mail.Turn) (mail.Briefing, error) {
	return post[mail.Briefing](ctx, &c.caller, request{path: c.path("turns")}, t)
}

// Register implements mail.Registrar.
func (c *Client) Register(ctx context.Context, p mail.Presence) (mail.Agent, error) {
	return post[mail.Agent](ctx, &c.caller, request{path: c.path("agents")}, p)
}

// Rename implements mail.Registrar.
func (c *Client) Rename(ctx context.Context, from, to mail.Name) (mail.Agent, error) {
	if from == "" {
		return mail.Agent{}, noName()
	}
	return post[mail.Agent](ctx, &c.caller, request{path: c.path("agents", string(from), "rename")},
		wire.Rename{To: to})
}

// Retire implements mail.Registrar.
func (c *Client) Retire(ctx context.Context, name mail.Name) error {
	if name == "" {
		return noName()
	}
	return c.do(ctx, request{method: http.MethodDelete, path: c.path("agents", string(name))}, nil)
}

// Token implements mail.Registrar.
func (c *Client) Token(ctx context.Context, name mail.Name) (string, error) {
	if name == "" {
		return "", noName()
	}
	t, err := post[wire.Token](ctx, &c.caller, request{path: c.path("agents", string(name), "token")}, nil)
	return t.Token, err
}

// noName refuses what would be another route.
func noName() error { return mail.Errorf(mail.Invalid, "the agent's name is empty") }

// Status implements mail.Keeper.
func (c *Client) Status(ctx context.Context) (mail.RoomStatus, error) {
	return get[mail.RoomStatus](ctx, &c.caller, nil, c.path()...)
}

// Erase implements mail.Keeper.
func (c *Client) Erase(ctx context.Context, id mail.ID) error {
	if _, err := mail.ParseID(string(id)); err != nil {
		return err
	}
	return c.do(ctx, request{method: http.MethodDelete, path: c.path("messages", string(id))}, nil)
}

// Archive implements mail.Keeper.
func (c *Client) Archive(ctx context.Context) (mail.Trimmed, error) {
	return post[mail.Trimmed](ctx, &c.caller, request{path: c.path("archive")}, nil)
}

// Verify implements mail.Keeper.
func (c *Client) Verify(ctx context.Context) (mail.Verification, error) {
	return post[mail.Verification](ctx, &c.caller, request{path: c.path("verify"), repeat: true}, nil)
}

// Repair implements mail.Keeper.
func (c *Client) Repair(ctx context.Context) (mail.Verification, error) {
	return post[mail.Verification](ctx, &c.caller, request{path: c.path("repair")}, nil)
}

// Export implements mail.Keeper.
func (c *Client) Export(ctx context.Context) iter.Seq2[mail.Item, error] {
	return func(yield func(mail.Item, error) bool) {
		resp, err := c.open(ctx, request{method: http.MethodGet, path: c.path("export")})
		if err != nil {
			yield(mail.Item{}, err)
			return
		}
		defer resp.Body.Close()
		for lines := bufio.NewReaderSize(resp.Body, 64<<10); ; {
			line, err := lines.ReadBytes('\n')
			if err == io.EOF && len(line) == 0 {
				return
			}
			var item mail.Item
			if err != nil {
				err = c.broken(ctx, err)
			} else if e := jsonx.Unmarshal(line, &item); e != nil {
				err = notUnderstood(e)
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// maxImport is how many bytes are sent at once: half of what the far end reads by default.
const maxImport = 32 << 20

// Import implements mail.Keeper. More than maxImport bytes are sent in parts; when a later part is refused, the
// earlier ones stay, and are skipped when the import is repeated.
func (c *Client) Import(ctx context.Context, items []mail.Item) (mail.Imported, error) {
	return c.importParts(ctx, items, maxImport)
}

func (c *Client) importParts(ctx context.Context, items []mail.Item, limit int) (sum mail.Imported, err error) {
	var part bytes.Buffer
	for i := range items {
		line, err := jsonx.Marshal(&items[i])
		if err != nil {
			return sum, mail.Errorf(mail.Invalid,
				"the message %q cannot be sent, because it is not UTF-8 text throughout", items[i].ID)
		}
		if part.Len() > 0 && part.Len()+len(line) >= limit {
			if err := c.importPart(ctx, &part, &sum); err != nil {
				return sum, err
			}
		}
		part.Write(line)
		part.WriteByte('\n')
	}
	return sum, c.importPart(ctx, &part, &sum)
}

func (c *Client) importPart(ctx context.Context, part *bytes.Buffer, sum *mail.Imported) error {
	done, err := post[mail.Imported](ctx, &c.caller, request{path: c.path("import"), body: part.Bytes(),
		kind: wire.Lines}, nil)
	sum.Added += done.Added
	sum.Skipped += done.Skipped
	part.Reset()
	return err
}

// params builds a query; what has its zero value is left out.
type params url.Values

func (p params) text(name, v string) params {
	if v != "" {
		url.Values(p).Set(name, v)
	}
	return p
}

func (p params) flag(name string, v bool) params {
	if v {
		return p.text(name, "true")
	}
	return p
}

func (p params) count(name string, v int) params {
	if v == 0 {
		return p
	}
	return p.text(name, strconv.Itoa(v))
}

func (p params) seq(name string, v mail.Seq) params {
	if v == 0 {
		return p
	}
	return p.text(name, strconv.FormatUint(uint64(v), 10))
}

func (p params) types(list []mail.Type) params { return p.text("type", joined(list)) }

func joined[S ~string](list []S) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return strings.Join(words, ",")
}

func (p params) values() url.Values { return url.Values(p) }
