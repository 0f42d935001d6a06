package events

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/kept"
	"pennypost/internal/base/webhook"
	"pennypost/internal/mail"
)

// Limits of subscriptions.
const (
	maxSubscriptions = 20  // per caller
	maxAll           = 500 // of all callers
	maxLife          = 24 * time.Hour
	minSecret        = 24 // bytes
	maxSecret        = 64
	maxArguments     = 8 << 10
	// bothSecrets is how long a replaced secret also signs.
	bothSecrets = 5 * time.Minute
	// trusted is how long an address that has proven itself need not do so again.
	trusted = 5 * time.Minute
)

// Owner is the owner of a subscription, with the hash of the token that proves it.
type Owner struct {
	Room  mail.RoomName `json:"room"`
	Agent mail.Name     `json:"agent"`
	Token string        `json:"token_sum"`
}

// Options configure subscriptions.
type Options struct {
	File string
	// Private allows addresses on this machine and in private networks, and without TLS.
	Private bool
	// Enter returns the room as an owner sees it, and makes ctx end with the owner's right. An error means that
	// there is no right, or that the room is unavailable.
	Enter func(ctx context.Context, o Owner) (mail.Service, error)
	Log   *slog.Logger
}

// Hooks are addresses that receive events. All methods are safe for concurrent use.
type Hooks struct {
	opts Options

	mu      sync.Mutex
	subs    map[string]*subscription
	ctx     context.Context // of deliveries; nil: Run has not started, or is over
	running sync.WaitGroup
}

