package webtest

import (
	"fmt"
	"testing"
	"time"
)

// TestConsole tests that channels and agents' threads are in one list, and that a message in a thread reaches the
// agent.
func TestConsole(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "architect", "--state", "idle", "--tag", "project:inscription")
	r.run("agents", "register", "librarian", "--state", "idle", "--tag", "concern:governance")
	r.send("librarian", "project:inscription", "Two tables.")
	p := r.person(1280, 800)
	p.visit("/channels")
	p.until(
		`JSON.stringify([...document.querySelectorAll("#channels h2")].map((h) => h.textContent)) === '["Everyone","Tags","Agents"]'`)
	p.press("jjjj")
	p.focuses(`#channels .row[href$="/agent:architect"]`)
	p.press("\r")
	p.sees("#audience", "idle")
	p.click("#writing textarea")
	p.press("Which one?")
	p.ctrl("\r")
	p.sees("#talk .said.mine", "Which one?")
	p.sees(`#channels .row[aria-current] .last`, "Which one?")
	r.send("architect", "user", "The left one.")
	p.sees("#talk .said", "The left one.")
	p.click(`#channels .row[href$="/project:inscription"]`)
	p.sees("#talk .said", "Two tables.")
	p.misses("#talk .said", "The left one.")
}

// TestThreadTreeKeys tests that replies are nested lists, indented, and that j, k and r move through them.
func TestThreadTreeKeys(t *testing.T) {
	r := newRoom(t)
	for _, name := range []string{"architect", "librarian"} {
		r.run("agents", "register", name, "--state", "idle")
	}
	const id = "msg_tree%018d"
	var letters []letter
	for i, parent := range []int{-1, 0, 1, 0, 2, 4, 5, 6} {
		l := letter{ID: fmt.Sprintf(id, i), From: "agent:librarian", To: []string{"agent:architect"},
			Body: fmt.Sprintf("Reply %d", i)}
		if parent >= 0 {
			l.ReplyTo, l.Thread = fmt.Sprintf(id, parent), fmt.Sprintf(id, 0)
		}
		letters = append(letters, l)
	}
	r.fill(letters...)
	p := r.person(1280, 800)
	p.visit("/t/" + letters[0].ID)
	p.sees("#thread .post", "Reply 7")
	const left = `((n) => document.querySelector("#m-msg_tree" + String(n).padStart(18, "0")).getBoundingClientRect().left)`
	p.is(left + "(1) > " + left + "(0)")
	p.is(left + "(2) > " + left + "(1)")
	p.is(left + "(3) === " + left + "(1)") // it answers the same message
	p.is(left + "(5) > " + left + "(4)")
	p.is(left + "(7) === " + left + "(6)") // beyond the deepest indentation
	p.is(
		`[...document.querySelectorAll(".branches > ul, ul.replies")].every((l) => l.getAttribute("role") === "list" && [...l.children].every((c) => c.tagName === "LI"))`)
	p.sees(".answers-whom", "answering librarian") // 3 is not right below the message it answers
	p.press("jj")
	p.focuses("#m-" + letters[1].ID)
	p.press("r")
	p.sees("#writing .answering", "Reply 1")
	p.focuses("#writing textarea")
	p.press("\u001b")
	p.size(400, 800)
	p.fits("the thread on a phone")
	p.is(`[...document.querySelectorAll(".post")].every((e) => e.getBoundingClientRect().width > 250)`)
	p.size(1280, 800)
	p.everywhere("a thread")
}

