package openalice

import (
	"context"
	"slices"
	"sync"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// pushes caches the pushes of one room's agents to the user. Only erasing changes old ones, and reading the whole
// archive for each page of an inbox that is polled every 20 s would take seconds.
type pushes struct {
	mu    sync.Mutex
	upTo  mail.Seq // all pushes up to this sequence number are known
	known []spot   // in order, with the labels in their metadata
}

// mostPushes is the maximum number kept per room, about 10 MB. Beyond it, the newest are read each time.
const mostPushes = 1 << 16

// pushesIn returns the pushes of a room.
func (b *Inbox) pushesIn(room mail.RoomName) *pushes {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pushes == nil {
		b.pushes = make(map[mail.RoomName]*pushes)
	}
	if b.pushes[room] == nil {
		b.pushes[room] = new(pushes)
	}
	return b.pushes[room]
}

// all returns the pushes of a room.
func (p *pushes) all(ctx context.Context, svc mail.Service) ([]spot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	st, err := svc.Status(ctx)
	if err != nil {
		return nil, err
	}
	if st.Seq < p.upTo { // the journal was restored from a backup
		p.upTo, p.known = 0, nil
	}
	more, err := pushedAfter(ctx, svc, p.upTo)
	if err != nil {
		return nil, err
	}
	list := append(slices.Clip(p.known), more...)
	if len(list) <= mostPushes {
		p.known, p.upTo = list, st.Seq
		if n := len(list); n > 0 { // something may have arrived after Status
			p.upTo = max(p.upTo, list[n-1].seq)
		}
	}
	return list, nil
}

// forget drops an erased push.
func (p *pushes) forget(id mail.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = slices.DeleteFunc(slices.Clone(p.known), func(s spot) bool { return s.id == id })
}

// pushedAfter reads the pushes after a sequence number, in order.
func pushedAfter(ctx context.Context, svc mail.Service, after mail.Seq) ([]spot, error) {
	items, err := dialect.Since(ctx, svc, mail.HistoryQuery{To: string(mail.ToUser), Agent: mail.User, Archive: true},
		after)
	var out []spot
	for i := range items {
		if it := &items[i]; isPush(&it.Message) {
			out = append(out, spot{id: it.ID, sent: it.Sent, seq: it.Seq, workspace: it.From.Signer(),
				label: labelIn(it.Metadata)})
		}
	}
	return out, err
}
