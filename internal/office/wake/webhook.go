package wake

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// Webhook is a door on the far side of HTTP: each ring is a POST, signed as Standard Webhooks
// (https://github.com/standard-webhooks/standard-webhooks, specification 1.0.0) says. It was rung if the answer is of
// status 2xx; 410 turns it off.
type Webhook struct {
	url    string
	secret []byte
	client *http.Client
}

var _ Waker = (*Webhook)(nil)

// maxRedirects is how often a webhook may send us on.
const maxRedirects = 3

// NewWebhook returns a door at an address. secret is the signing key itself, not its base64. A zero limit is 30 s.
func NewWebhook(address string, secret []byte, limit time.Duration) *Webhook {
	return &Webhook{url: address, secret: secret, client: &http.Client{
		Timeout:       timeout(limit),
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}, // rings are rare
		CheckRedirect: sameHost,
	}}
}

var errRedirect = errors.New(
	"it redirects to another host, or in a way that does not repeat the request; set the address where it leads")

// sameHost lets a request be repeated on the host that was configured, and nowhere else: a signature is a credential.
func sameHost(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	if next.Method != http.MethodPost || next.URL.Host != first.Host || next.URL.Scheme != first.Scheme ||
		len(via) > maxRedirects {
		return errRedirect
	}
	return nil
}

// Door implements Waker.
func (w *Webhook) Door() string { return "webhook" }

// Ring implements Waker.
func (w *Webhook) Ring(ctx context.Context, r Ring) error {
	now := time.Now()
	body, err := jsonx.Marshal(envelope{Type: "pennypost.wake", Timestamp: mail.TimeOf(now), Data: &r})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address is none")
	}
	sign(req.Header, w.secret, r.ID, now, body)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "pennypost")
	resp, err := w.client.Do(req)
	if err != nil {
		return reason(err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxOutput)
	switch {
	case resp.StatusCode/100 == 2:
		return nil
	case resp.StatusCode == http.StatusGone:
		return fmt.Errorf("answered 410 Gone: %w", ErrOff)
	}
	return fmt.Errorf("answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
}

// envelope is the form of the body that Standard Webhooks recommends.
type envelope struct {
	Type      string    `json:"type"`
	Timestamp mail.Time `json:"timestamp"`
	Data      *Ring     `json:"data"`
}

// sign sets the three headers of Standard Webhooks.
func sign(h http.Header, secret []byte, id string, at time.Time, body []byte) {
	seconds := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", id, seconds, body)
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", seconds)
	h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// reason says why there is no answer, without the address: its path may be a secret.
func reason(err error) error {
	u, ok := errors.AsType[*url.Error](err)
	switch {
	case ok && u.Timeout():
		return errors.New("did not answer in time")
	case ok:
		return u.Err
	}
	return err
}
