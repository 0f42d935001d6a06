//go:build unix

package daemon

import (
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/caller"
	"pennypost/internal/office/rooms"
)

// processorTime returns the processor time that the process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkThousandRooms measures what a thousand open, idle rooms cost, and how long the desk takes after a
// restart, when all of them have to be opened. Each has a number of unread messages for the user.
func BenchmarkThousandRooms(b *testing.B) {
	const count, calm, rest = 1000, 12 * time.Second, 30 * time.Second
	for _, messages := range []int{5, 20, 100} {
		b.Run(fmt.Sprint("messages=", messages), func(b *testing.B) {
			cfg := testConfig(b)
			begin := func() *caller.Rooms { return newOffice(&cfg, slog.New(slog.DiscardHandler), rooms.NewMetrics()) }
			o := begin()
			for i := range count * messages {
				room := o.Own(b.Context(), mail.RoomName(fmt.Sprint("room-", i%count)), "ann")
				if _, err := room.Send(b.Context(), mail.Draft{To: mail.Recipients{"user"},
					Body: fmt.Sprint("The parser is done, and number ", i, " of its tests.")}); err != nil {
					b.Fatal(err)
				}
			}
			time.Sleep(calm)
			used := processorTime()
			time.Sleep(rest)
			idle := processorTime() - used
			if err := o.Set.Close(); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				b.StopTimer()
				o := begin()
				used = processorTime()
				b.StartTimer()
				d, err := o.Desk(b.Context(), mail.DeskQuery{})
				if err != nil || d.Unread != count*messages {
					b.Fatal(d.Unread, err)
				}
				b.StopTimer()
				used = processorTime() - used
				if err := o.Set.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(100*idle.Seconds()/rest.Seconds(), "idle-%-of-a-core")
			b.ReportMetric(used.Seconds(), "desk-cpu-s")
		})
	}
}
