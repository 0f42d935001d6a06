package webtest

import (
	"fmt"
	"testing"
	"time"
)

// waiters fills a room with waits: a chain, a circle with an agent waiting for it, and a role without a holder.
func (r *room) waiters() {
	r.t.Helper()
	for _, n := range []string{"lead", "builder-1", "builder-2", "reviewer", "designer-1", "designer-2", "tester"} {
		r.run("agents", "register", n, "--state", "working", "--task", "the "+n+"'s part of the lighthouse")
	}
	var all []letter
	for i, w := range []struct {
		from, to, subject string
		ago               time.Duration
	}{
		{"builder-1", "agent:reviewer", "May the parser go in as it is?", 95 * time.Minute},
		{"lead", "agent:builder-1", "When will the parser be ready?", 40 * time.Minute},
		{"reviewer", "user", "Which of the two licences do we take?", 34 * time.Minute},
		{"designer-1", "agent:designer-2", "Which blue?", 12 * time.Minute},
		{"designer-2", "agent:designer-1", "Which red?", 11 * time.Minute},
		{"tester", "agent:designer-1", "Is the button to be blue or red?", 6 * time.Minute},
		{"builder-2", "role:archivist", "Where are the old drawings?", 3 * time.Minute},
	} {
		all = append(all, letter{ID: fmt.Sprintf("msg_wait%017d", i), Type: "question", From: "agent:" + w.from,
			To: []string{w.to}, Subject: w.subject, Sent: time.Now().Add(-w.ago).UTC()})
	}
	r.fill(all...)
	r.run("--as", "reviewer", "mark", all[0].ID, "--read")
	r.run("--as", "builder-1", "mark", all[1].ID, "--read")
}

// pictured checks a page in both themes at the widths of a desktop, a small window and a phone.
func (p *person) pictured(name, path, seen string) {
	p.t.Helper()
	for _, width := range []int64{1440, 1024, 390} {
		p.size(width, map[bool]int64{true: 844, false: 900}[width == 390])
		p.visit(path)
		p.sees(seen, "")
		p.until(`document.readyState === "complete"`)
		for _, theme := range []string{"light", "dark"} {
			value[bool](p, `{ document.documentElement.dataset.theme = "`+theme+`"; true }`)
			where := fmt.Sprintf("%s-%d-%s", name, width, theme)
			rules := `runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]`
			if theme == "dark" {
				rules = `runOnly: ["color-contrast"]` // a theme changes only colours
			}
			p.accessible(where, rules)
			p.fits(where)
			p.away()
			shot(p, where)
		}
	}
}

// TestWaiting tests that waits are visible, that every arrow leads to its question, and that an answer breaks a
// circle.
func TestWaiting(t *testing.T) {
	r := newRoom(t)
	r.waiters()
	p := r.person(1440, 900)
	p.pictured("waiting", "/flow?view=waiting", ".chain")
	p.pictured("agents-waiting", "/agents", ".waits-for")
	p.pictured("stuck-waiting", "/stuck", ".stuck-wait")
	p.size(1440, 900)
	p.visit("/flow?view=waiting")
	p.is(
		`document.querySelectorAll(".chain").length === 3 && document.querySelectorAll(".chain.in-circle .loop").length === 1`)
	p.is(`document.querySelector(".chain").innerText.replace(/\s+/g, " ").includes("lead")`)
	p.is(
		`[...document.querySelectorAll(".wait-arrow, .wait-back")].every((a) => a.href && a.querySelector("time").textContent)`)
	p.click(".chain .wait-arrow[title*='the parser go in']")
	p.sees("#thread .post", "The text of letter 0.")
	p.visit("/flow?view=waiting")
	r.send("builder-1", "lead", "Tomorrow.", "--type", "answer", "--reply-to", "msg_wait00000000000000001")
	p.misses(".chain", "When will the parser") // live
	p.visit("/stuck")
	p.sees(".kind-circle", "Which red?")
	p.write(".kind-circle li:first-child input[name=body]", "Take the first one.")
	p.press("\r")
	p.misses("#stuck-groups", "Waiting in a circle")
}

