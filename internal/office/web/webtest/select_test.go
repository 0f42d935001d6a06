package webtest

import (
	"testing"
)

// TestSelect tests that rows are selected with x, with Shift and with their boxes, that an action applies to all of
// them, and that Escape clears the selection.
func TestSelect(t *testing.T) {
	r := newRoom(t)
	r.fill(reports(6)...)
	p := r.person(1280, 800)
	row := func(n string) string { return "#row-msg_report000000000000000" + n }
	selected := func(n string) {
		t.Helper()
		p.until(`document.querySelectorAll(".picked-row").length === ` + n)
	}
	p.press("jx")
	selected("1")
	p.sees("#picked", "1 selected")
	p.press("JJ")
	selected("3")
	p.press("x") // also this one
	selected("2")
	p.press("\u001b")
	selected("0")
	p.misses("#picked", "selected")

	p.do(focus(row("6")))
	p.press("x")
	value[bool](p, `{ document.querySelector("`+row("4")+
		`").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey: true })); true }`)
	selected("3")
	p.is(`!document.getElementById("letter")`)
	r.send("builder-2", "user", "Meanwhile", "--subject", "Arrives") // the selection stays
	p.sees("#pill", "1 new")
	p.click("#pill")
	p.sees("#list .row", "Arrives")
	selected("3")
	p.press("u")
	p.sees(".toast", "Marked 3 messages read")
	p.until(`document.querySelectorAll("#list .row.unread").length === 4`)
	selected("0")
	p.press("z")
	p.until(`document.querySelectorAll("#list .row.unread").length === 7`)

	p.press("*s")
	p.sees("#snooze-rows", "Tomorrow morning")
	p.focuses("#snooze-rows button")
	p.press("\u001b")
	p.press("\u007f")
	p.sees(".toast", "Deleted 7 messages")
	p.sees("#list", "No one is waiting for you.")
	p.press("z")
	p.until(`document.querySelectorAll("#list .row").length === 7`)

	// Buttons over a row act on that row. They have names, and Tab reaches them.
	p.is(
		`[...document.querySelectorAll(".slot .quick button, .slot .pick input")].every((b) => b.getAttribute("aria-label") && b.tabIndex === 0)`)
	p.do(focus("#slot-msg_report0000000000000003 [data-act=archive]"))
	p.press("\r")
	p.sees(".toast", "Archived")
	p.misses("#list .row", "Report 3")
}

// TestP13_ArchiveAsks tests that archiving open questions asks the person once, and that questions archived anyway
// stay visible.
func TestP13_ArchiveAsks(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle")
	r.fill(reports(2)...)
	for _, subject := range []string{"Which port?", "Which colour?"} {
		r.send("builder-1", "user", "Say.", "--subject", subject, "--type", "question")
	}
	p := r.person(1280, 800)
	p.press("jx")
	p.press("Je")
	p.sees("dialog#archive", "2 of them are still waiting for an answer")
	p.everywhere("the question before archiving")
	p.press("\u001b")
	p.until(`!document.querySelector("dialog[open]")`)
	p.is(`document.querySelectorAll("#needs .row").length === 2`)
	p.press("e")
	p.click("dialog#archive button[value=archive]")
	p.sees(".toast", "Archived 2 messages")
	p.until(`!document.querySelector("dialog[open]")`)
	p.sees("#needs", "Archived but still open")
	p.click("#needs .row")
	p.sees("#letter", "Which port?")
	p.click("#card .decline")
	p.sees(".toast", "Declined to answer builder-1")
	r.until("--as", "builder-1", "please decide yourself")
}

// TestInboxLooks tests that a row has two lines and is at most 56 pixels high, on a desktop, in a small window and on
// a phone, in both themes.
func TestInboxLooks(t *testing.T) {
	r := newRoom(t)
	r.rich()
	p := r.person(1440, 900)
	for _, path := range []string{"/", "/?rooms=all", "/?reports", "/?m=msg_question00000000000000"} {
		p.pictured("inbox", path, "#detail, #list .row")
	}
	for _, width := range []int64{1440, 1024, 390} {
		p.size(width, 844)
		p.visit("/")
		p.sees("#list .row", "Which of the two?")
		p.is(
			`[...document.querySelectorAll("#list .row")].every((e) => e.getBoundingClientRect().height <= 56.5 && e.closest(".slot").getBoundingClientRect().height <= 56.5 && e.scrollHeight <= e.clientHeight + 1)`)
	}
	p.size(1440, 900)
	p.press("*")
	p.sees("#picked", "selected")
	p.everywhere("selected rows")
}

// TestSteps tests that the inbox shows three steps until the first agent has come, and ticks them off.
func TestSteps(t *testing.T) {
	r := ownOffice(t, "shop", serve...)
	p := r.stranger(1280, 800)
	p.do(navigate(r.run("open", "--print")))
	p.sees("#steps", "No agent is connected yet.")
	p.everywhere("the first steps")
	r.run("agents", "register", "builder", "--state", "idle")
	p.sees("#steps .did", "Agent connected: builder")
	r.send("builder", "user", "Which port?", "--type", "question")
	p.sees("#needs .row", "Which port?")
	r.run("mark", "--all", "--archived")
}
