package webtest

import (
	"fmt"
	"testing"
)

// TestFlowIsLight tests that the flow of 220 letters has at most ten elements per letter, and is complete at each
// width.
func TestFlowIsLight(t *testing.T) {
	r := newRoom(t)
	var all []letter
	for i := range 220 {
		from, to := i%20+1, (i*i/3+i*7)%20+1
		l := letter{ID: fmt.Sprintf("msg_flow%017d", i), From: fmt.Sprint("agent:agent-", from), Type: "status",
			To: []string{fmt.Sprint("agent:agent-", to)}, Subject: fmt.Sprint("Piece ", i)}
		if i%20 == 0 {
			l.To, l.Type = []string{"user"}, "question"
		} else if i%20 == 7 {
			l.Type = "task-done"
		}
		all = append(all, l)
	}
	r.fill(all...)
	p := r.person(1440, 900)
	for _, size := range [][2]int64{{1440, 900}, {1024, 768}, {390, 844}} {
		p.size(size[0], size[1])
		p.visit("/flow?w=6h")
		p.until(`document.querySelectorAll(".flow-letter").length === 220`)
		if n := value[int](p, `document.querySelectorAll("#flow, #flow *").length`); n > 2200 {
			t.Errorf("%d pixels wide, 220 letters have %d elements, want at most 10 each", size[0], n)
		}
		t.Logf("%d pixels wide: %d elements on the page, %d of them the flow", size[0],
			value[int](p, `document.querySelectorAll("*").length`), value[int](p, `document.querySelectorAll("#flow *").length`))
		p.is(`[...document.querySelectorAll(".flow-letter .subject")].slice(0, 20).every((e) => e.getBoundingClientRect().width > 50)`)
		p.everywhere(fmt.Sprintf("flow, %d pixels wide", size[0]))
		p.size(size[0], size[1])
		for _, theme := range []string{"light", "dark"} {
			value[bool](p, `{ document.documentElement.dataset.theme = "`+theme+`"; true }`)
			shot(p, fmt.Sprintf("flow-%d-%s", size[0], theme))
		}
	}
	// a column is below its head
	p.size(1440, 900)
	p.visit("/flow?w=6h")
	p.until(`document.querySelectorAll(".flow-letter").length === 220`)
	off := value[float64](p, `(() => {
		const heads = [...document.querySelectorAll(".head-of")].map((e) => (({ x, width }) => x + width / 2)(e.getBoundingClientRect()));
		const svg = document.querySelector(".flow-letter svg").getBoundingClientRect();
		const lines = [...document.getElementById("flow-lines").getAttribute("d").matchAll(/M(\d+)/g)].map((m) => svg.x + Number(m[1]));
		return lines.length === heads.length ? Math.max(...heads.map((h, i) => Math.abs(h - lines[i]))) : 999;
	})()`)
	if off > 2 {
		t.Errorf("a column is %.1f pixels beside its head", off)
	}
}
