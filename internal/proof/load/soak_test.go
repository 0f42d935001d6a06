package load

import (
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

var (
	soak = flag.Duration("soak", 0, "how long TestSoak sends; 0: it is skipped")
	rate = flag.Int("rate", 550, "messages a second that TestSoak sends")
)

// minute has the figures of one minute of a soak.
type minute struct {
	hot    int
	file   int64
	memory int // kB
	load   sends
	beside sends
}

// sends are the times of the sends of a minute.
type sends struct {
	p50, p99, max time.Duration
	failed        int
}

func (s sends) String() string {
	return fmt.Sprintf("%v, p99 %v, at most %v, %d failed", s.p50.Round(time.Microsecond),
		s.p99.Round(time.Microsecond), s.max.Round(time.Microsecond), s.failed)
}

// stopwatch collects the times of sends since it was last read.
type stopwatch struct {
	mu     sync.Mutex
	took   []time.Duration
	failed int
}

func (w *stopwatch) time(send func() error) {
	start := time.Now()
	err := send()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.took = append(w.took, time.Since(start)); err != nil {
		w.failed++
	}
}

func (w *stopwatch) read() (s sends) {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.took)
	if n := len(w.took); n > 0 {
		s = sends{w.took[n/2], w.took[n*99/100], w.took[n-1], w.failed}
	}
	w.took, w.failed = w.took[:0], 0
	return s
}

// TestSoak sends faster than retention's hour passes. Messages, file and memory stay constant from the tenth minute
// on, when the parts for the last minutes and for the archive are full. Sends to another room of the same process,
// which is seldom trimmed, show the cost of the machine alone.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("no soak was asked for")
	}
	p := open(t)
	names := p.roster(t, max(*senders, *rate/15)) // at most 20 a second are accepted from each
	other, err := p.admin.Room(t.Context(), "beside", mail.User)
	if err == nil {
		_, err = other.Register(t.Context(), mail.Presence{Name: "sink"})
	}
	if err != nil {
		t.Fatal(err)
	}
	var load, beside stopwatch
	began := time.Now()
	var running sync.WaitGroup
	each := time.Second * time.Duration(len(names)) / time.Duration(*rate)
	for i, a := range names {
		running.Go(func() {
			for n := 0; time.Since(began) < *soak; n++ {
				at := began.Add(time.Duration(n)*each + time.Duration(i)*each/time.Duration(len(names)))
				time.Sleep(time.Until(at))
				load.time(func() error {
					_, err := p.send(t.Context(), "load", a.name, fmt.Sprintf("%s %d %0400d", a.name, n, n))
					return err
				})
			}
		})
	}
	running.Go(func() {
		for n := 0; time.Since(began) < *soak; n++ {
			time.Sleep(50 * time.Millisecond)
			beside.time(func() error {
				_, err := p.send(t.Context(), "beside", mail.User, fmt.Sprintf("%d %0400d", n, n))
				return err
			})
		}
	})
	var seen []minute
	for time.Since(began) < *soak {
		time.Sleep(min(time.Minute, *soak-time.Since(began)))
		m := minute{load: load.read(), beside: beside.read()}
		st, err := p.user(t).Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m.hot, m.file, m.memory = st.Messages, st.Bytes, p.figures(t).memory
		seen = append(seen, m)
		t.Logf("%v: %d hot messages, %d kB of journal, %d kB resident; a send took %v; in the other room %v",
			time.Since(began).Round(time.Second), m.hot, m.file>>10, m.memory, m.load, m.beside)
	}
	running.Wait()
	p.hold(t, seen)
}

// hold checks the figures against their bounds.
func (p *place) hold(t *testing.T, seen []minute) {
	t.Helper()
	early := seen[min(9, len(seen)-1)]
	for i, m := range seen {
		if m.hot > 2*policy.DefaultCount || m.load.failed+m.beside.failed > 0 {
			t.Errorf("minute %d: %d hot messages, %d sends failed", i+1, m.hot, m.load.failed+m.beside.failed)
		}
		if i > 9 && (m.memory > 2*early.memory || m.file > 2*early.file) {
			t.Errorf("minute %d: %d kB resident and %d kB of journal, after %d and %d in the tenth", i+1, m.memory,
				m.file>>10, early.memory, early.file>>10)
		}
	}
	p.verify(t)
}
