package daemon

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/caller"
	"pennypost/internal/office/rooms"
)

// BenchmarkFleet measures a question about a thousand rooms: the first one to a post office that was just started,
// with the summaries of its rooms and without, repeated until no room is left out; one about closed rooms; and one
// about open rooms.
func BenchmarkFleet(b *testing.B) {
	const count = 1000
	cfg := testConfig(b)
	begin := func() *caller.Rooms { return newOffice(&cfg, slog.New(slog.DiscardHandler), rooms.NewMetrics()) }
	end := func(o *caller.Rooms) {
		if err := o.Set.Close(); err != nil {
			b.Fatal(err)
		}
	}
	o := begin()
	for i := range count {
		name := mail.RoomName(fmt.Sprintf("room-%03d", i))
		for _, agent := range []mail.Name{"ann", "bob", "cat"} {
			room := o.Own(b.Context(), name, agent)
			_, err := room.Register(b.Context(), mail.Presence{State: mail.Idle})
			if err == nil {
				_, err = room.Send(b.Context(), mail.Draft{To: mail.Recipients{"user"}, Type: "question",
					Subject: "Which port is it to be?", Body: "8080 is taken."})
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	began := time.Now()
	end(o)
	b.Logf("a thousand open rooms were closed in %v", time.Since(began))
	all := func(b *testing.B, o *caller.Rooms, part mail.FleetPart) {
		for {
			got, err := o.Fleet(b.Context(), mail.FleetQuery{Part: part, Limit: mail.MaxLimit})
			if err != nil {
				b.Fatal(err)
			}
			if len(got.NotRead) == 0 && len(got.Rooms) == count {
				return
			}
		}
	}
	for _, with := range []bool{true, false} {
		b.Run(fmt.Sprint("start/summaries=", with), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				if !with {
					old, err := filepath.Glob(filepath.Join(cfg.Home.Rooms(), "*", "index", "summary.json"))
					for _, file := range old {
						_ = os.Remove(file)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				o := begin()
				b.StartTimer()
				all(b, o, mail.FleetWaiting)
				b.StopTimer()
				end(o)
				b.StartTimer()
			}
		})
	}
	o = begin()
	defer end(o)
	for _, state := range []string{"closed", "open"} {
		for _, part := range []mail.FleetPart{mail.FleetAgents, mail.FleetWaiting} {
			b.Run("rooms="+state+"/"+string(part), func(b *testing.B) {
				all(b, o, part)
				for b.Loop() {
					all(b, o, part)
				}
			})
		}
		for i := range count {
			if err := o.Set.Touch(b.Context(), mail.RoomName(fmt.Sprintf("room-%03d", i))); err != nil {
				b.Fatal(err)
			}
		}
	}
}
