package mail

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestCompareNames(t *testing.T) {
	want := strings.Fields(
		"agent agent- agent-01 agent-1 agent-2 agent-9 agent-010 agent-10 agent-10-1 agent-10a agent-11 " +
			"agent-99999999999999999999 agent-100000000000000000000 agent1 agenta builder-2 builder-10 小克-3 小克-20")
	for range 100 {
		got := slices.Clone(want)
		rand.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		if slices.SortFunc(got, CompareNames); !slices.Equal(got, want) {
			t.Fatalf("sorted: %q, want %q", got, want)
		}
	}
	for i, a := range want {
		for j, b := range want {
			if got := CompareNames(Name(a), Name(b)); got < 0 != (i < j) || got == 0 != (i == j) {
				t.Errorf("CompareNames(%q, %q) = %d", a, b, got)
			}
		}
	}
}
