package webtest

import "testing"

// TestFocus tests that the questions of four projects are answered one by one at full width, with one key each.
func TestFocus(t *testing.T) {
	r := newFleet(t)
	p := r.person(1440, 900)
	p.pictured("focus", "/?rooms=all&focus=1", "#letter h1")
	p.pictured("fleet", "/?rooms=all", "#list .row")
	p.size(1440, 900)
	p.visit("/?rooms=all&focus=1")
	p.sees("#letter h1", "Run migration 0107")
	p.sees("#how-far", "1 of 12")
	p.sees("#waiters", "release")
	p.press("2")
	p.sees(".toast", "Answered “Tonight at 02:00” to migrator")
	p.sees("#letter h1", "The plan destroys two volumes")
	p.sees("#how-far", "2 of 12")
	p.press("z")
	p.sees("#letter h1", "Run migration 0107")
	p.sees("#how-far", "1 of 12")
	p.press("\u001b")
	p.sees("#list .row", "Run migration 0107")
	p.is(`!document.querySelector(".panes.focus")`)
}

// TestFleetJobs does the jobs in docs/web.md that concern all rooms.
func TestFleetJobs(t *testing.T) {
	r := newFleet(t)
	p := r.person(1440, 900)
	p.visit("/?rooms=all&focus=1")
	p.sees("#letter h1", "Run migration 0107")
	p.keys(steps(t, "answer a question of any room", 2))
	p.sees(".toast", "Answered “Run it now” to migrator")

	p.visit("/?rooms=all")
	p.sees("#list .row", "The plan destroys two volumes")
	p.keys(steps(t, "find who waits for whom in any room", 2))
	p.sees("#roster", "waits for migrator")
	p.sees("#roster", "waits for builder-1")

	p.visit("/?rooms=all")
	p.sees("#list .row", "The plan destroys two volumes")
	for _, s := range steps(t, "write to an agent of any room", 3) {
		if s == "Ctrl K" {
			p.ctrl("k")
			p.sees("dialog#palette", "")
			continue
		}
		if s == "Enter" {
			p.sees("#palette-results", "parser")
		}
		p.keys([]string{s})
	}
	p.until(`document.body.dataset.room === "parser" && document.readyState === "complete"`)
	p.sees("h1", "fuzz")
	p.focuses("#box")
	p.press("Six hours are fine.")
	p.ctrl("\r")
	p.sees("#talk", "Six hours are fine.")

	p.visit("/?rooms=all") // also in compose, where a letter goes to one room
	p.press("c")
	p.sees("#compose", "")
	p.write("#compose-to", "stat")
	p.sees("#compose-options", "thesis")
	p.press("\t")
	p.write("#compose-to", "release")
	p.sees("#compose-options", "release")
	p.press("\t")
	p.sees("#compose-error", "A letter goes to one room")
	p.write("#compose-body", "Holm, please.")
	p.ctrl("\r")
	p.sees(".toast", "stats")
	thesis := &room{r.office, t, "thesis"}
	thesis.until("--as", "stats", "Holm, please.")

	p.visit("/?rooms=all")
	for _, name := range steps(t, "unstick an agent of any room", 3) {
		p.clickNamed(name)
	}
	p.sees(".toast", "eminded")
}
