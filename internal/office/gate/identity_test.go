package gate

import (
	"slices"
	"testing"
)

// A program that runs several sessions may have them in several rooms; the programs above it count.
func TestOuter(t *testing.T) {
	id := Identity{name: "a", peer: FarPeer([]string{"hook", "server", "outer"}, nil, true)}
	for _, tt := range []struct {
		opens string
		many  bool
		want  []string
	}{
		{"server", true, []string{"outer"}},
		{"all-of-server", true, []string{"outer"}},
		{"server", false, []string{"hook", "server", "outer"}},
		{"another", true, []string{"hook", "server", "outer"}},
	} {
		of, _ := id.Opening(tt.opens, "s", tt.many)
		if got := of.Outer(); !slices.Equal(got, tt.want) {
			t.Errorf("of %s, many %t: %q, want %q", tt.opens, tt.many, got, tt.want)
		}
	}
}
