package hook_test

import (
	"fmt"
	"testing"

	"pennypost/internal/fence"
	"pennypost/internal/office/hook/hooktest"
)

// TestPrice limits the cost to a model, in bytes, of a letter of 22 bytes and of a ring: see docs/bench.md.
func TestPrice(t *testing.T) {
	b := newFixture(t)
	h := b.harness(hooktest.Claude(), "claude-shop", "s1")
	h.Start("startup")
	h.Prompt("go on")
	for i, most := range []int{540, 300, 300} {
		b.send("claude-shop", fmt.Sprintf("May I merge it now, %d?", i))
		h.Tool("Bash", "ls")
		text := last(h)
		t.Logf("letter %d: %d bytes", i+1, len(text))
		if len(text) > most {
			t.Errorf("letter %d costs %d bytes, want at most %d:\n%s", i+1, len(text), most, text)
		}
	}
	const id = fence.RingID + "WG5LZCPIDR"
	first, later := fence.Ring("shop-748660", 1, 0, id, false), fence.Ring("shop-748660", 1, 0, id, true)
	t.Logf("rings: %d and %d bytes", len(first), len(later))
	if len(first) > 150 || len(later) > 60 || !fence.IsRing(first) || !fence.IsRing(later) ||
		fence.IsRing("[Pennypost] mend the tests") {
		t.Errorf("the rings are %q and %q", first, later)
	}
}
