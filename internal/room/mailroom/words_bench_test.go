//go:build unix

package mailroom

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/jsonl"
	"pennypost/internal/room/search/searchtest"
)

// benchEvents is how many messages a benchmark has: PENNYPOST_BENCH_EVENTS, or else n.
func benchEvents(b *testing.B, n int) int {
	b.Helper()
	if s := os.Getenv("PENNYPOST_BENCH_EVENTS"); s != "" {
		if _, err := fmt.Sscan(s, &n); err != nil {
			b.Fatal(err)
		}
	}
	return n
}

// fillWords puts n read messages of a corpus into a journal, all but the last hot ones of them in its archive, and
// returns the texts of the last thousand.
func fillWords(b *testing.B, dir string, c *searchtest.Corpus, n, hot int) (last []string) {
	b.Helper()
	j := openJSONL(b, dir, jsonl.Options{})
	defer j.Close()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var batch []mail.Event
	for i := range n {
		at := mail.TimeOf(start.Add(time.Duration(i) * 20 * time.Second))
		subject, body := c.Message()
		if i >= n-1000 {
			last = append(last, subject+" "+body)
		}
		id := mail.ID(fmt.Sprintf("msg_%021d", i))
		batch = append(batch,
			mail.Event{At: at, Message: &mail.Message{ID: id, Type: mail.Custom, From: "agent:s",
				To: []mail.Address{"agent:r0"}, Subject: subject, Body: body}},
			mail.Event{At: at, Receipt: &mail.Receipt{Message: id, Reader: "agent:r0", Mark: mail.MarkRead}})
		if len(batch) < 1000 && i < n-1 {
			continue
		}
		if _, err := j.Append(b.Context(), batch...); err != nil {
			b.Fatal(err)
		}
		batch = nil
	}
	if err := j.Compact(b.Context(), func(e mail.Event) journal.Fate {
		return keepIf(e.Seq > mail.Seq(2*(n-hot)))
	}); err != nil {
		b.Fatal(err)
	}
	return last
}

