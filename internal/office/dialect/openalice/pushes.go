package openalice

import (
	"context"
	"slices"
	"sync"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// pushes is what agents sent to the user in one room, as far as somebody has looked. Of what stands there nothing
// changes but by erasing, and to read the whole archive for each page of an inbox that is asked for every 20 s would
// take seconds.
type pushes struct {
	mu    sync.Mutex
	upTo  mail.Seq // all up to this place are known
	known []spot   // in order, with the labels of their metadata
}

// mostPushes is how many of a room are kept, in some 10 MB. Where there are more, the newest are read each time.
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
	if st.Seq < p.upTo { // the journal was put back
		p.upTo, p.known = 0, nil
	}
	more, err := pushedAfter(ctx, svc, p.upTo)
	if err != nil {
		return nil, err
	}
	list := append(slices.Clip(p.known), more...)
	if len(list) <= mostPushes {
		p.known, p.upTo = list, st.Seq
		if n := len(list); n > 0 { // something may have come since st
			p.upTo = max(p.upTo, list[n-1].seq)
		}
	}
	return list, nil
}

// forget drops what was erased.
func (p *pushes) forget(id mail.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = slices.DeleteFunc(slices.Clone(p.known), func(s spot) bool { return s.id == id })
}

// pushedAfter reads the pushes behind a place, in order.
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
