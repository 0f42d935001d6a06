package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/internal/mail"
)

// Limits of requests between machines.
const (
	// MaxAsk and MaxAnswer are the longest request and answer, in bytes.
	MaxAsk    = 64 << 10
	MaxAnswer = 16 << 20
	// askPatience is the time limit of a request whose context has none.
	askPatience = 5 * time.Second
	// asksAtOnce is how many requests from other machines are answered at the same time.
	asksAtOnce = 16
	// chunk is the most bytes of an answer in one message. Servers accept 1 MiB by default.
	chunk = 256 << 10
)

// Headers of requests and answers.
const (
	fromHeader = "Pennypost-From" // the machine that asks
	codeHeader = "Pennypost-Code" // of an error; the answer is its text
	moreHeader = "Pennypost-More" // another message with the rest follows
)

// handlers answer the requests of other machines.
type handlers struct {
	slots   chan struct{}
	running sync.WaitGroup

	mu sync.Mutex
	by map[string]Handler
}

// Handler answers a request of a machine. If it fails, the other machine sees the code and the text of a mail.Error.
type Handler func(ctx context.Context, from mail.Machine, request []byte) ([]byte, error)

// Serve makes h answer the requests on a subject, which is one word, from now on.
func (m *Machines) Serve(subject string, h Handler) {
	m.handlers.mu.Lock()
	defer m.handlers.mu.Unlock()
	if m.handlers.by == nil {
		m.handlers.by = make(map[string]Handler)
	}
	m.handlers.by[subject] = h
}

// asked answers a request of another machine, concurrently with the next one.
func (m *Machines) asked(ctx context.Context, msg *nats.Msg) {
	subject := msg.Subject[len(m.ask)+len(word(m.opts.Name))+1:]
	m.handlers.mu.Lock()
	h := m.handlers.by[subject]
	m.handlers.mu.Unlock()
	if h == nil {
		m.answer(msg, nil, mail.Errorf(mail.NotFound, "the post office of %s does not know this request; it may be "+
			"an older version", m.opts.Name))
		return
	}
	select {
	case m.handlers.slots <- struct{}{}:
	default:
		m.answer(msg, nil, mail.Errorf(mail.Limited, "%s is busy; try again in a moment", m.opts.Name))
		return
	}
	m.handlers.running.Go(func() {
		defer func() { <-m.handlers.slots }()
		ctx, cancel := context.WithTimeout(ctx, askPatience)
		defer cancel()
		text, err := h(ctx, mail.Machine(msg.Header.Get(fromHeader)), msg.Data)
		m.answer(msg, text, err)
	})
}

// answer sends the answer to a request, in as many messages as it needs.
func (m *Machines) answer(msg *nats.Msg, text []byte, err error) {
	if err == nil && len(text) > MaxAnswer {
		err = mail.Errorf(mail.TooLarge, "the answer of %s would have %d bytes; the limit is %d", m.opts.Name,
			len(text),
			MaxAnswer)
	}
	out := nats.NewMsg(msg.Reply)
	if err != nil {
		said, ok := errors.AsType[*mail.Error](err)
		if !ok {
			m.opts.Log.Warn("request of another machine failed", "subject", msg.Subject, "err", err)
			said = &mail.Error{Code: mail.Internal, Msg: "an error on " + string(m.opts.Name) +
				"; see its log"}
		}
		out.Header.Set(codeHeader, string(said.Code))
		text = []byte(said.Msg)
	}
	for len(text) > chunk {
		part := nats.NewMsg(msg.Reply)
		part.Header.Set(moreHeader, "1")
		part.Data, text = text[:chunk], text[chunk:]
		if m.nc.PublishMsg(part) != nil {
			return // the asking machine times out
		}
	}
	out.Data = text
	_ = m.nc.PublishMsg(out)
}

// Ask asks another machine and returns its answer. The error of its handler is returned unchanged; code Unavailable
// means that the machine is not there, and Timeout that it did not answer in time: within ctx, or 5 s.
func (m *Machines) Ask(ctx context.Context, to mail.Machine, subject string, request []byte) ([]byte, error) {
	if len(request) > MaxAsk {
		return nil, mail.Errorf(mail.TooLarge, "a request to another machine has %d bytes; the limit is %d",
			len(request), MaxAsk)
	}
	if !m.nc.IsConnected() {
		return nil, mail.Errorf(mail.Unavailable, "%s is not reachable: the NATS servers cannot be reached", to)
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	inbox := m.nc.NewInbox()
	answers, err := m.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", to, err)
	}
	defer func() { _ = answers.Unsubscribe() }()
	msg := nats.NewMsg(m.ask + word(to) + "." + subject)
	msg.Reply, msg.Data = inbox, request
	msg.Header.Set(fromHeader, string(m.opts.Name))
	if err := m.nc.PublishMsg(msg); err != nil {
		return nil, fmt.Errorf("ask %s: %w", to, err)
	}
	var text []byte
	for {
		part, err := answers.NextMsgWithContext(ctx)
		switch {
		case errors.Is(err, nats.ErrNoResponders):
			return nil, mail.Errorf(mail.Unavailable, "the post office of %s is not running", to)
		case err != nil:
			return nil, &mail.Error{Code: mail.Timeout, Msg: "the post office of " + string(to) +
				" did not answer in time", Err: err}
		case len(text)+len(part.Data) > MaxAnswer:
			return nil, mail.Errorf(mail.TooLarge, "the answer of %s exceeds %d bytes", to, MaxAnswer)
		}
		if code := part.Header.Get(codeHeader); code != "" {
			return nil, &mail.Error{Code: mail.Code(code), Msg: string(part.Data)}
		}
		text = append(text, part.Data...)
		if part.Header.Get(moreHeader) == "" {
			return text, nil
		}
	}
}
