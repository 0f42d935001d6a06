package jsonl

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// benchEvent makes a line of about 576 bytes, the average of messages between agents.
func benchEvent(n int) mail.Event {
	return mail.Event{At: 1778421600123 + mail.Time(n), Message: &mail.Message{
		ID: mail.ID(fmt.Sprintf("msg_%021d", n)), Type: mail.TaskAssigned, From: "orchestrator",
		To:      []mail.Address{"agent:ag_x1"},
		Subject: "Parser for the inscription", Body: strings.Repeat("Please read the grammar in docs/grammar.md "+
			"first, then write the tests.\nSay \"done\" when they pass.\n", 3),
		Issue: "42", Metadata: mail.Metadata(`{"branch":"feat/parser"}`),
	}}
}

// BenchmarkRaw is the baseline: one write and one sync for each line, by one goroutine.
func BenchmarkRaw(b *testing.B) {
	f, err := osDisk{}.Open(filepath.Join(b.TempDir(), "raw"), os.O_CREATE|os.O_RDWR)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	e := benchEvent(1)
	payload, _ := appendPayload(nil, &e)
	line := appendLine(nil, 1, 0, payload)
	for i := range b.N {
		if _, err := f.WriteAt(line, int64(i*len(line))); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(1, "syncs/append")
}

func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 8, 64, 512} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			var syncs int
			j, err := Open(b.TempDir(), Options{OnSync: func(int, int, time.Duration) { syncs++ }})
			if err != nil {
				b.Fatal(err)
			}
			defer j.Close()
			e := benchEvent(1)
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for range writers {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if _, err := j.Append(b.Context(), e); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(syncs)/float64(b.N), "syncs/append")
		})
	}
}

// BenchmarkReplay reads a journal of PENNYPOST_BENCH_EVENTS events (100,000 if unset).
func BenchmarkReplay(b *testing.B) {
	n := benchEvents()
	dir := b.TempDir()
	fillJournal(b, dir, n)
	b.Run("open", func(b *testing.B) {
		for range b.N {
			j, err := Open(dir, Options{})
			if err != nil {
				b.Fatal(err)
			}
			j.Close()
		}
		b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	})
	j, err := Open(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	for name, cursor := range map[string]func() journal.Cursor{"replay": j.Replay,
		"follow": func() journal.Cursor { return j.Follow(0) }} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				c := cursor()
				for got := 0; got < n; {
					events, err := c.Next(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					got += len(events)
				}
				c.Close()
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// benchEvents is the number of events in a benchmark's journal.
func benchEvents() int {
	if n, err := strconv.Atoi(os.Getenv("PENNYPOST_BENCH_EVENTS")); err == nil {
		return n
	}
	return 100_000
}

func fillJournal(tb testing.TB, dir string, n int) {
	tb.Helper()
	j, err := Open(dir, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	defer j.Close()
	const step = 1000
	for i := 0; i < n; i += step {
		var events []mail.Event
		for k := i; k < min(i+step, n); k++ {
			events = append(events, benchEvent(k))
		}
		if _, err := j.Append(tb.Context(), events...); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkLine compares the hand-written codec with jsonx.
func BenchmarkLine(b *testing.B) {
	e := benchEvent(1)
	payload, err := appendPayload(nil, &e)
	if err != nil {
		b.Fatal(err)
	}
	line := appendLine(nil, 1, 0, payload)
	seq, covered, err := check(line[:len(line)-1])
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			payload, _ = appendPayload(payload[:0], &e)
		}
	})
	b.Run("encode/jsonx", func(b *testing.B) {
		for range b.N {
			_, _ = jsonx.Marshal(e)
		}
	})
	b.Run("check", func(b *testing.B) {
		b.SetBytes(int64(len(line)))
		for range b.N {
			_, _, _ = check(line[:len(line)-1])
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(line)))
		var p parser
		for range b.N {
			if _, ok := p.decodeFast(seq, covered); !ok {
				b.Fatal("not read fast")
			}
		}
	})
	b.Run("decode/jsonx", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			_, _ = decodeSlowly(seq, covered)
		}
	})
}

// BenchmarkVerify verifies a journal of PENNYPOST_BENCH_EVENTS events (100,000 if unset), and reports allocations and
// peak memory.
func BenchmarkVerify(b *testing.B) {
	n := benchEvents()
	dir := b.TempDir()
	fillJournal(b, dir, n)
	j, err := Open(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	b.ReportAllocs()
	for b.Loop() {
		if v, err := j.Verify(b.Context()); err != nil || len(v.Problems) > 0 {
			b.Fatal(v.Problems, err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		_, peak, _ := strings.Cut(string(status), "VmHWM:")
		if f := strings.Fields(peak); len(f) > 0 {
			kib, _ := strconv.ParseFloat(f[0], 64)
			b.ReportMetric(kib/1024, "MiB-peak")
		}
	}
}
