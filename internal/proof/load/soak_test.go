package load

import (
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pennypost/internal/policy"
)

var (
	soak = flag.Duration("soak", 0, "how long TestSoak sends; 0: it is skipped")
	rate = flag.Int("rate", 550, "messages a second that TestSoak sends")
)

// minute is what was seen in a minute of a soak.
type minute struct {
	hot           int
	file          int64
	memory        int // kB
	p50, p99, max time.Duration
	failed        int
}

// TestSoak sends faster than retention's hour goes round. Messages, file and memory stay what they are from the first
// minutes on.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("no soak was asked for")
	}
	p := open(t)
	names := p.roster(t, *senders)
	var mu sync.Mutex
	var took []time.Duration
	failed := 0
	began := time.Now()
	var running sync.WaitGroup
	each := time.Second * time.Duration(*senders) / time.Duration(*rate)
	for i, a := range names {
		running.Go(func() {
			for n := 0; time.Since(began) < *soak; n++ {
				at := began.Add(time.Duration(n)*each + time.Duration(i)*each/time.Duration(*senders))
				time.Sleep(time.Until(at))
				start := time.Now()
				_, err := p.send(t.Context(), a.name, fmt.Sprintf("%s %d %0400d", a.name, n, n))
				mu.Lock()
				if took = append(took, time.Since(start)); err != nil {
					failed++
				}
				mu.Unlock()
			}
		})
	}
	var seen []minute
	for time.Since(began) < *soak {
		time.Sleep(min(time.Minute, *soak-time.Since(began)))
		mu.Lock()
		slices.Sort(took)
		m := minute{failed: failed}
		if n := len(took); n > 0 {
			m.p50, m.p99, m.max = took[n/2], took[n*99/100], took[n-1]
		}
		took, failed = took[:0], 0
		mu.Unlock()
		st, err := p.user(t).Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m.hot, m.file, m.memory = st.Messages, st.Bytes, p.figures(t).memory
		seen = append(seen, m)
		t.Logf("%v: %d hot messages, %d kB of journal, %d kB resident; a send took %v, p99 %v, at most %v; %d failed",
			time.Since(began).Round(time.Second), m.hot, m.file>>10, m.memory, m.p50, m.p99, m.max, m.failed)
	}
	running.Wait()
	p.hold(t, seen)
}

// hold holds what was seen to its bounds.
func (p *place) hold(t *testing.T, seen []minute) {
	t.Helper()
	early := seen[min(2, len(seen)-1)]
	for i, m := range seen {
		if m.hot > 2*policy.DefaultCount || m.failed > 0 {
			t.Errorf("minute %d: %d hot messages, %d sends failed", i+1, m.hot, m.failed)
		}
		if i > 2 && (m.memory > 2*early.memory || m.file > 2*early.file) {
			t.Errorf("minute %d: %d kB resident and %d kB of journal, after %d and %d in the third", i+1, m.memory,
				m.file>>10, early.memory, early.file>>10)
		}
	}
	p.verify(t)
}
