package wake

import (
	"bytes"
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

	"pennypost/internal/jsonx"
)

// OpenCode is the server of a running opencode, which has a prompt of its own for programs: POST /session/ID/prompt_async. Its address is the session's
// Socket, and its password, if it has one, the Token.
//
// It was rung if the answer is 204: the prompt was accepted. Nothing tells whether a turn came of it, and opencode has been seen to accept prompts
// for idle sessions and do nothing (anomalyco/opencode#21524). Any other status is no ring: a path that a server does not know is answered 200, by its pages.
//
// The text comes as if the user had typed it: it says that it is not the user's, and orders nothing. Only servers of this machine are asked, past any proxy, and they
// may not send us on: the password is the user's.
//
// Taken from opencode 1.18 and its SDK 1.19. The servers of opencode 2 have another interface; they are not served.
type OpenCode struct {
	Sessions *Sessions
	User     string        // default opencode, as OPENCODE_SERVER_USERNAME
	Timeout  time.Duration // default 30 s
}

var _ Waker = (*OpenCode)(nil)

var errNotHere = errors.New("the address is not of this machine")

// Door implements Waker.
func (o *OpenCode) Door() string { return "opencode" }

// Ring implements Waker.
func (o *OpenCode) Ring(ctx context.Context, r Ring) error {
	s, err := o.Sessions.find(&r, "opencode")
	if err != nil {
		return err
	}
	req, err := o.request(ctx, &s, &r)
	if err != nil {
		return err
	}
	client := http.Client{
		Timeout:       timeout(o.Timeout),
		Transport:     &http.Transport{DialContext: (&net.Dialer{Control: onlyHere}).DialContext, DisableKeepAlives: true}, // no Proxy
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return hideAddress(err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxOutput)
	switch resp.StatusCode {
	case http.StatusNoContent:
		return nil
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("opencode answered %d: it wants another password; start it anew, so that its plugin tells the right one", resp.StatusCode)
	case http.StatusNotFound:
		return errors.New("opencode answered 404: the session is gone, or the server is not of opencode 1")
	}
	return fmt.Errorf("opencode answered %d %s, not 204", resp.StatusCode, http.StatusText(resp.StatusCode))
}

func (o *OpenCode) request(ctx context.Context, s *Session, r *Ring) (*http.Request, error) {
	address, err := url.Parse(s.Socket.reveal())
	switch {
	case s.Socket.reveal() == "":
		return nil, errors.New("the session told of no server")
	case err != nil || address.Scheme != "http" || address.Host == "" || s.ID == "" || s.ID == "." || s.ID == "..":
		return nil, errors.New("the session told of a server whose address cannot be used")
	}
	to := url.URL{Scheme: "http", Host: address.Host, Path: "/session/" + s.ID + "/prompt_async", RawPath: "/session/" + url.PathEscape(s.ID) + "/prompt_async"}
	if s.Dir != "" { // one server may serve several projects
		to.RawQuery = url.Values{"directory": {s.Dir}}.Encode()
	}
	var prompt opencodePrompt
	prompt.Parts = []opencodePart{{Type: "text", Text: pointer(r)}}
	body, err := jsonx.Marshal(&prompt)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the session told of a server whose address cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "pennypost")
	if password := s.Token.reveal(); password != "" {
		user := o.User
		if user == "" {
			user = "opencode"
		}
		req.SetBasicAuth(user, password)
	}
	return req, nil
}

type opencodePrompt struct {
	Parts []opencodePart `json:"parts"`
}

type opencodePart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// onlyHere refuses connections that leave the machine, whatever name led to them.
func onlyHere(_, address string, _ syscall.RawConn) error {
	if to, err := netip.ParseAddrPort(address); err != nil || !to.Addr().Unmap().IsLoopback() {
		return errNotHere
	}
	return nil
}

// hideAddress says why there is no answer, in words for the user.
func hideAddress(err error) error {
	var timed net.Error
	switch {
	case errors.Is(err, errNotHere):
		return errNotHere
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("nobody listens at the session's server any more")
	case errors.As(err, &timed) && timed.Timeout():
		return errors.New("opencode did not answer in time")
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return errors.New("opencode closed the connection without an answer")
	}
	return errors.New("opencode's server cannot be reached")
}