// queries is the measured mix: the same number of each kind. Frequent words are ranks of the vocabulary, the rest is
// taken from the messages or from nowhere.
func queries(c *searchtest.Corpus, last []string, each int) map[string][]string {
	rng := rand.New(rand.NewPCG(7, 7))
	rank := func(lo, hi int) string { return c.Word(lo + rng.IntN(hi-lo)) }
	cut := func(runes int) string { // out of a message, in one line
		for {
			text := []rune(last[rng.IntN(len(last))])
			if i := rng.IntN(len(text)); i+runes < len(text) {
				if s := string(text[i : i+runes]); strings.Join(strings.Fields(s), " ") == s &&
					!strings.Contains(s, `"`) {
					return s
				}
			}
		}
	}
	code := func() string {
		for {
			for _, w := range strings.Fields(last[rng.IntN(len(last))]) {
				if strings.HasPrefix(w, "msg_") {
					return w[:25]
				}
			}
		}
	}
	kinds := map[string]func() string{
		"rare word":          func() string { return rank(20_000, searchtest.Words) },
		"absent word":        func() string { return rank(0, 2000) + "zqx" + rank(0, 100) },
		"frequent word":      func() string { return rank(0, 200) },
		"word":               func() string { return rank(200, 20_000) },
		"middle of a word":   func() string { w := rank(2000, 20_000) + "oria"; return w[1:5] },
		"two frequent words": func() string { return rank(0, 200) + " " + rank(0, 200) },
		"two words":          func() string { return rank(200, 5000) + " " + rank(200, 5000) },
		"two that never meet": func() string {
			return rank(20, 100) + "ly " + rank(300, 3000) + " " + rank(3000, 9000)
		},
		"phrase of a message": func() string { return `"` + cut(14) + `"` },
		"phrase of frequent":  func() string { return `"` + rank(0, 60) + " " + rank(0, 60) + `"` },
		"phrase that is absent": func() string {
			return `"` + rank(60, 600) + " " + rank(60, 600) + " " + rank(60, 600) + `"`
		},
		"two Han":    c.Han,
		"one Han":    func() string { return string([]rune(c.Han())[1:]) },
		"Han phrase": func() string { return c.Han() + c.Han() },
		"two letters": func() string {
			return string([]byte{byte('a' + rng.IntN(26)), byte('a' + rng.IntN(26))})
		},
		"one sign": func() string {
			return string("abcdefghijklmnopqrstuvwxyz0123456789/_-()=:.,~^§%"[rng.IntN(48)])
		},
		"id": code,
	}
	out := make(map[string][]string)
	for _, kind := range sortedKeys(kinds) {
		for range each {
			out[kind] = append(out[kind], kinds[kind]())
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// BenchmarkSearch searches hot messages and archive for a mix of words. Default retention leaves 5,000 messages hot,
// the rest is in the archive; with hot=all it is the other way round. PENNYPOST_BENCH_DIR is where the rooms are kept
// from one run to the next.
func BenchmarkSearch(b *testing.B) {
	n := benchEvents(b, 50_000)
	for _, hot := range []int{5000, n} {
		for _, conversations := range []bool{false, true} {
			b.Run(fmt.Sprintf("messages=%d/hot=%d/conversations=%t", n, hot, conversations), func(b *testing.B) {
				benchSearch(b, n, min(n, hot), conversations)
			})
		}
	}
}

// BenchmarkFirstSearch searches for a word that occurs nowhere, immediately after opening a room of which nothing is
// indexed.
func BenchmarkFirstSearch(b *testing.B) {
	n := benchEvents(b, 50_000)
	dir := b.TempDir()
	c := searchtest.New(1)
	fillWords(b, dir, c, n, n)
	for b.Loop() {
		b.StopTimer()
		opts := keepAll
		opts.Index = b.TempDir()
		room, err := Open(b.Context(), "bench", openJSONL(b, dir, jsonl.Options{}), opts)
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		page, err := room.As(mail.User).History(b.Context(), mail.HistoryQuery{Search: "zqxzqx", Archive: true})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		b.Log(page.Partly)
		if err := room.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func benchSearch(b *testing.B, n, hot int, conversations bool) {
	dir := os.Getenv("PENNYPOST_BENCH_DIR")
	if dir == "" {
		dir = b.TempDir()
	}
	dir = filepath.Join(dir, fmt.Sprintf("%d-%d", n, hot))
	c := searchtest.New(1)
	var last []string
	if _, err := os.Stat(dir); err != nil {
		last = fillWords(b, dir, c, n, hot)
	} else {
		for range 1000 {
			subject, body := c.Message()
			last = append(last, subject+" "+body)
		}
	}
	opts := keepAll
	opts.Index = filepath.Join(dir, "index", "words")
	began := time.Now()
	room, err := Open(b.Context(), "bench", openJSONL(b, dir, jsonl.Options{}), opts)
	if err != nil {
		b.Fatal(err)
	}
	defer room.Close()
	opened := time.Since(began)
	awaitIndex(b, room)
	b.Logf("opened in %v, indexed after %v; the index takes %d bytes a message", opened, time.Since(began),
		int(size(b, opts.Index))/n)
	var all []timer
	kinds := queries(c, last, 60)
	b.ResetTimer()
	for _, kind := range sortedKeys(kinds) {
		took := make([]timer, len(kinds[kind]))
		found := 0
		for i, q := range kinds[kind] {
			took[i].start()
			page, err := room.As(mail.User).History(b.Context(), mail.HistoryQuery{Search: q, Archive: true,
				Conversations: conversations})
			if err != nil {
				b.Fatal(err)
			}
			took[i].stop()
			found += len(page.Messages)
		}
		all = append(all, took...)
		wall50, used50 := figures(took, 50)
		wall99, used99 := figures(took, 99)
		b.Logf("%-22s p50 %7.2f ms, of processors %7.2f  p99 %7.2f, %7.2f  %4.1f found, as by %.40q", kind, wall50,
			used50, wall99, used99, float64(found)/float64(len(took)), kinds[kind][0])
	}
	for _, percent := range []int{50, 99} {
		wall, used := figures(all, percent)
		b.ReportMetric(wall, fmt.Sprintf("p%d-ms", percent))
		b.ReportMetric(used, fmt.Sprintf("p%d-cpu-ms", percent))
	}
	b.ReportMetric(0, "ns/op")
}

// timer takes the time of something: on the wall, and of the processors, which other programs take part of.
type timer struct{ began, used time.Duration }

func (t *timer) start() { t.began, t.used = time.Duration(time.Now().UnixNano()), processorTime() }

func (t *timer) stop() {
	t.began, t.used = time.Duration(time.Now().UnixNano())-t.began, processorTime()-t.used
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// figures are percentiles in milliseconds.
func figures(took []timer, percent int) (wall, used float64) {
	all := make([]time.Duration, len(took))
	of := func(f func(timer) time.Duration) float64 {
		for i := range took {
			all[i] = f(took[i])
		}
		slices.Sort(all)
		return float64(all[(len(all)-1)*percent/100].Microseconds()) / 1000
	}
	return of(func(t timer) time.Duration { return t.began }), of(func(t timer) time.Duration { return t.used })
}

func size(tb testing.TB, dir string) (n int64) {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			tb.Fatal(err)
		}
		n += info.Size()
	}
	return n
}
