//go:build linux

package proof

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"pennypost/internal/mail"
)

// sender sends numbered drafts one after the other and keeps a record.
type sender struct {
	*book
	seed       uint64
	room       mail.RoomName
	recipients []string
	keyed      bool // it repeats a draft with its key until it knows the outcome
	kind       mail.Type
	pace       time.Duration // the longest pause between two drafts
	send       func(ctx context.Context, d mail.Draft) (mail.Sent, error)
}

// over makes s send by HTTP.
func (s *sender) over(d *door) *sender {
	s.send = func(ctx context.Context, draft mail.Draft) (sent mail.Sent, err error) {
		err = d.do(ctx, http.MethodPost, "/rooms/"+string(s.room)+"/messages", draft, &sent)
		return sent, err
	}
	return s
}

// draft returns the n-th draft.
func (s *sender) draft(n int) mail.Draft {
	d := draftOf(s.seed, s.client, n, s.recipients)
	if s.kind != "" {
		d.Type = string(s.kind)
	}
	if s.keyed {
		d.Key = s.client + " " + time.Duration(n).String()
	}
	return d
}

// run sends until ctx ends.
func (s *sender) run(ctx context.Context) {
	for n := 1; ctx.Err() == nil; n++ {
		s.one(ctx, n)
		pause(ctx, rand.N(s.pace))
	}
}

// one sends a draft. A call that is under way when ctx ends is finished.
func (s *sender) one(ctx context.Context, n int) {
	o := op{Kind: "send", Call: s.now(), Room: s.room, N: n, Keyed: s.keyed}
	doubt := false
	for {
		sent, err := s.send(context.WithoutCancel(ctx), s.draft(n))
		o.Message, o.Seq, o.Outcome, o.Kept = sent.ID, sent.Seq, outcomeOf(err), sent.Kept != nil
		doubt = doubt || o.Outcome == unknown
		if doubt && o.Outcome == refused {
			o.Outcome = unknown // an earlier attempt may have arrived
		}
		again := s.keyed && o.Outcome != done && (doubt || codeOf(err) == "")
		if !again || ctx.Err() != nil {
			s.add(o, err)
			break
		}
		pause(ctx, 50*time.Millisecond)
	}
	if o.Outcome != done {
		pause(ctx, 20*time.Millisecond) // no one listens just now
	}
}

// pause returns after d, or when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
