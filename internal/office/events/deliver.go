package events

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/life"
	"pennypost/internal/base/pause"
	"pennypost/internal/base/webhook"
	"pennypost/internal/mail"
)

const (
	// verifyFor is how long an address may take to prove itself while its caller waits.
	verifyFor = 5 * time.Second
	postFor   = 10 * time.Second
	// maxBody is the receivers' limit.
	maxBody = 256 << 10
	// A failed delivery is retried after firstPause, then with doubled pauses up to longestPause.
	firstPause   = time.Second
	longestPause = 10 * time.Minute
	// lookEvery is how often an idle delivery checks whether the subscription is over.
	lookEvery = 30 * time.Second
	// again is the pause before retrying a room that is unavailable.
	again = 5 * time.Second
	// saveEvery is how often the position is saved during many deliveries.
	saveEvery = time.Second
)

// verify makes an address prove that it has the subscription's secret and wants its events.
func (h *Hooks) verify(ctx context.Context, s *subscription) error {
	challenge := rand.Text()
	body, err := jsonx.Marshal(message{Type: "verification", Challenge: challenge})
	if err != nil {
		return err
	}
	var answer struct {
		Challenge string `json:"challenge"`
	}
	status, text, err := h.post(ctx, s, "msg_verification_"+rand.Text(), body, verifyFor)
	reason := ""
	switch {
	case err != nil:
		reason = reasonOf(err)
	case status/100 == 4:
		reason = "http_4xx"
	case status/100 != 2:
		reason = "http_5xx"
	case jsonx.Unmarshal(text, &answer) != nil ||
		subtle.ConstantTimeCompare([]byte(answer.Challenge), []byte(challenge)) != 1:
		reason = "challenge_failed"
	default:
		return nil
	}
	return &Error{CallbackEndpointError, "the server at delivery.url did not prove that it has the secret",
		map[string]any{"reason": reason}}
}

// reasonOf returns the protocol's word for a failed request. The network's own error is not passed on.
func reasonOf(err error) string {
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case webhook.IsTLS(err):
		return "tls_error"
	}
	return "connection_refused"
}

// post sends a body to a subscription's address.
func (h *Hooks) post(ctx context.Context, s *subscription, id string, body []byte, limit time.Duration) (status int,
	answer []byte, err error) {
	to := webhook.New(s.URL, nil, limit).Straight()
	if !h.opts.Private {
		to = to.Public()
	}
	return to.Exchange(ctx, id, body, http.Header{"X-MCP-Subscription-Id": {s.ID}}, s.secrets(time.Now())...)
}

// deliver delivers events to a subscription until ctx or the subscription ends.
func (h *Hooks) deliver(ctx context.Context, s *subscription) {
	for {
		err := h.deliverWhile(ctx, s)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, webhook.ErrGone), s.over(time.Now()):
			h.drop(s.ID)
			return
		case isOver(err):
			h.opts.Log.Info("MCP Events: subscription ended", "room", s.Owner.Room, "agent", s.Owner.Agent,
				"err", err)
			h.drop(s.ID)
			h.terminate(s, err)
			return
		}
		h.opts.Log.Warn("MCP Events: delivery delayed", "room", s.Owner.Room, "agent", s.Owner.Agent, "err", err)
		if !pause.For(ctx, again) {
			return
		}
	}
}

// terminate tells an address, once, that its subscription has ended. The message has no data of the room.
func (h *Hooks) terminate(s *subscription, why error) {
	body, err := jsonx.Marshal(message{Type: "terminated", Error: Ended(why)})
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), postFor)
	defer cancel()
	_, _, _ = h.post(ctx, s, "msg_terminated_"+s.ID, body, postFor)
}

// deliverWhile delivers while the owner's right lasts. An error says why it ended.
func (h *Hooks) deliverWhile(ctx context.Context, s *subscription) error {
	ctx, end := life.Begin(ctx)
	defer end()
	svc, err := h.opts.Enter(ctx, s.Owner)
	if err != nil {
		return err
	}
	feed := &Feed{Service: svc, Room: s.Owner.Room, Agent: s.Owner.Agent}
	fw, _, err := feed.follow(ctx, &Query{Name: s.Name, Arguments: s.Arguments, Cursor: &s.Cursor})
	if err != nil {
		return err
	}
	w, err := svc.Watch(ctx, fw.after)
	if err != nil {
		return err
	}
	defer w.Close()
	saved := time.Now()
	for !s.over(time.Now()) {
		found, _, gap, silent, err := fw.nextWithin(ctx, lookEvery, w, 0)
		if why := life.Err(ctx); why != nil {
			return why
		}
		if err != nil && !silent {
			return err
		}
		if err := h.tell(ctx, s, found, gap); err != nil {
			return err
		}
		s.Cursor = cursor(fw.after)
		durably := len(found) > 0 && time.Since(saved) > saveEvery || silent
		if h.passed(s.ID, s.Cursor, durably); durably {
			saved = time.Now()
		}
	}
	return nil
}

// tell delivers occurrences to a subscription.
func (h *Hooks) tell(ctx context.Context, s *subscription, found []Occurrence, gap bool) error {
	if gap {
		body, err := jsonx.Marshal(message{Type: "gap", Cursor: s.Cursor})
		if err != nil {
			return err
		}
		if err := h.insist(ctx, s, "msg_gap_"+s.Cursor, body); err != nil {
			return err
		}
	}
	for i := range found {
		body, err := jsonx.Marshal(&found[i])
		if err != nil {
			return err
		}
		if len(body) > maxBody {
			continue
		}
		if err := h.insist(ctx, s, found[i].ID, body); err != nil {
			return err
		}
	}
	return nil
}

// insist retries a POST until the address accepts it or the subscription is over.
func (h *Hooks) insist(ctx context.Context, s *subscription, id string, body []byte) error {
	for wait := firstPause; ; wait = min(2*wait, longestPause) {
		if err := life.Err(ctx); err != nil {
			return err
		}
		status, _, err := h.post(ctx, s, id, body, postFor)
		switch {
		case err == nil && (status/100 == 2 || status == http.StatusRequestEntityTooLarge):
			return nil
		case status == http.StatusGone:
			return webhook.ErrGone
		case s.over(time.Now()):
			return mail.Errorf(mail.Unavailable, "it was not renewed in time")
		}
		h.opts.Log.Debug("MCP Events: not delivered", "subscription", s.ID, "status", status, "err", err)
		if !pause.For(ctx, wait) {
			return ctx.Err()
		}
	}
}
