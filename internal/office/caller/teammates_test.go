package caller

import (
	"fmt"
	"testing"
)

// TestP12_TeammatesAreForgotten: only running programs of teammates are remembered.
func TestP12_TeammatesAreForgotten(t *testing.T) {
	var u toolUses
	alive := func(program string) bool { return program == "lives" }
	u.settle("a", "lives", "mate", alive)
	for i := range 20 * maxApart {
		u.settle("a", fmt.Sprint("ended-", i), "mate", alive)
	}
	if len(u.apart) > maxApart {
		t.Errorf("%d programs are remembered", len(u.apart))
	}
	if got := u.in("a", "lives"); got != "mate" {
		t.Errorf("in the program that runs is %q", got)
	}
}
