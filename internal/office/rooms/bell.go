package rooms

import (
	"sync"

	"pennypost/internal/mail"
	"pennypost/internal/office/markdown"
	"pennypost/internal/room/mailroom"
)

// maxPreview is in characters: two lines of a row.
const maxPreview = 160

func previewOf(body string) string { return markdown.Preview(body, maxPreview) }

// observer returns the callbacks of a room.
func (o *Set) observer(name mail.RoomName) mailroom.Observer {
	out := o.Metrics.observer()
	out.Changed = func() { o.Bell.ring(name) }
	return out
}

// deskBell tells the watchers of the desk which rooms have changed.
type deskBell struct {
	mu    sync.Mutex
	count uint64                   // of rings
	last  map[mail.RoomName]uint64 // the last ring of each room; "": of all
	heard chan struct{}            // closed by the next ring; nil: no one waits
}

// ring reports a change in a room, or the removal of a room if name is "".
func (b *deskBell) ring(name mail.RoomName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil {
		b.last = make(map[mail.RoomName]uint64)
	}
	b.count++
	b.last[name] = b.count
	if b.heard != nil {
		close(b.heard)
		b.heard = nil
	}
}

// Since returns the rooms that rang after the first count rings, and the current number of rings. If there are none,
// the next ring closes next.
func (b *deskBell) Since(count uint64) (rang []mail.RoomName, now uint64, next <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count == count {
		if b.heard == nil {
			b.heard = make(chan struct{})
		}
		return nil, count, b.heard
	}
	for name, n := range b.last {
		if n > count {
			rang = append(rang, name)
		}
	}
	return rang, b.count, nil
}
