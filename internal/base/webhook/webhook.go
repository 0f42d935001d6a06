// Package webhook sends POSTs that are signed as Standard Webhooks
// (https://github.com/standard-webhooks/standard-webhooks, specification 1.0.0) says.
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
	maxRedirects = 3 // how often a receiver may send us on
	maxAnswer    = 4 << 10
)

// ErrGone says that the receiver answered 410: it does not want to hear anything any more.
var ErrGone = errors.New("answered 410 Gone")

// Receiver is who is sent to. Its errors are for people, and do not tell the address: its path may be a secret.
type Receiver struct {
	url    string
	secret []byte
	client *http.Client
}

// New returns the receiver at an address. secret is the signing key itself, not its base64; nothing is signed without.
func New(address string, secret []byte, limit time.Duration) *Receiver {
	return &Receiver{url: address, secret: secret, client: &http.Client{
		Timeout:       limit,
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}, // requests are rare
		CheckRedirect: SameHost,
	}}
}

// Public returns the receiver for an address that a stranger gave: nothing is sent to this machine or to private
// networks, whatever the address's name leads to at that moment, and by no proxy, which could be led there.
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

// Straight returns the receiver for which a redirect is an answer like others.
func (w *Receiver) Straight() *Receiver {
	out, client := *w, *w.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	out.client = &client
	return &out
}

// MaxAddress is how many bytes an address that a stranger gave may have.
const MaxAddress = 2 << 10

// CheckAddress reports whether something may be sent to an address that a stranger gave, as far as its text tells.
// private allows this machine and private networks, and http.
func CheckAddress(text string, private bool) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || len(text) > MaxAddress ||
		u.Scheme != "https" && !(private && u.Scheme == "http") {
		return errors.New("begin it with https://, and leave out passwords and fragments")
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !private && !IsPublic(ip) {
		return errPrivate
	}
	return nil
}

var errPrivate = errors.New("it leads to a private address")

// private are networks that are not of the internet, beside those that netip knows.
var private = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("2001::/32")}

// IsPublic reports whether an address is of the internet, and leads to no private network by way of another one.
func IsPublic(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsGlobalUnicast() && !a.IsPrivate() &&
		!slices.ContainsFunc(private, func(p netip.Prefix) bool { return p.Contains(a.WithZone("")) })
}

var errRedirect = errors.New(
	"it redirects to another host, or in a way that does not repeat the request; set the address where it leads")

// SameHost lets a request be repeated on the host that was configured, and nowhere else: what it is signed or
// authorised with is a credential.
func SameHost(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	if next.Method != http.MethodPost || next.URL.Host != first.Host || next.URL.Scheme != first.Scheme ||
		len(via) > maxRedirects {
		return errRedirect
	}
	return nil
}

// Post sends data under an id, which stays the same when it is sent again. kind is the type of the event. It has
// arrived if the answer is of status 2xx, and answer is that status.
func (w *Receiver) Post(ctx context.Context, id, kind string, data any) (answer string, err error) {
	now := time.Now()
	body, err := jsonx.Marshal(envelope{Type: kind, Timestamp: now.UTC().Format("2006-01-02T15:04:05.000Z"),
		Data: data})
	if err != nil {
		return "", err
	}
	return w.PostBody(ctx, id, body, nil)
}

// PostBody is Post of a body that is JSON already, with more headers.
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

// Exchange posts a body that is JSON, signed by each of some secrets, and returns the status and the beginning of the
// answer. An error is net/http's, and tells the address.
func (w *Receiver) Exchange(ctx context.Context, id string, body []byte, more http.Header, secrets ...[]byte) (
	status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, errors.New("the address is none")
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

// IsTLS reports whether an error of Exchange says that a receiver could not be told from others.
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

// sign sets the three headers of Standard Webhooks. A signature that is there stays beside the new one.
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
