package mailroom

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/journal/jsonl"
)

// benchBody makes a journal line of about 600 bytes, as measured in real rooms.
var benchBody = strings.Repeat("The parser is done and tested. ", 13)

// keepAll turns retention off.
var keepAll = Options{Retention: policy.Retention{Age: -1, Count: -1},
	Limits: policy.Limits{RepeatWindow: -1, PerMinute: -1, Exchanges: -1}}

func benchRoom(b *testing.B, j journal.Journal) *Room {
	b.Helper()
	room, err := Open(context.Background(), "bench", j, keepAll)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { room.Close() })
	for i := range 8 {
		if _, err := room.As(mail.User).Register(b.Context(),
			mail.Presence{Name: mail.Name(fmt.Sprint("r", i))}); err != nil {
			b.Fatal(err)
		}
	}
	return room
}

func openJSONL(b *testing.B, dir string, opts jsonl.Options) *jsonl.Journal {
	b.Helper()
	j, err := jsonl.Open(dir, opts)
	if err != nil {
		b.Fatal(err)
	}
	return j
}

// BenchmarkRoomSend measures durable sends by 1, 8, 64 and 512 concurrent senders.
func BenchmarkRoomSend(b *testing.B) {
	for _, writers := range []int{1, 8, 64, 512} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			var syncs atomic.Int64
			j := openJSONL(b, b.TempDir(), jsonl.Options{OnSync: func(int, int, time.Duration) { syncs.Add(1) }})
			room := benchRoom(b, j)
			syncs.Store(0)
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					v := room.As(mail.Name(fmt.Sprint("s", w)))
					d := mail.Draft{To: mail.Recipients{fmt.Sprint("r", w%8)}, Body: benchBody}
					for left.Add(-1) >= 0 {
						if _, err := v.Send(b.Context(), d); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sends/s")
			b.ReportMetric(float64(b.N)/float64(max(1, syncs.Load())), "sends/sync")
		})
	}
}

// fillStore puts n read messages and 20 unread ones into a journal in memory.
func fillStore(b *testing.B, n int) *journaltest.Store {
	b.Helper()
	store := &journaltest.Store{}
	j := store.Open()
	defer j.Close()
	at := mail.TimeOf(time.Now())
	batch := []mail.Event{{At: at, Agent: &mail.AgentChange{Name: "r0"}}}
	flush := func() {
		if _, err := j.Append(b.Context(), batch...); err != nil {
			b.Fatal(err)
		}
		batch = nil
	}
	for i := range n + 20 {
		id := mail.ID(fmt.Sprintf("msg_%021d", i))
		batch = append(batch, mail.Event{At: at, Message: &mail.Message{ID: id, Type: mail.Custom, From: "agent:s",
			To: []mail.Address{"agent:r0"}, Body: benchBody}})
		if i < n {
			batch = append(batch, mail.Event{At: at, Receipt: &mail.Receipt{Message: id, Reader: "agent:r0",
				Mark: mail.MarkRead}})
		}
		if len(batch) >= 1000 {
			flush()
		}
	}
	flush()
	return store
}

// BenchmarkInbox reads 20 unread messages among many read ones.
func BenchmarkInbox(b *testing.B) {
	for _, old := range []int{0, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("old=%d", old), func(b *testing.B) {
			room, err := Open(b.Context(), "bench", fillStore(b, old).Open(), keepAll)
			if err != nil {
				b.Fatal(err)
			}
			defer room.Close()
			v := room.As("r0")
			if _, err := v.Inbox(b.Context(), mail.InboxQuery{}); err != nil {
				b.Fatal(err)
			}
			heapSize() // the query must not pay for garbage from filling
			b.ResetTimer()
			for b.Loop() {
				page, err := v.Inbox(b.Context(), mail.InboxQuery{})
				if err != nil || len(page.Messages) != 20 {
					b.Fatalf("%d messages, %v", len(page.Messages), err)
				}
			}
		})
	}
}

