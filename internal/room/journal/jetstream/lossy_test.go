package jetstream_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// TestLossyNetwork checks that sends over a network that loses every twentieth packet, also between servers, never
// get a false answer, and that those that fail do so in time.
func TestLossyNetwork(t *testing.T) {
	t.Parallel()
	lossy := func(to string) string {
		l := natstest.NewLink(t, to)
		l.LosePackets(0.05)
		return l.URL()
	}
	servers := natstest.Start(t, 3, natstest.Options{Route: func(_, _ int, addr string) string {
		return strings.TrimPrefix(lossy(addr), "nats://")
	}})
	var urls []string
	for _, s := range servers.Servers {
		urls = append(urls, lossy(s.Client))
	}
	told := newTold()
	var journals []*jetstream.Journal
	for range 2 {
		journals = append(journals, open(t, connect(t, urls), "lossy", t.TempDir()))
	}
	var mu sync.Mutex
	var longest, longestFailed time.Duration
	var writing sync.WaitGroup
	for end, w := time.Now().Add(8*time.Second), 0; w < 8; w++ {
		writing.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				began := time.Now()
				err := told.send(t, journals[w%2], fmt.Sprint(w, "-", i))
				mu.Lock()
				if longest = max(longest, time.Since(began)); err != nil {
					longestFailed = max(longestFailed, time.Since(began))
				}
				mu.Unlock()
			}
		})
	}
	writing.Wait()
	t.Logf("the longest send took %.1f s, the longest that failed %.1f s", longest.Seconds(), longestFailed.Seconds())
	if longestFailed > 4*time.Second { // two, and a margin for a busy machine
		t.Errorf("a send failed after %v", longestFailed)
	}
	eventually(t, func() error { return told.send(t, journals[0], fmt.Sprint("last", time.Now())) })
	told.check(t, all(t, journals[0], int(journals[0].Last())))
}
