//go:build linux

package proof

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"hash/fnv"
	"net/http"
	"strconv"
	"sync"
	"time"

	"pennypost/internal/mail"
)

// sight is an event as a watcher saw it.
type sight struct {
	seq     mail.Seq
	sum     uint64  // checksum of its text
	message mail.ID // the event's message; empty: another kind of event
	first   bool    // the first of a connection
	receipt *mail.Receipt
}

// watcher follows a room by server-sent events from the beginning, and resumes with Last-Event-ID when the
// connection breaks.
type watcher struct {
	name  string
	door  *door
	room  mail.RoomName
	found *findings

	mu   sync.Mutex
	seen []sight
}

// all returns the events so far.
func (w *watcher) all() []sight {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[:len(w.seen):len(w.seen)]
}

func (w *watcher) last() mail.Seq {
	if all := w.all(); len(all) > 0 {
		return all[len(all)-1].seq
	}
	return 0
}

// silence is how long a watcher waits without a byte before it reconnects: three missed comments.
const silence = 50 * time.Second

func (w *watcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		w.follow(ctx)
		pause(ctx, 100*time.Millisecond)
	}
}

// follow reads one connection to its end.
func (w *watcher) follow(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	connected := time.AfterFunc(callWithin, cancel)
	resp, err := w.door.open(ctx, http.MethodGet, "/rooms/"+string(w.room)+"/events", nil, "Last-Event-ID",
		strconv.FormatUint(uint64(w.last()), 10))
	if !connected.Stop() || err != nil {
		if codeOf(err) == mail.Invalid {
			w.found.add("P3", "%s: the journal has not reached event %d any more, which was shown: %v", w.name,
				w.last(), err)
		}
		return
	}
	defer resp.Body.Close()
	first := true
	dead := time.AfterFunc(silence, cancel)
	defer dead.Stop()
	for lines := bufio.NewReaderSize(resp.Body, 64<<10); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		dead.Reset(silence)
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			w.note(bytes.TrimSpace(data), first)
			first = false
		}
	}
}

// note keeps an event, which must follow the previous one.
func (w *watcher) note(data []byte, first bool) {
	var e mail.Event
	if err := json.Unmarshal(data, &e); err != nil {
		w.found.add("P3", "%s saw an event that is no JSON: %v in %.200q", w.name, err, data)
		return
	}
	if last := w.last(); e.Seq <= last {
		w.found.add("P3", "%s saw event %d behind event %d", w.name, e.Seq, last)
	}
	h := fnv.New64a()
	h.Write(data)
	s := sight{seq: e.Seq, sum: h.Sum64(), receipt: e.Receipt, first: first}
	if e.Message != nil {
		s.message = e.Message.ID
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, s)
}
