package door

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"pennypost/internal/base/child"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/office/wake"
	"pennypost/internal/office/wake/sessions"
)

// OpenCode is an opencode server, which accepts prompts from programs: POST /session/ID/prompt_async. An opencode does
// not announce its server's address, so the configuration has it. All sessions of a directory share one pennypost mcp,
// so they are one agent; the most recently used one is prompted, never a subagent's.
//
// The ring succeeded if the answer is 204: the prompt was accepted. That does not prove a turn: opencode was seen to
// accept prompts for idle sessions and do nothing (anomalyco/opencode#21524). Any other status is a failure: unknown
// paths are answered with 200 and a page.
//
// The text appears as if the user had typed it: it says that it is not the user's, and gives no orders. Without TLS
// only servers on this machine are used, without a proxy, and no server may redirect: the password is the user's.
//
// Based on opencode 1.18 and its SDK 1.19. The servers of opencode 2 have another interface and are not supported.
type OpenCode struct {
	// http://127.0.0.1:4096; its user overrides opencode's default name; ?directory=PATH for one of several projects
	Server   string
	Password sessions.Secret
	Timeout  time.Duration // default 30 s
}

var _ wake.Waker = (*OpenCode)(nil)

var errNotHere = errors.New("the address is not on this machine")

// maxSessions is how many bytes of the session list are read.
const maxSessions = 16 << 20

// Door implements wake.Waker.
func (o *OpenCode) Door() string { return "opencode" }

// Ring implements wake.Waker.
func (o *OpenCode) Ring(ctx context.Context, r wake.Ring) error {
	s, err := o.Newest(ctx)
	if err != nil {
		return err
	}
	prompt := opencodePrompt{Agent: s.Agent}
	prompt.Parts = []opencodePart{{Type: "text", Text: r.Pointer()}}
	body, err := jsonx.Marshal(&prompt)
	if err != nil {
		return err
	}
	_, err = o.ask(ctx, http.MethodPost, "/session/"+url.PathEscape(s.ID)+"/prompt_async", s.Directory, body,
		http.StatusNoContent)
	return err
}

// OpenCodeSession is a session in opencode's list.
type OpenCodeSession struct {
	ID        string `json:"id"`
	Directory string `json:"directory"`
	Parent    string `json:"parentID"` // set for a subagent's session
	Title     string `json:"title"`
	Agent     string `json:"agent"` // which of opencode's agents worked last: build, plan, …
	Time      struct {
		Updated  float64 `json:"updated"`
		Archived float64 `json:"archived"`
	} `json:"time"`
}

// Newest returns the session that would be rung, and changes nothing.
func (o *OpenCode) Newest(ctx context.Context) (OpenCodeSession, error) {
	var newest OpenCodeSession
	text, err := o.ask(ctx, http.MethodGet, "/session", "", nil, http.StatusOK)
	if err != nil {
		return newest, err
	}
	var list []OpenCodeSession
	if err := jsonx.UnmarshalLenient(text, &list); err != nil {
		return newest, errors.New("the server does not list its sessions; it is not opencode 1")
	}
	for _, s := range list {
		if s.Parent == "" && s.Time.Archived == 0 && (newest.ID == "" || s.Time.Updated > newest.Time.Updated) {
			newest = s
		}
	}
	if newest.ID == "" || newest.ID == "." || newest.ID == ".." {
		return newest, errors.New("opencode has no session there yet")
	}
	return newest, nil
}

// ask sends a request, and returns the body of an answer with the status want. path is escaped.
func (o *OpenCode) ask(ctx context.Context, method, path, directory string, body []byte, want int) ([]byte, error) {
	to, err := url.Parse(o.Server)
	if err != nil {
		return nil, errors.New("the address of the server cannot be used")
	}
	user := to.User.Username()
	query := to.Query()
	if directory != "" { // one server may serve several projects
		query.Set("directory", directory)
	}
	req, err := http.NewRequestWithContext(ctx, method, to.Scheme+"://"+to.Host+path+"?"+query.Encode(),
		bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the address of the server cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "pennypost")
	if password := o.Password.Reveal(); password != "" {
		req.SetBasicAuth(cmp.Or(user, "opencode"), password)
	}
	transport := &http.Transport{DisableKeepAlives: true} // no Proxy
	if to.Scheme != "https" {
		transport.DialContext = (&net.Dialer{Control: onlyHere}).DialContext
	}
	client := http.Client{
		Timeout: child.Timeout(o.Timeout), Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, hideAddress(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxSessions))
	switch {
	case resp.StatusCode == want && err == nil:
		return text, nil
	case resp.StatusCode == want:
		return nil, hideAddress(err)
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("opencode answered %d: wrong password; use the value of OPENCODE_SERVER_PASSWORD "+
			"with which it was started", resp.StatusCode)
	case resp.StatusCode == http.StatusNotFound:
		return nil, errors.New("opencode answered 404: the session is gone, or the server is not opencode 1")
	}
	return nil, fmt.Errorf("opencode answered %d %s, not %d", resp.StatusCode, http.StatusText(resp.StatusCode), want)
}

// opencodePrompt is a prompt. Without an agent opencode would use its first one, which may have permissions that the
// person's agent does not (seen with 1.18.33).
type opencodePrompt struct {
	Agent string         `json:"agent,omitempty"`
	Parts []opencodePart `json:"parts"`
}

type opencodePart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// onlyHere rejects connections to other machines, whatever name they came from.
func onlyHere(_, address string, _ syscall.RawConn) error {
	if to, err := netip.ParseAddrPort(address); err != nil || !to.Addr().Unmap().IsLoopback() {
		return errNotHere
	}
	return nil
}

// hideAddress describes an error for the user without the server's address.
func hideAddress(err error) error {
	var timed net.Error
	switch {
	case errors.Is(err, errNotHere):
		return errNotHere
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("opencode's server does not listen at its address; start opencode with --port and the " +
			"port from the configuration")
	case errors.As(err, &timed) && timed.Timeout():
		return errors.New("opencode did not answer in time")
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return errors.New("opencode closed the connection without an answer")
	}
	return errors.New("opencode's server cannot be reached")
}
