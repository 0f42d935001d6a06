package fold_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// TestDropGone compares lists that lost records with lists that never had them.
func TestDropGone(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var l, want, gone fold.List
		for seq := range mail.Seq(random.IntN(12)) {
			r := &fold.Record{Seq: seq, Gone: random.IntN(3) == 0}
			switch there := random.IntN(4) > 0; {
			case r.Gone && there:
				l, gone = append(l, r), append(gone, r)
			case r.Gone:
				gone = append(gone, r)
			case there:
				l, want = append(l, r), append(want, r)
			}
		}
		if len(gone) == 0 {
			continue
		}
		whole := l
		l.DropGone(gone[0].Seq, gone[len(gone)-1].Seq)
		if !slices.Equal(l, want) {
			t.Fatalf("%d of %d records are left, want %d", len(l), len(whole), len(want))
		}
		for _, r := range whole[:len(whole)-len(l)] {
			if r != nil {
				t.Fatal("a record that has gone is still held in memory")
			}
		}
	}
}
