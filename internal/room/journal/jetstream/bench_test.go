package jetstream_test

import (
	"crypto/ed25519"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

// BenchmarkAppend compares Append with JetStream's own acknowledged publish, in turn, on three servers that sync each
// write. An event has 600 bytes.
func BenchmarkAppend(b *testing.B) {
	servers := natstest.Start(b, 3, natstest.Options{})
	c := connect(b, servers.URLs())
	j := open(b, c, "bench", b.TempDir())
	file, err := jsonl.Open(b.TempDir(), jsonl.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	js, err := natsjs.New(c.Conn())
	if err != nil {
		b.Fatal(err)
	}
	if _, err := js.CreateStream(b.Context(), natsjs.StreamConfig{Name: "plain", Subjects: []string{"plain"},
		Replicas: 3}); err != nil {
		b.Fatal(err)
	}
	e := note("bench")
	e.Message.Body = string(slices.Repeat([]byte("text "), 90))
	text, err := jsonl.Encode(e)
	if err != nil {
		b.Fatal(err)
	}
	ways := map[string]func() error{
		"publish": func() error { _, err := js.Publish(b.Context(), "plain", text); return err },
		"stream":  func() error { _, err := j.Append(b.Context(), e); return err },
		"file":    func() error { _, err := file.Append(b.Context(), e); return err },
	}
	for _, senders := range []int{1, 64} {
		b.Run(fmt.Sprint("senders=", senders), func(b *testing.B) { byTurns(b, senders, ways) })
	}
}

// BenchmarkProven compares a room whose events are signed and checked with one whose events are not, in turn, on one
// server that syncs each write. A second machine follows and checks the events too.
func BenchmarkProven(b *testing.B) {
	servers := natstest.Start(b, 1, natstest.Options{})
	of := func(name mail.Machine, room string) *jetstream.Journal {
		cfg := jetstream.Config{URLs: servers.URLs(), Replicas: 1, Machine: name}
		if room == "signed" {
			cfg.Signer = ed25519.NewKeyFromSeed([]byte(fmt.Sprintf("%32s", name)))
		}
		c, err := jetstream.Connect(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { c.Close() })
		for c.Trouble() != nil {
			time.Sleep(time.Millisecond)
		}
		return open(b, c, room, b.TempDir())
	}
	signed, plain := of("desk", "signed"), of("desk", "plain")
	key := mail.KeyText(signed.Proven().Key)
	if _, err := signed.Append(b.Context(), mail.Event{Machine: &mail.MachineChange{Name: "desk", Key: key}},
		mail.Event{Machine: &mail.MachineChange{Name: "desk", Admits: true}}); err != nil {
		b.Fatal(err)
	}
	of("laptop", "signed")
	of("laptop", "plain")
	e := note("bench")
	e.Message.Body = string(slices.Repeat([]byte("text "), 90))
	ways := map[string]func() error{
		"stream": func() error { _, err := signed.Append(b.Context(), e); return err },
		"plain":  func() error { _, err := plain.Append(b.Context(), e); return err },
	}
	for _, senders := range []int{1, 64} {
		b.Run(fmt.Sprint("senders=", senders), func(b *testing.B) { byTurns(b, senders, ways) })
	}
}

// byTurns runs all ways in turn, in short slices of time, until "stream" has run b.N times, and reports the median
// and rate of each.
func byTurns(b *testing.B, senders int, ways map[string]func() error) {
	const part = 200 * time.Millisecond
	took := make(map[string][]time.Duration)
	spent := make(map[string]time.Duration)
	var mu sync.Mutex
	var left atomic.Int64
	left.Store(int64(b.N))
	names := slices.Sorted(maps.Keys(ways))
	for left.Load() > 0 {
		for _, name := range names {
			began := time.Now()
			var sending sync.WaitGroup
			for range senders {
				sending.Go(func() {
					var mine []time.Duration
					for time.Since(began) < part {
						at := time.Now()
						if err := ways[name](); err != nil {
							b.Error(err)
							return
						}
						mine = append(mine, time.Since(at))
					}
					mu.Lock()
					defer mu.Unlock()
					took[name] = append(took[name], mine...)
				})
			}
			sending.Wait()
			spent[name] += time.Since(began)
		}
		left.Store(int64(b.N - len(took["stream"])))
	}
	for _, name := range names {
		slices.Sort(took[name])
		b.ReportMetric(float64(took[name][len(took[name])/2].Microseconds()), name+"-µs")
		b.ReportMetric(float64(len(took[name]))/spent[name].Seconds(), name+"/s")
	}
	b.ReportMetric(0, "ns/op")
}
