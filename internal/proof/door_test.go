//go:build linux

package proof

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// callWithin is how long a client waits for an answer. A stopped post office gives none.
const callWithin = 10 * time.Second

// door is one client's connection to the post office over HTTP. It tries everything once: the outcome is for the
// record.
type door struct {
	client *http.Client
	base   string
	token  string // bearer token; empty: it uses the Unix socket
	// operator is the file of the operator's token, for the user; the post office makes it when it first opens.
	operator string
	agent    mail.Name     // the agent for whom it speaks on the socket; empty: the user
	within   time.Duration // how long it waits for an answer; zero: callWithin
}

// socket returns a door at the Unix socket. The tests do not count as the user there, and show the operator's token.
func (o *office) socket(agent mail.Name) *door {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(o.home, "pennypost.sock"))
	}
	d := &door{client: &http.Client{Transport: &http.Transport{DialContext: dial}}, base: "http://pennypost",
		agent: agent}
	if agent == "" {
		d.operator = filepath.Join(o.home, "token")
	}
	return d
}

// tcp returns a door at the TCP address.
func (o *office) tcp(token string) *door {
	return &door{client: &http.Client{Transport: new(http.Transport)}, base: "http://" + o.listen, token: token}
}

// RoundTrip implements http.RoundTripper: it adds the caller's identity.
func (d *door) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if d.operator != "" {
		token, err := os.ReadFile(d.operator)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	if d.token != "" {
		r.Header.Set("Authorization", "Bearer "+d.token)
	}
	if d.agent != "" {
		wire.SetAgent(r.Header, d.agent)
	}
	return d.client.Transport.RoundTrip(r)
}

// refusal is an answer other than success.
type refusal struct {
	status int
	wire.Problem
}

func (e *refusal) Error() string { return fmt.Sprintf("%d %s", e.status, e.Detail) }

// do sends a request once and decodes the answer into out, unless that is nil.
func (d *door) do(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(d.within, callWithin))
	defer cancel()
	resp, err := d.open(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(text, out)
}

// open sends a request and returns a successful response.
func (d *door) open(ctx context.Context, method, path string, in any, fields ...string) (*http.Response, error) {
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, d.base+wire.Base+path, &body)
	if err != nil {
		return nil, err
	}
	if in != nil {
		r.Header.Set("Content-Type", wire.JSON)
	}
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	resp, err := d.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		e := &refusal{status: resp.StatusCode}
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		_ = json.Unmarshal(text, &e.Problem)
		return nil, e
	}
	return resp, nil
}

// outcomeOf says what a client knows after an answer (docs/http.md, Errors): after the codes of trouble and after a
// broken connection it cannot know whether the change was made; after any other refusal, and when no one listened,
// it was not.
func outcomeOf(err error) outcome {
	var no *refusal
	switch {
	case err == nil:
		return done
	case errors.As(err, &no) && no.status < 500 && no.status != http.StatusRequestTimeout:
		return refused
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return refused
	}
	return unknown
}

// codeOf returns the code of a refusal, "" if err is none.
func codeOf(err error) mail.Code {
	var no *refusal
	if errors.As(err, &no) {
		return no.Code
	}
	return ""
}