// TestLateMail tests that mail sent days ago that arrives while the page is open is sorted into place, in a channel
// and the inbox, and that each day has one heading.
func TestLateMail(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "librarian", "--state", "idle", "--tag", "project:x")
	ago := func(days int) time.Time { return time.Now().UTC().AddDate(0, 0, -days) }
	late := func(n int, to string, days ...int) {
		var letters []letter
		for i, d := range days {
			letters = append(letters, letter{ID: fmt.Sprintf("msg_late%d%017d", n, i), Type: "custom",
				From: "agent:librarian",
				To:   []string{to}, Body: fmt.Sprintf("Sent %d days ago", d), Sent: ago(d)})
		}
		r.fill(letters...)
	}
	const headings = `JSON.stringify([...document.querySelectorAll("h2.date, .when")].map((h) => h.textContent))`
	const unique = `((all) => new Set(all).size === all.length)(JSON.parse(` + headings + `))`

	r.send("librarian", "project:x", "Sent today")
	p := r.person(1280, 800)
	p.visit("/channels/project:x")
	p.sees("#talk .said", "Sent today")
	late(1, "project:x", 5, 9)
	p.sees("#talk .said", "Sent 9 days ago")
	late(2, "project:x", 7, 5)
	p.sees("#talk .said", "Sent 7 days ago")
	const said = `JSON.stringify([...document.querySelectorAll("#talk .said .body")].map((b) => b.textContent.trim().split(" ")[1]))`
	p.until(said + ` === '["9","7","5","5","today"]'`)
	p.is(`document.querySelectorAll("#talk h2.date").length === 4 && ` + unique)

	r.send("librarian", "user", "Sent today")
	p.visit("/")
	p.away()
	p.sees("#list .row", "Sent today")
	late(3, "user", 30, 40)
	p.sees("#list .row", "Sent 40 days ago")
	late(4, "user", 35)
	p.sees("#list .row", "Sent 35 days ago")
	const rows = `JSON.stringify([...document.querySelectorAll("#list .row .subject")].map((b) => b.textContent.trim().split(" ")[1]))`
	p.until(rows + ` === '["today","30","35","40"]'`)
	p.is(unique)
	p.visit("/history")
	p.sees("#rows .row", "Sent 40 days ago")
	p.is(unique)
}

// TestAllWorkspaces tests the inbox over all rooms. An action on a message applies in its own room.
func TestAllWorkspaces(t *testing.T) {
	r := newRoom(t)
	other := &room{r.office, t, r.name + "-other"}
	for i, in := range []*room{r, other} {
		in.run("workspace", "add", fmt.Sprint("ws-", i), t.TempDir(), "--label",
			fmt.Sprint("Thesis ", i, " of ", r.name))
		in.send(fmt.Sprint("ws-", i), "user", fmt.Sprint("Done in ", i), "--subject", fmt.Sprint("Thesis ", i))
	}
	p := r.person(1280, 800)
	p.sees("#list .row", "Done in 0")
	p.click(".room-links a[data-scope=all]")
	p.sees("#list .row", "Done in 1")
	p.click("#list .row[data-base$='-other']")
	p.sees("#letter", "Done in 1")
	p.until(`!document.querySelector("#list .row[data-base$='-other']").matches(".unread")`)
	p.until(`location.pathname.endsWith("-other/") && document.querySelector(".room-links a[aria-current]").dataset.scope === "all"`)
	p.is(`document.querySelector("#list .row[data-base$='` + r.name + `']").matches(".unread")`)
	p.write("#reply-text", "Well done.")
	p.ctrl("\r")
	p.sees(".toast", "Replied “Well done.” to ws-1")
	value[bool](p, `{ document.activeElement.blur(); true }`)
	p.press("e")
	p.misses("#list .row", "Done in 1")
	p.sees("#list .row", "Done in 0")
	p.visit("/")
	p.click(".scopes summary")
	p.click(`.scopes a[href*="-other/?"][href*="ws=ws-1"]`)
	p.until(`location.pathname.endsWith("-other/")`)
	p.sees("#list", "No one is waiting for you.")
}

// TestSessionOnPhone tests that the result of Open session is readable on a phone, where the buttons are at the
// bottom.
func TestSessionOnPhone(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "ws-1", "--state", "idle", "--client", "claude-code", "--session", "0a1b")
	id := r.send("ws-1", "user", "Look at it.")
	p := r.person(400, 800)
	p.visit("/?m=" + id)
	p.click("#act-session")
	p.sees("#session-how", "claude --resume 0a1b")
	p.is(
		`((r) => r.left >= 0 && r.right <= innerWidth && r.bottom < document.getElementById("acts").getBoundingClientRect().top)(document.querySelector("#session-how button").getBoundingClientRect())`)
	p.fits("a letter whose session was asked for")
}
