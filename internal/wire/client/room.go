package client

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"iter"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Client is one remote room as one caller sees it. Its errors are those of the room; errors of the connection are
// Unavailable, or Timeout when the context ended.
type Client struct {
	wire.Stub
	caller
}

var _ mail.Service = (*Client)(nil)

func newClient(c caller) *Client {
	made := &Client{caller: c}
	made.Carrier = &made.caller
	return made
}

// Send implements mail.Sender. A draft without a key gets one, so that a retry after a broken connection stores only
// one message, even if the post office was restarted in between. Readers do not see keys.
func (c *Client) Send(ctx context.Context, d mail.Draft) (mail.Sent, error) {
	made := d.Key == ""
	if made {
		d.Key = mail.MadeKey + rand.Text()
	}
	sent, err := c.Stub.Send(ctx, d)
	if made {
		sent.Duplicate = false // the duplicate is our own first attempt
	}
	return sent, err
}

// poll is how long the far end waits before it reports that nothing came. It is below the minute after which proxies
// cut a connection.
const poll = 50 * time.Second

// Wait implements mail.Watcher. It polls until ctx ends; once connected it survives a restart of the post office, but
// not a post office that is there and does not answer.
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

// waitOnce makes the far end wait for a while; nil means that nothing came.
func (c *Client) waitOnce(ctx context.Context, q mail.WaitQuery, again bool) (*mail.Item, error) {
	r := c.request(&wire.WaitCall.Route, wire.WaitQuery{WaitQuery: q, Timeout: until(ctx)})
	r.repeat, r.background = false, again
	var item *mail.Item
	err := c.do(ctx, r, &item)
	return item, err
}

// until returns how long the far end should wait for a caller that waits until ctx ends.
func until(ctx context.Context) *time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return new(max(0, min(poll, time.Until(end))))
	}
	return new(poll)
}

// passing reports whether a retry may succeed after an error.
func passing(err error) bool {
	code := mail.CodeOf(err)
	return code == mail.Unavailable || code == mail.Timeout || code == mail.Limited
}

// Export implements mail.Keeper.
func (c *Client) Export(ctx context.Context) iter.Seq2[mail.Item, error] {
	return func(yield func(mail.Item, error) bool) {
		resp, err := c.open(ctx, c.request(&wire.ExportRoute, wire.None{}))
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

// maxImport is how many bytes are sent in one request: half of the far end's default limit.
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
				"the message %q was not sent: it contains text that is not UTF-8", items[i].ID)
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
	r := c.request(&wire.ImportCall.Route, wire.None{})
	r.body, r.kind = part.Bytes(), wire.Lines
	var done mail.Imported
	err := c.do(ctx, r, &done)
	sum.Added += done.Added
	sum.Skipped += done.Skipped
	part.Reset()
	return err
}
