package room

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pennypost/internal/mail"
)

// TestNewest pages through several rooms, whose clocks disagree with the order of their mail: every message is listed
// once, and each room in its order.
func TestNewest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		rooms, total := make(map[mail.RoomName][]mail.Item), 0
		for r := range 1 + rng.IntN(4) {
			name := mail.RoomName(fmt.Sprintf("r%d", r))
			for s := range rng.IntN(9) {
				rooms[name] = append(rooms[name], mail.Item{Seq: mail.Seq(s + 1),
					Message: mail.Message{Sent: mail.Time(rng.IntN(6))}})
				total++
			}
		}
		most, next := 1+rng.IntN(5), make(map[mail.RoomName]mail.Seq)
		var q mail.FleetMailQuery
		for more := true; more; {
			var pages []mail.FleetPage
			for name, all := range rooms {
				if before := q.In(name).Before; before > 0 {
					all = all[:before-1]
				}
				cut := max(0, len(all)-most)
				pages = append(pages, mail.FleetPage{Room: name, Page: mail.Page{Messages: all[cut:], More: cut > 0}})
			}
			var letters []letter
			letters, q.Places, more = newest(pages, most, q.Places)
			if len(letters) > most || more && len(letters) < most {
				t.Fatalf("a page of %d has %d letters, and more: %v", most, len(letters), more)
			}
			for i := len(letters) - 1; i >= 0; i-- {
				l := letters[i]
				if seq := next[l.room]; seq != 0 && l.Seq != seq-1 || seq == 0 && int(l.Seq) != len(rooms[l.room]) {
					t.Fatalf("after %d of %s comes %d", seq, l.room, l.Seq)
				}
				next[l.room] = l.Seq
				total--
			}
		}
		if total != 0 {
			t.Fatalf("%d letters were not listed", total)
		}
	}
}
