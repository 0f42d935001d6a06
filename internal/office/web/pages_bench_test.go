package web

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/mail/mailtest"
	"pennypost/internal/office/web/room"
	"pennypost/internal/room/journal/journaltest"
)

// largeRoom is a room of 5,000 messages and 40 agents, or of the numbers in the environment.
func largeRoom(b *testing.B, imported bool) (fixture *fixture, l mailtest.Large) {
	l = mailtest.LargeFromEnv(5_000, 40)
	l.Imported = imported
	store := new(journaltest.Store)
	j := store.Open()
	var batch []mail.Event
	flush := func() {
		if _, err := j.Append(b.Context(), batch...); err != nil {
			b.Fatal(err)
		}
		batch = batch[:0]
	}
	for e := range l.Events(mail.TimeOf(time.Now())) {
		if batch = append(batch, e); len(batch) == 1000 {
			flush()
		}
	}
	flush()
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	return newFixtureOn(b, store), l
}

// BenchmarkPages measures the time and size of each page in a large room: one in use, and one with imported mail
// only. PENNYPOST_BENCH_EVENTS=1000000 PENNYPOST_BENCH_AGENTS=5000 make it huge.
func BenchmarkPages(b *testing.B) {
	for _, imported := range []bool{false, true} {
		fixture, l := largeRoom(b, imported)
		for _, page := range []struct{ name, path string }{
			{"inbox", "/"}, {"unread", "/?show=unread"}, {"snoozed", "/?show=snoozed"},
			{"archived", "/?show=archived"},
			{"letter", "/?" + url.Values{"m": {string(l.ID(l.Messages / 2))}}.Encode()},
			{"agents", "/agents"}, {"agent", "/agents/agent-39"}, {"channels", "/channels"},
			{"tag", "/channels/project:p1"}, {"role", "/channels/role:role-3"}, {"all", "/channels/all"},
			{"history", "/history"}, {"history-from", "/history?from=agent-3"}, {"history-to", "/history?to=agent-3"},
			{"history-agent", "/history?agent=agent-3"}, {"search", "/history?q=line"},
			{"thread", "/t/" + url.PathEscape(string(l.ID(l.Messages/2)))},
			{"flow", "/flow"}, {"flow-all", "/flow?w=all"}, {"talk", "/flow?w=all&view=talk"}, {"stuck", "/stuck"},
			{"compose", "/compose"}, {"palette", "/palette?q=ag"}, {"changes", "/changes"},
		} {
			b.Run(fmt.Sprintf("imported=%t/%s", imported, page.name), func(b *testing.B) {
				size, best := 0, time.Hour // beside other programs, the best time is the most reliable
				for b.Loop() {
					begun := time.Now()
					size = len(fixture.Get(page.path, zipped).Want(b, 200).Body)
					best = min(best, time.Since(begun))
				}
				b.ReportMetric(best.Seconds()*1000, "best-ms")
				b.ReportMetric(float64(size), "bytes")
			})
		}
		b.Run(fmt.Sprintf("imported=%t/changed", imported), func(b *testing.B) { // the stuck mail is counted again
			for b.Loop() {
				_, fixture.site.core.Stuck = room.Pages()
				fixture.Get("/changes").Want(b, 200)
			}
		})
	}
}
