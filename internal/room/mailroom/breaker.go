package mailroom

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// breaker keeps agents from writing too much. It remembers what this process saw sent, in memory: after a restart all
// counters begin at zero.
type breaker struct {
	limits policy.Limits

	mu        sync.Mutex
	own       map[mail.ID]bool // messages that this process is sending
	senders   map[mail.Name]*policy.Allowance
	exchanges map[exchange]*policy.Exchange
	repeats   map[repeat]sentAt
	reported  map[string]time.Time // trips of which the person was told, and when
	swept     time.Time
}

// pair is two agents in alphabetical order.
type pair [2]mail.Name

func pairOf(a, b mail.Name) pair {
	if a > b {
		a, b = b, a
	}
	return pair{a, b}
}

// exchange is what two agents say to each other: all of it, or what wakes the other.
type exchange struct {
	pair
	wakes bool
}

// limits returns the limits of an exchange.
func (x exchange) limits(l policy.Limits) policy.Limits {
	if x.wakes {
		return l.Waking()
	}
	return l
}

// repeat stands for what makes two messages the same: the beginning of a hash, because those of minutes are
// remembered. The zero value: nothing is the same as this message.
type repeat [16]byte

type sentAt struct {
	id mail.ID
	at int64 // in nanoseconds since 1970
}

func (s sentAt) ago(now time.Time) time.Duration { return time.Duration(now.UnixNano() - s.at) }

func newBreaker(l policy.Limits) *breaker {
	return &breaker{
		limits: l.WithDefaults(), senders: make(map[mail.Name]*policy.Allowance),
		exchanges: make(map[exchange]*policy.Exchange),
		repeats:   make(map[repeat]sentAt), reported: make(map[string]time.Time),
	}
}

// trip is a limit that a message ran into.
type trip struct {
	what  string // identifies it, so that the person is told once
	limit string // as the configuration calls it
	err   error  // for the sender; nil: the message that it repeats is its answer
	note  string // for the person
}

// admit decides whether m, which is for these peers among others, may be sent; r is what repeatOf says of m. same is
// the message that it repeats, if it does, which is a trip too. The person's messages always may, and bring exchanges
// back to their beginning, as do messages about tasks.
func (b *breaker) admit(m *mail.Message, peers []peer, r repeat, again bool, depth int, now time.Time) (same mail.ID,
	tripped *trip) {
	from := m.From.Signer()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sweep(now)
	switch from {
	case mail.System:
		return "", nil
	case mail.User:
		b.reset(m, peers, func(p pair, to mail.Name) bool { return p[0] == to || p[1] == to })
		return "", nil
	}
	if id := b.repeated(r, now); id != "" && !again {
		return id, &trip{
			what: fmt.Sprint("repeat ", m.From, " ", m.To[0]), limit: "repeat_window",
			note: fmt.Sprintf("%s sent the same text to %s again within %v. It was not delivered twice.", from,
				m.To[0],
				b.limits.RepeatWindow),
		}
	}
	if b.limits.Depth >= 0 && depth > b.limits.Depth {
		return "", &trip{
			what: "depth " + string(m.ThreadRoot()), limit: "depth",
			err: mail.Errorf(mail.Limited, "this conversation is %d replies deep without a word from the user: "+
				"nothing was sent. It can go on when the user has written into it", depth),
			note: fmt.Sprintf("The conversation %s is %d replies deep. The last one, by %s, was refused. Write "+
				"into it if it should go on.", m.ThreadRoot(), depth, from),
		}
	}
	if t := b.exchange(m, peers, from, now); t != nil {
		return "", t
	}
	a := b.senders[from]
	if a == nil {
		a = new(policy.Allowance)
		b.senders[from] = a
	}
	if ok, wait := a.Take(b.limits, now); !ok {
		return "", &trip{
			what: "rate " + string(from), limit: "per_minute",
			err: mail.Errorf(mail.Limited, "%s has sent more than %d messages in a minute: nothing was sent. Wait %v",
				from, b.limits.PerMinute, wait.Round(time.Second)+time.Second),
			note: fmt.Sprintf("%s sent more than %d messages a minute; some were refused.", from, b.limits.PerMinute),
		}
	}
	return "", nil
}

// exchange counts m among what its sender and its recipients say to each other.
func (b *breaker) exchange(m *mail.Message, peers []peer, from mail.Name, now time.Time) *trip {
	if m.Type.Rule().AboutTask {
		b.reset(m, peers, func(p pair, to mail.Name) bool { return p == pairOf(from, to) })
		return nil
	}
	for _, to := range peers {
		if to.name == from {
			continue
		}
		p := pairOf(from, to.name)
		kinds := []exchange{{p, false}}
		if to.woken {
			kinds = append(kinds, exchange{p, true})
		}
		for _, k := range kinds {
			x := b.exchanges[k]
			if x == nil {
				x = new(policy.Exchange)
				b.exchanges[k] = x
			}
			l := k.limits(b.limits)
			if x.Turn(l, string(from), now) {
				continue
			}
			return &trip{
				what: fmt.Sprint("exchange ", p), limit: "exchanges",
				err: mail.Errorf(mail.Limited, "you and %s have answered each other %d times in %v without a word "+
					"from the user or about a task: nothing was sent. Stop thanking; a word from the user to either "+
					"lets you go on",
					to.name, l.Exchanges, l.ExchangeWindow),
				note: fmt.Sprintf("%s and %s answered each other %d times in %v, and %s's last message was refused. "+
					"A word from you to either lets them go on.", p[0], p[1], l.Exchanges, l.ExchangeWindow, from),
			}
		}
	}
	return nil
}