// BenchmarkInboxPage reads the data of a person's page: the newest 50 of a mailbox of 5,000, and the stuck mail among
// as many.
func BenchmarkInboxPage(b *testing.B) {
	for _, read := range []bool{true, false} {
		n := 0
		if read {
			n = 4980
		}
		store := fillStore(b, n)
		room, err := Open(b.Context(), "bench", store.Open(), keepAll)
		if err != nil {
			b.Fatal(err)
		}
		defer room.Close()
		for i := n + 20; i < 5000; i++ {
			if _, err := room.As("s").Send(b.Context(),
				mail.Draft{To: mail.Recipients{"r0"}, Body: benchBody}); err != nil {
				b.Fatal(err)
			}
		}
		user := room.As(mail.User)
		middle := room.Status().Seq / 2
		for name, q := range map[string]mail.InboxQuery{
			"top": {All: true, Newest: true}, "middle": {All: true, Newest: true, Before: middle},
			"archived": {Place: mail.InArchived, Newest: true},
		} {
			q.Agent = "r0"
			b.Run(fmt.Sprintf("read=%v/%s", read, name), func(b *testing.B) {
				for b.Loop() {
					if page, err := user.Inbox(b.Context(), q); err != nil || name != "archived" &&
						len(page.Messages) != 50 {
						b.Fatalf("%d messages, %v", len(page.Messages), err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("read=%v/dead", read), func(b *testing.B) {
			for b.Loop() {
				if _, err := user.History(b.Context(),
					mail.HistoryQuery{States: []mail.DeliveryState{mail.Dead, mail.Held}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReplay opens a room of 200,000 events (PENNYPOST_BENCH_EVENTS changes that), half messages and half
// receipts, and weighs it.
func BenchmarkReplay(b *testing.B) {
	n := 200_000
	if s := os.Getenv("PENNYPOST_BENCH_EVENTS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	dir := b.TempDir()
	store := fillStore(b, n/2)
	j := openJSONL(b, dir, jsonl.Options{})
	mem := store.Open()
	for c := mem.Follow(0); j.Last() < mem.Last(); {
		events, err := c.Next(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		for i := 0; i < len(events); i += 1000 {
			if _, err := j.Append(b.Context(), events[i:min(i+1000, len(events))]...); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	store, mem = nil, nil
	b.ResetTimer()
	var bytes uint64
	for b.Loop() {
		b.StopTimer()
		before := heapSize()
		b.StartTimer()
		room, err := Open(b.Context(), "bench", openJSONL(b, dir, jsonl.Options{}), keepAll)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		bytes = heapSize() - before
		if err := room.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(bytes)/float64(n/2), "B/message")
}

func heapSize() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkDesk reads the user's desk of a mailbox with many messages: rebuilt after an event, and from the cache.
func BenchmarkDesk(b *testing.B) {
	const mailbox = 100_000
	store := &journaltest.Store{}
	j := store.Open()
	at := mail.TimeOf(time.Now())
	var batch []mail.Event
	for i := range mailbox {
		m := &mail.Message{ID: mail.ID(fmt.Sprintf("msg_%021d", i)), Type: mail.Custom, From: "agent:s",
			To: []mail.Address{mail.ToUser}, Body: benchBody}
		switch {
		case i%4 == 3:
			m.Type = mail.Status
		case i%4 == 1:
			m.Thread, m.ReplyTo = mail.ID(fmt.Sprintf("msg_%021d", i-1)), mail.ID(fmt.Sprintf("msg_%021d", i-1))
		case i%1000 == 2:
			m.Type = mail.Question
		}
		batch = append(batch, mail.Event{At: at.Add(time.Duration(i) * time.Millisecond), Message: m})
		if i%3 == 0 {
			batch = append(batch, mail.Event{At: at, Receipt: &mail.Receipt{Message: m.ID, Reader: mail.ToUser,
				Mark: mail.MarkRead}})
		}
		if len(batch) >= 1000 {
			if _, err := j.Append(b.Context(), batch...); err != nil {
				b.Fatal(err)
			}
			batch = nil
		}
	}
	j.Close()
	room, err := Open(b.Context(), "bench", store.Open(), keepAll)
	if err != nil {
		b.Fatal(err)
	}
	defer room.Close()
	for _, anew := range []bool{true, false} {
		b.Run(fmt.Sprintf("anew=%v", anew), func(b *testing.B) {
			for b.Loop() {
				if anew {
					room.desks = desks{}
				}
				d, err := room.As(mail.User).Desk(b.Context(), mail.DeskQuery{})
				if err != nil || len(d.Updates) != 51 || len(d.Needs) != 50 {
					b.Fatalf("%d and %d conversations, %v", len(d.Needs), len(d.Updates), err)
				}
			}
		})
	}
}

// BenchmarkRegister registers many agents in one room, one after the other.
func BenchmarkRegister(b *testing.B) {
	for _, name := range []string{"agent-%d", "代理人-%d"} {
		for _, agents := range []int{2500, 5000, 10000} {
			b.Run(fmt.Sprintf("ascii=%t/agents=%d", fold.IsASCII(name), agents), func(b *testing.B) {
				for b.Loop() {
					room, err := Open(context.Background(), "bench", new(journaltest.Store).Open(), keepAll)
					if err != nil {
						b.Fatal(err)
					}
					for i := range agents {
						p := mail.Presence{Name: mail.Name(fmt.Sprintf(name, i*7919%agents))}
						if _, err := room.As(mail.User).Register(b.Context(), p); err != nil {
							b.Fatal(err)
						}
					}
					room.Close()
				}
			})
		}
	}
}