// subscription is a saved subscription.
type subscription struct {
	ID        string          `json:"id"`
	Owner     Owner           `json:"owner"`
	URL       string          `json:"url"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Secret    []byte          `json:"secret"`
	Before    []byte          `json:"secret_before,omitempty"`
	Replaced  mail.Time       `json:"replaced,omitzero"` // when Secret replaced Before
	Proven    mail.Time       `json:"proven"`            // when the address last proved that it has the secret
	Expires   mail.Time       `json:"expires"`
	Cursor    string          `json:"cursor"` // after the last delivery

	stop context.CancelFunc // stops its deliveries; nil: none
}

// Subscribe is a caller's request. It renews an existing subscription with the same owner, address, name and
// arguments.
type Subscribe struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Delivery  struct {
		Mode   string `json:"mode"`
		URL    string `json:"url"`
		Secret string `json:"secret"`
	} `json:"delivery"`
	Cursor *string `json:"cursor"`
	MaxAge *int64  `json:"maxAgeMs"`
	Life   *int64  `json:"ttlMs"`
}

// Subscribed is the answer to Subscribe.
type Subscribed struct {
	ID            string `json:"id"`
	RefreshBefore string `json:"refreshBefore"`
	Cursor        string `json:"cursor"`
	Truncated     bool   `json:"truncated"`
}

// Open loads the saved subscriptions from a file, which need not exist.
func Open(opts Options) (*Hooks, error) {
	h := &Hooks{opts: opts, subs: make(map[string]*subscription)}
	var all []*subscription
	if err := kept.Load(opts.File, &all); err != nil {
		return nil, err
	}
	for _, s := range all {
		h.subs[s.ID] = s
	}
	return h, nil
}

// save writes the file. The caller holds mu.
func (h *Hooks) save() error {
	all := make([]*subscription, 0, len(h.subs))
	for _, s := range h.subs {
		all = append(all, s)
	}
	return kept.Save(h.opts.File, all)
}

// Run delivers until ctx ends, and returns when no delivery is in progress.
func (h *Hooks) Run(ctx context.Context) {
	h.mu.Lock()
	h.ctx = ctx
	for _, s := range h.subs {
		h.begin(s)
	}
	h.mu.Unlock()
	<-ctx.Done()
	h.mu.Lock()
	h.ctx = nil
	h.mu.Unlock()
	h.running.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.subs) == 0 {
		return
	}
	if err := h.save(); err != nil {
		h.opts.Log.Error("MCP Events: delivery not saved, will be repeated", "err", err)
	}
}

// begin starts deliveries to a subscription. The caller holds mu.
func (h *Hooks) begin(s *subscription) {
	if h.ctx == nil {
		return
	}
	ctx, stop := context.WithCancel(h.ctx)
	s.stop = stop
	one := *s
	h.running.Go(func() { h.deliver(ctx, &one) })
}

// Subscribe registers or renews a subscription if its address proves that it has the secret.
func (h *Hooks) Subscribe(ctx context.Context, o Owner, ask *Subscribe) (*Subscribed, error) {
	s, err := h.asked(o, ask)
	if err != nil {
		return nil, err
	}
	svc, err := h.opts.Enter(ctx, o)
	if err != nil {
		return nil, err
	}
	feed := &Feed{Service: svc, Room: o.Room, Agent: o.Agent}
	begun, err := feed.Poll(ctx, &Query{Name: s.Name, Arguments: s.Arguments, Cursor: ask.Cursor, MaxAge: ask.MaxAge})
	if err != nil {
		return nil, err
	}
	if s.Cursor = begun.Cursor; ask.Cursor != nil {
		s.Cursor = *ask.Cursor
	}
	h.mu.Lock()
	before := h.subs[s.ID]
	full := h.full(o, before)
	h.mu.Unlock()
	if full != nil {
		return nil, full
	}
	if before == nil || string(before.Secret) != string(s.Secret) || time.Since(before.Proven.Std()) > trusted {
		if err := h.verify(ctx, s); err != nil {
			return nil, err
		}
		s.Proven = mail.TimeOf(time.Now())
	}
	return h.keep(s, begun.Truncated)
}

// asked validates a caller's request.
func (h *Hooks) asked(o Owner, ask *Subscribe) (*subscription, error) {
	invalid := func(text string) error { return &Error{Code: InvalidParams, Message: text} }
	if ask.Delivery.Mode != "" && ask.Delivery.Mode != "webhook" {
		return nil, &Error{Unsupported, "events/subscribe supports webhook delivery only; poll and push need no " +
			"subscription",
			map[string]any{"mode": ask.Delivery.Mode}}
	}
	t, err := typeOf(ask.Name)
	if err != nil {
		return nil, err
	}
	if len(ask.Arguments) > maxArguments {
		return nil, invalid("the arguments are too long")
	}
	if _, err := t.parse(ask.Arguments); err != nil {
		return nil, err
	}
	if err := webhook.CheckAddress(ask.Delivery.URL, h.opts.Private); err != nil {
		return nil, invalid("delivery.url: " + err.Error())
	}
	encoded, is := strings.CutPrefix(ask.Delivery.Secret, "whsec_")
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if !is || err != nil || len(secret) < minSecret || len(secret) > maxSecret {
		return nil, invalid("delivery.secret must be whsec_ followed by 24 to 64 bytes in base64")
	}
	life := maxLife
	if ask.Life != nil {
		if *ask.Life < 1 {
			return nil, invalid("ttlMs is below 1")
		}
		life = min(life, time.Duration(min(*ask.Life, maxLife.Milliseconds()))*time.Millisecond)
	}
	s := &subscription{Owner: o, URL: ask.Delivery.URL, Name: ask.Name, Arguments: ask.Arguments, Secret: secret,
		Expires: mail.TimeOf(time.Now().Add(life))}
	s.ID = idOf(o, s.Name, s.URL, s.Arguments)
	return s, nil
}

// idOf returns an id that is the same for the same subscription, and different for every caller.
func idOf(o Owner, name, address string, arguments json.RawMessage) string {
	if text := strings.TrimSpace(string(arguments)); text == "" || text == "null" {
		arguments = json.RawMessage("{}")
	}
	var a any
	if jsonx.Unmarshal(arguments, &a) == nil {
		arguments, _ = jsonx.Marshal(a) // canonical order of members
	}
	sum := sha256.New()
	for _, part := range []string{string(o.Room), string(o.Agent), o.Token, address, name, string(arguments)} {
		sum.Write([]byte(part + "\x00"))
	}
	return "sub_" + hex.EncodeToString(sum.Sum(nil)[:16])
}

// full returns an error if a caller, or all together, have too many subscriptions. The caller holds mu.
func (h *Hooks) full(o Owner, before *subscription) error {
	own := 0
	for _, s := range h.subs {
		if s.Owner == o {
			own++
		}
	}
	switch {
	case before != nil:
	case own >= maxSubscriptions:
		return &Error{ResourceExhausted, "you have too many subscriptions", map[string]any{
			"limit": "subscriptions", "max": maxSubscriptions}}
	case len(h.subs) >= maxAll:
		return &Error{ResourceExhausted, "this server has too many subscriptions", map[string]any{
			"limit": "server", "max": maxAll}}
	}
	return nil
}

// keep starts a proven subscription and replaces the one before.
func (h *Hooks) keep(s *subscription, truncated bool) (*Subscribed, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.subs[s.ID]
	if err := h.full(s.Owner, before); err != nil {
		return nil, err
	}
	if before != nil {
		if s.Proven == 0 {
			s.Proven = before.Proven
		}
		s.Cursor, truncated = before.Cursor, false
		if s.Before, s.Replaced = before.Before, before.Replaced; string(before.Secret) != string(s.Secret) {
			s.Before, s.Replaced = before.Secret, mail.TimeOf(time.Now())
		}
	}
	h.subs[s.ID] = s
	if err := h.save(); err != nil {
		if delete(h.subs, s.ID); before != nil {
			h.subs[s.ID] = before
		}
		return nil, err
	}
	if before != nil && before.stop != nil {
		before.stop()
	}
	h.begin(s)
	return &Subscribed{ID: s.ID, RefreshBefore: s.Expires.Std().UTC().Format(time.RFC3339), Cursor: s.Cursor,
		Truncated: truncated}, nil
}

// Unsubscribe ends a subscription of a caller.
func (h *Hooks) Unsubscribe(o Owner, ask *Subscribe) error {
	if !h.drop(idOf(o, ask.Name, ask.Delivery.URL, ask.Arguments)) {
		return &Error{NotFound, "no such subscription", map[string]any{"kind": "subscription"}}
	}
	return nil
}

// drop removes a subscription, and reports whether it existed.
func (h *Hooks) drop(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.subs[id]
	if s == nil {
		return false
	}
	delete(h.subs, id)
	if s.stop != nil {
		s.stop()
	}
	if err := h.save(); err != nil {
		h.opts.Log.Error("MCP Events: end of a subscription not saved", "subscription", id, "err", err)
	}
	return true
}

// passed records the position of deliveries. Unsaved ones are repeated after a restart, with the same id.
func (h *Hooks) passed(id, at string, durably bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.subs[id]
	if s == nil {
		return
	}
	if s.Cursor = at; !durably {
		return
	}
	if err := h.save(); err != nil {
		h.opts.Log.Error("MCP Events: delivery not saved", "subscription", id, "err", err)
	}
}

// secrets returns the secrets that sign now, the present one first.
func (s *subscription) secrets(now time.Time) [][]byte {
	all := [][]byte{s.Secret}
	if len(s.Before) > 0 && now.Sub(s.Replaced.Std()) < bothSecrets {
		all = append(all, s.Before)
	}
	return all
}

// over reports whether a subscription was not renewed in time.
func (s *subscription) over(now time.Time) bool { return !now.Before(s.Expires.Std()) }

// message is a POST body other than an event.
type message struct {
	Type      string `json:"type"`
	Challenge string `json:"challenge,omitempty"`
	Cursor    string `json:"cursor,omitempty"`
	Error     *Error `json:"error,omitempty"`
}