// peer is an agent who will get a message.
type peer struct {
	name  mail.Name
	woken bool // by messages like this one
}

// peers returns the agents that a message is for by name, or as the holder of a role whose turn it is, if it is sent
// to some addresses.
func (s *state) peers(m *mail.Message, to []mail.Address) []peer {
	out := make([]peer, 0, len(to))
	for _, a := range to {
		var name mail.Name
		switch a.Kind() {
		case mail.ToAgent:
			name = a.Signer()
		case mail.ToRole:
			role := a.Value()
			name = policy.Next(s.holders(role, s.members[m.From.Signer()]), s.rotation[role])
		}
		if name != "" {
			out = append(out, peer{name, policy.Wakes(m.Type, m.Priority, m.From, a, a == mail.ToOrchestrator)})
		}
	}
	return out
}

// reset lets exchanges begin anew that m concerns: those for which which holds with one of its peers, and all if it is
// not for agents by name, or by roles that somebody has.
func (b *breaker) reset(m *mail.Message, peers []peer, which func(p pair, to mail.Name) bool) {
	everybody := slices.ContainsFunc(m.To, func(a mail.Address) bool {
		return a.Kind() != mail.ToAgent && a.Kind() != mail.ToRole && a.Kind() != mail.ToPerson
	})
	for x := range b.exchanges {
		if everybody || slices.ContainsFunc(peers, func(to peer) bool { return which(x.pair, to.name) }) {
			delete(b.exchanges, x)
		}
	}
}

// repeated returns the id of the message that was last sent with the same r, "" if none was within the window.
func (b *breaker) repeated(r repeat, now time.Time) mail.ID {
	if s, known := b.repeats[r]; known && s.ago(now) <= b.limits.RepeatWindow {
		return s.id
	}
	return ""
}

// repeatOf returns what identifies a repetition of m: only mail to one agent by name can be one.
func (b *breaker) repeatOf(m *mail.Message) repeat {
	ownKey := m.Key != "" && !strings.HasPrefix(m.Key, mail.MadeKey) // its sender says by the key what is the same
	if b.limits.RepeatWindow < 0 || len(m.To) != 1 || m.To[0].Kind() != mail.ToAgent || ownKey ||
		m.From == mail.ToUser || m.From == mail.FromSystem {
		return repeat{}
	}
	var room [2 << 10]byte // for most messages, without an allocation
	text := room[:0]
	for _, part := range []string{string(m.From), string(m.To[0]), string(m.Type), string(m.ReplyTo), m.Subject,
		m.Body} {
		text = append(append(text, part...), 0)
	}
	if m.Suggests { // the same words of somebody who has been passed the question on meanwhile are its answer
		text = append(text, "suggests\x00"...)
	}
	sum := sha256.Sum256(append(text, m.Metadata...))
	return repeat(sum[:len(repeat{})])
}

// sent remembers a message that was sent.
func (b *breaker) sent(r repeat, id mail.ID, now time.Time) {
	if r == (repeat{}) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.repeats[r] = sentAt{id, now.UnixNano()}
}

// news reports whether the person has not been told of a trip within the window.
func (b *breaker) news(t *trip, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at, ok := b.reported[t.what]; ok &&
		now.Sub(at) < max(b.limits.ExchangeWindow, policy.DefaultExchangeWindow) {
		return false
	}
	b.reported[t.what] = now
	return true
}

// sweepEvery bounds what is remembered without asking at each message.
const sweepEvery = time.Minute

func (b *breaker) sweep(now time.Time) {
	if now.Sub(b.swept) < sweepEvery {
		return
	}
	b.swept = now
	for r, s := range b.repeats {
		if s.ago(now) > b.limits.RepeatWindow {
			delete(b.repeats, r)
		}
	}
	for from, a := range b.senders {
		if a.Full(b.limits, now) {
			delete(b.senders, from)
		}
	}
	for p, x := range b.exchanges {
		if x.Old(p.limits(b.limits), now) {
			delete(b.exchanges, p)
		}
	}
	for what, at := range b.reported {
		if now.Sub(at) > time.Hour {
			delete(b.reported, what)
		}
	}
}