// talkers fills a room with n agents who write to each other.
func (r *room) talkers(n int) {
	r.t.Helper()
	var all []letter
	for i := range n * 12 {
		from, to := i%n+1, (i*i/3+i*7)%n+1
		l := letter{ID: fmt.Sprintf("msg_talk%017d", i), From: fmt.Sprint("agent:agent-", from),
			To: []string{fmt.Sprint("agent:agent-", to)}, Subject: fmt.Sprint("Piece ", i)}
		if i%9 == 0 {
			l.To = []string{"user"}
		}
		all = append(all, l)
	}
	r.fill(all...)
}

// TestMatrix tests that the matrix of twenty agents fits a small window, and leads to the conversations.
func TestMatrix(t *testing.T) {
	r := newRoom(t)
	r.talkers(20)
	p := r.person(1440, 900)
	p.pictured("matrix", "/flow?view=talk", ".talk-web")
	p.size(1024, 900)
	p.visit("/flow?view=talk")
	p.is(
		`(([head, ...rows]) => head.cells.length === 23 && rows.length === 22 && head.cells[2].innerText === "agent-1" && head.cells[21].innerText === "agent-20")([...document.querySelector(".matrix").rows])`)
	over := value[string](p,
		`((m) => (m.scrollWidth - m.clientWidth) + " " + (m.scrollHeight - m.clientHeight))(document.getElementById("flow-matrix"))`)
	if over != "0 0" {
		t.Errorf("the matrix is larger than its place by %s pixels", over)
	}
	p.is(`[...document.querySelectorAll(".matrix th[scope=row] bdi")].every((n) => n.scrollWidth <= n.clientWidth)`)
	const cell = ".matrix tbody tr:nth-child(4) td:has(a) a"
	p.do(focus(cell))
	p.is(
		`((c) => c.matches(".lit") && c.closest("table").rows[0].cells[c.cellIndex].matches(".lit") && c.parentElement.cells[0].matches(".lit"))(document.querySelector("` + cell + `").parentElement)`)
	count := value[int](p, `Number(document.querySelector("`+cell+`").textContent)`)
	p.press("\r")
	p.until(`document.body.dataset.place === "history" && document.querySelectorAll("#rows .row").length === ` +
		fmt.Sprint(count))
}

// TestCheckLetters tests that agents' initials differ, fit, and are readable in both themes and every state.
func TestCheckLetters(t *testing.T) {
	r := newRoom(t)
	for _, n := range []string{"agent-1", "agent-2", "agent-10", "agent-11", "agent-12", "code-reviewer-2024", "x"} {
		r.run("agents", "register", n, "--state", "idle")
	}
	p := r.person(1280, 800)
	p.visit("/agents")
	for _, theme := range []string{"light", "dark"} {
		value[bool](p, `{ document.documentElement.dataset.theme = "`+theme+`"; true }`)
		got := value[string](p, `(() => {
			const paint = document.createElement("canvas").getContext("2d");
			const light = (colour) => {
				paint.fillStyle = colour;
				paint.fillRect(0, 0, 1, 1);
				const [r, g, b] = [...paint.getImageData(0, 0, 1, 1).data].map((c) => (c /= 255, c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4));
				return .2126 * r + .7152 * g + .0722 * b + .05;
			};
			const wrong = [], letters = document.querySelector("#roster .letters");
			for (const stands of ["", "works", "asks", "idle", "me"]) {
				letters.className = "letters " + stands;
				const { color, backgroundColor } = getComputedStyle(letters), [a, b] = [light(color), light(backgroundColor)];
				if (!(Math.max(a, b) / Math.min(a, b) >= 4.5)) wrong.push(stands);
			}
			return wrong.join(", ");
		})()`)
		if got != "" {
			t.Errorf("%s: too little contrast: %s", theme, got)
		}
		shot(p, "letters-"+theme)
	}
	p.do(reload())
	p.until(
		`JSON.stringify([...document.querySelectorAll("#roster .agent .letters")].map((f) => f.textContent)) === '["A1","A2","A10","A11","A12","CR2024","X"]'`)
	p.is(`[...document.querySelectorAll("#roster .agent .letters")].every((f) => f.scrollWidth <= f.clientWidth)`)
}
