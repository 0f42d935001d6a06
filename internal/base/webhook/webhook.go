// Package webhook sends POST requests signed according to Standard Webhooks
// (https://github.com/standard-webhooks/standard-webhooks, specification 1.0.0).
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pennypost/internal/base/jsonx"
)

// Bounds of a request.
const (
	maxRedirects = 3 // redirects that are followed
	maxAnswer    = 4 << 10
)

// ErrGone says that the receiver answered 410: it wants no more requests.
var ErrGone = errors.New("answered 410 Gone")

// Receiver is the destination of requests. Its errors are for people, and omit the address: its path may be a secret.
type Receiver struct {
	url    string
	secret []byte
	client *http.Client
}

// New returns the receiver at an address. secret is the signing key itself, not its base64; without it nothing is
// signed.
func New(address string, secret []byte, limit time.Duration) *Receiver {
	return &Receiver{url: address, secret: secret, client: &http.Client{
		Timeout:       limit,
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}, // requests are rare
		CheckRedirect: SameHost,
	}}
}

// Public returns the receiver for an address from a stranger: no request goes to this machine or to private networks,
// whatever the name resolves to at that moment, and none through a proxy, which could be led there.
func (w *Receiver) Public() *Receiver {
	dialer := &net.Dialer{Timeout: w.client.Timeout, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || !IsPublic(to.Addr()) {
			return errPrivate
		}
		return nil
	}}
	out, client := *w, *w.client
	client.Transport = &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
	out.client = &client
	return &out
}

// Straight returns the receiver without following redirects: a redirect is an answer like any other.
func (w *Receiver) Straight() *Receiver {
	out, client := *w, *w.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	out.client = &client
	return &out
}

// MaxAddress is the maximum length in bytes of an address from a stranger.
const MaxAddress = 2 << 10

// CheckAddress reports whether an address from a stranger may be used, as far as its text tells. private allows this
// machine and private networks, and http.
func CheckAddress(text string, private bool) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || len(text) > MaxAddress ||
		u.Scheme != "https" && !(private && u.Scheme == "http") {
		return errors.New("use an https:// address without password or fragment")
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !private && !IsPublic(ip) {
		return errPrivate
	}
	return nil
}

var errPrivate = errors.New("it is a private address")

// private are networks outside the public internet, in addition to those that netip knows.
var private = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("2001::/32")}

// IsPublic reports whether an address is on the public internet, and does not lead to a private network through
// another one.
func IsPublic(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsGlobalUnicast() && !a.IsPrivate() &&
		!slices.ContainsFunc(private, func(p netip.Prefix) bool { return p.Contains(a.WithZone("")) })
}

var errRedirect = errors.New(
	"it redirects to another host, or changes the request; set the target address instead")

// SameHost allows redirects only on the configured host: the request's signature or authorisation is a credential.
func SameHost(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	if next.Method != http.MethodPost || next.URL.Host != first.Host || next.URL.Scheme != first.Scheme ||
		len(via) > maxRedirects {
		return errRedirect
	}
	return nil
}

// Post sends data under an id, which stays the same in a retry. kind is the type of the event. It succeeds if the
// status of the answer is 2xx; answer is that status.
func (w *Receiver) Post(ctx context.Context, id, kind string, data any) (answer string, err error) {
	now := time.Now()
	body, err := jsonx.Marshal(envelope{Type: kind, Timestamp: now.UTC().Format("2006-01-02T15:04:05.000Z"),
		Data: data})
	if err != nil {
		return "", err
	}
	return w.PostBody(ctx, id, body, nil)
}

// PostBody is Post for a body that is already JSON, with more headers.
func (w *Receiver) PostBody(ctx context.Context, id string, body []byte, more http.Header) (answer string, err error) {
	status, _, err := w.Exchange(ctx, id, body, more, w.secret)
	if err != nil {
		return "", Reason(err)
	}
	switch answer = fmt.Sprintf("%d %s", status, http.StatusText(status)); {
	case status/100 == 2:
		return answer, nil
	case status == http.StatusGone:
		return answer, ErrGone
	}
	return answer, errors.New("answered " + answer)
}

// Exchange posts a JSON body, signed with each of the secrets, and returns the status and the beginning of the answer.
// An error is net/http's, and includes the address.
func (w *Receiver) Exchange(ctx context.Context, id string, body []byte, more http.Header, secrets ...[]byte) (
	status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, errors.New("the address is invalid")
	}
	maps.Copy(req.Header, more)
	now := time.Now()
	for _, s := range secrets {
		if len(s) > 0 {
			sign(req.Header, s, id, now, body)
		}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "pennypost")
	resp, err := w.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, _ = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, answer, nil
}

// IsTLS reports whether an error of Exchange says that a receiver's identity could not be verified.
func IsTLS(err error) bool {
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	return unverified || record || alert
}

// envelope is the form of the body that Standard Webhooks recommends.
type envelope struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Data      any    `json:"data"`
}

// sign sets the three headers of Standard Webhooks. It keeps an existing signature beside the new one.
func sign(h http.Header, secret []byte, id string, at time.Time, body []byte) {
	seconds := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", id, seconds, body)
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", seconds)
	all := strings.TrimSpace(h.Get("webhook-signature") + " v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	h.Set("webhook-signature", all)
}

// Reason says why a request got no answer, without its address.
func Reason(err error) error {
	u, ok := errors.AsType[*url.Error](err)
	switch {
	case ok && u.Timeout():
		return errors.New("did not answer in time")
	case ok:
		return u.Err
	}
	return err
}