// admit asks the breaker about a planned message. A repetition is answered with the message that it repeats.
func (v *view) admit(ctx context.Context, p *plan, again bool) (*mail.Sent, error) {
	now := v.opts.Now()
	m := p.here()
	p.repeat = v.breaker.repeatOf(m)
	var known mail.Seq
	v.read(func(s *state, _ mail.Time) { known = s.seq })
	same, tripped := v.breaker.admit(m, p.peers, p.repeat, again, p.depth, now)
	if tripped == nil {
		if v.opts.Machine != "" && !again && p.repeat != (repeat{}) {
			p.message.Same, p.message.Checked = p.repeat.String(), known
		}
		return nil, nil
	}
	var sent *mail.Sent
	v.read(func(s *state, now mail.Time) {
		if r := s.records[same]; r != nil && r.settled == nil {
			sent = new(v.sent(s, r, now))
			sent.Duplicate = true
		}
	})
	if tripped.err == nil && sent == nil { // what it repeats was erased since, or is settled and asked anew
		return v.admit(ctx, p, true)
	}
	return sent, v.tripped(ctx, tripped)
}

// tripped tells the person of a trip, once, and returns what its cause is told.
func (v *view) tripped(ctx context.Context, t *trip) error {
	v.opts.Observe.Tripped()
	if v.breaker.news(t, v.opts.Now()) {
		v.tellUser(ctx, "A limit was reached", t.note+" The limit is "+t.limit+" in [room.limits] of config.toml.")
	}
	return t.err
}

// tellUser puts a notice of the post office into the person's mailbox. That it could not be written is logged: whoever
// caused it has no part in that.
func (r *Room) tellUser(ctx context.Context, subject, body string) {
	if _, err := r.As(mail.System).Send(context.WithoutCancel(ctx), mail.Draft{To: mail.Recipients{string(mail.User)},
		Type: string(mail.Status), Subject: subject, Body: body}); err != nil {
		r.opts.Log.Warn("notice to the user not written", "room", r.name, "err", err)
	}
}

// sameText is a message that a repetition is known by.
type sameText struct {
	same string // mail.Message.Same
	id   mail.ID
	seq  mail.Seq
}

// maxRecent is how many messages another may be found to repeat that was checked before they were known: those of
// seconds, in a room with as much mail as there can be.
const maxRecent = 4096

// repeats returns the message that m repeats and that its post office did not know of; nil if there is none. What came
// before the last checkpoint is not asked about, so that replay of a compacted journal finds the same.
func (s *state) repeats(m *mail.Message) *sameText {
	if m.Same == "" {
		return nil
	}
	return sameBehind(s.recent, m)
}

// sameBehind returns the last of some messages with the text of m that its post office did not know of.
func sameBehind(recent []sameText, m *mail.Message) *sameText {
	for i := len(recent) - 1; i >= 0 && recent[i].seq > m.Checked; i-- {
		if recent[i].same == m.Same {
			return &recent[i]
		}
	}
	return nil
}

// repeated returns the message because of which m did not count. A checkpoint may have come since.
func (s *state) repeated(m *mail.Message) sameText {
	if first := cmp.Or(sameBehind(s.recent, m), sameBehind(s.formerly, m)); first != nil {
		return *first
	}
	return sameText{}
}

// noteText remembers a message for repeats.
func (s *state) noteText(e *mail.Event) {
	if e.Message.Same == "" {
		return
	}
	if len(s.recent) == maxRecent {
		s.recent = append(s.recent[:0], s.recent[maxRecent/2:]...)
	}
	s.recent = append(s.recent, sameText{strings.Clone(e.Message.Same), mail.ID(strings.Clone(string(e.Message.ID))),
		e.Seq})
}

// String returns r as it stands in a journal.
func (r repeat) String() string { return base64.RawURLEncoding.EncodeToString(r[:]) }

// sending notes, until done, that this process sends a message.
func (b *breaker) sending(id mail.ID) (done func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.own == nil {
		b.own = make(map[mail.ID]bool)
	}
	b.own[id] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.own, id)
	}
}

// mine reports whether this process is sending a message.
func (b *breaker) mine(id mail.ID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.own[id]
}

// peersOf is peers for a message that was sent.
func (s *state) peersOf(r *record) (out []peer) {
	for i := range r.bound {
		b := &r.bound[i]
		if h := b.holder(); h != nil && (b.isRole() || b.address.Kind() == mail.ToAgent) {
			out = append(out, peer{h.Name, r.wakes(b.address, h.hasRole(string(mail.Orchestrator)))})
		}
	}
	return out
}

// heard counts a message that was sent through the post office of another machine, as far as limits are on what
// agents send each other. Nothing is refused by it.
func (b *breaker) heard(m *mail.Message, peers []peer, now time.Time) {
	_, _ = b.admit(m, peers, repeat{}, true, 0, now) // by which it is counted
	if m.Same == "" {
		return
	}
	var r repeat
	if n, err := base64.RawURLEncoding.Decode(r[:], []byte(m.Same)); err == nil && n == len(r) {
		b.sent(r, mail.ID(strings.Clone(string(m.ID))), now)
	}
}
