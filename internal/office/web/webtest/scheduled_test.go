package webtest

import "testing"

// TestScheduled tests that the person can schedule a letter, see it, move it and cancel it.
func TestScheduled(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "ann", "--state", "idle")
	p := r.person(1440, 900)
	p.press("c")
	p.sees("#compose-later summary", "Send it later")
	p.is(`!document.querySelector("#compose-later").open`)
	p.everywhere("write")
	value[bool](p, `{ const f = document.getElementById("compose-form"); f.elements.body.value = "Look again.";
		f.elements.subject.value = "Again"; document.querySelector("#compose-later summary").click(); true }`)
	p.is(`document.getElementById("compose-zone").value === Intl.DateTimeFormat().resolvedOptions().timeZone`)
	shot(p, "scheduled-write")
	p.size(390, 844)
	shot(p, "scheduled-write-phone")
	p.size(1440, 900)
	p.everywhere("write, and when")
	value[bool](p, `{ const f = document.getElementById("compose-form");
		f.querySelector("#compose-to").value = "ann"; f.elements.when.value = "soon"; f.requestSubmit(); true }`)
	p.sees("#compose-error", `"soon" is not a time`)
	value[bool](p, `{ const f = document.getElementById("compose-form");
		f.elements.when.value = "in 2h"; f.requestSubmit(); true }`)
	p.sees("#toasts", "Scheduled for")
	p.forgive("400")

	r.run("send", "ann", "--every", "0 9 * * mon-fri", "--zone", "Europe/Berlin", "--subject", "Standup",
		"What do you work on today?")
	p.visit("/scheduled")
	p.sees("#scheduled-list", "2 messages")
	shot(p, "scheduled-light")
	p.everywhere("what waits")
	p.size(1440, 900)
	shot(p, "scheduled")
	r.run("send", "ann", "--in", "3h", "--subject", "Third", "and this")
	p.sees("#scheduled-list", "3 messages") // without a reload
	p.size(390, 844)
	shot(p, "scheduled-phone")
	p.everywhere("what waits, on a phone")
	p.size(1440, 900)
	value[bool](p, `{ const f = document.querySelector("article:nth-of-type(1) form");
		f.elements.when.value = "in 5h"; f.requestSubmit(); true }`)
	p.sees("#scheduled-list article:nth-of-type(2)", "Again") // it is after the third now
	value[bool](p, `{ document.querySelector("article:nth-of-type(2) .danger").click(); true }`)
	p.misses("#scheduled-list", "Again")
	p.sees("#scheduled-list", "2 messages")
}
