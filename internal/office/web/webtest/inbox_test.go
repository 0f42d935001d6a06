package webtest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestArrivesLive(t *testing.T) {
	r := ownOffice(t, "live", serve...)
	r.fill(reports(30)...)
	p := r.person(1280, 800)
	p.sees("#list .row", "Report 30")
	unread := func(n int) {
		t.Helper()
		p.until(
			fmt.Sprintf(
				`document.title.startsWith("• ") && document.querySelector("[data-count=unread]").textContent === "%d"`, n))
	}
	unread(30)

	p.away() // no one reads in the list, so new mail is shown
	r.send("builder-2", "user", "The second message", "--subject", "At the top")
	p.sees("#list .row", "At the top")
	unread(31)
	p.until(`document.getElementById("announce").textContent === "1 new"`)

	p.press("jj") // the person reads: nothing may move
	p.until(`document.activeElement.matches("#list .row")`)
	const place = `JSON.stringify([document.activeElement.id, document.activeElement.getBoundingClientRect(), document.getElementById("list").scrollTop])`
	before := value[string](p, place)
	r.send("builder-2", "user", "Wait for me", "--subject", "Behind the pill")
	p.sees("#pill", "1 new")
	r.send("builder-2", "user", "And me", "--subject", "Behind it too")
	p.sees("#pill", "2 new")
	p.is("!" + shows("#list .row", "Behind the pill"))
	if after := value[string](p, place); after != before {
		t.Errorf("the row that is read stood at %s and stands at %s", before, after)
	}
	p.click("#pill")
	p.sees("#list .row", "Behind the pill")
	p.misses("#pill", "new")

	value[bool](p, `{ document.activeElement.blur(); document.getElementById("list").scrollTop = 600; true }`)
	p.away()
	before = value[string](p, place)
	r.send("builder-2", "user", "The fourth", "--subject", "Above")
	p.sees("#pill", "1 new")
	if after := value[string](p, place); after != before {
		t.Errorf("the list stood at %s and stands at %s", before, after)
	}
	unread(34)
	r.send("builder-2", "user", "Which?", "--type", "question")
	p.until(
		`document.title.startsWith("(1) ") && document.getElementById("favicon").href.endsWith("n=1") && document.querySelector("[data-count=inbox]").textContent === "1"`)
}

func TestAnswer(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle", "--client", "claude-code")
	id := r.send("builder-1", "user", "Which of the two?", "--subject", "Which?", "--type", "question", "--metadata",
		`{"options":["The left one",{"label":"The right one","description":"it costs more"}]}`)
	r.send("builder-2", "user", "Nothing", "--subject", "Another")
	p := r.person(1280, 800)
	p.sees("#needs .row.unread .asks", "The left one")
	p.click("#row-" + id)
	p.sees("#letter", "Which of the two?")
	// only this message is read
	p.until(`!document.getElementById("row-` + id +
		`").matches(".unread") && document.querySelector("#updates .row.unread")`)
	p.sees("#card", "it costs more")

	p.write("#reply-text", "I am thinking")
	r.send("builder-1", "user", "I cannot wait for ever.", "--reply-to", id)
	p.sees("#letter .later", "I cannot wait for ever.")
	p.sees("#letter", "whole thread, 2 messages")
	p.press(" about")
	p.is(`document.activeElement.id === "reply-text" && document.activeElement.value === "I am thinking about"`)

	p.click("#card button[value='The right one']")
	p.sees(".toast", "Answered “The right one” to builder-1")
	p.sees("#card .pending", "The right one")
	p.sees("#card .given .state", "next looks") // five seconds later
	p.misses("#letter .marks", "needs an answer")
	p.is(`document.getElementById("reply-text").value === "I am thinking about"`)
	answer := strings.TrimPrefix(value[string](p, `document.querySelector("#card .given").id`), "answer-")
	if got := r.run("--as", "builder-1", "read", answer); !strings.Contains(got, "The right one") {
		t.Errorf("the agent reads %q", got)
	}
	p.sees("#card .given .state", "delivered ")
	r.run("--as", "builder-1", "mark", answer, "--read")
	p.until(`/\bread \d/.test(document.querySelector("#card .given .state").textContent)`)

	p.do(focus("#reply-text"))
	p.ctrl("\r")
	p.sees(".toast", "Replied “I am thinking about” to builder-1")
	p.until(`document.getElementById("reply-text").value === ""`)
	p.sees("#card .given .receipts", "next looks")
}

// TestUndoDuringRefresh tests that an undone row comes back although a refresh of the list is under way, whose
// response does not have it.
func TestUndoDuringRefresh(t *testing.T) {
	r := newRoom(t)
	r.fill(reports(3)...)
	p := r.person(1280, 800)
	p.click("#row-msg_report0000000000000002")
	p.sees("#letter", "Report 2")
	p.press("e")
	p.misses("#list .row", "Report 2")
	p.sees(".toast", "Undo")
	value[bool](p, `(() => {
		const fetches = window.fetch;
		window.fetch = async (...all) => {
			const response = await fetches(...all);
			if (String(all[0]).includes("down=")) await new Promise((done) => setTimeout(done, 1_500));
			return response;
		};
		document.getElementById("rows").dispatchEvent(new CustomEvent("pp-live"));
		return true;
	})()`)
	time.Sleep(500 * time.Millisecond) // the post office has answered, and the page has not heard it
	p.press("z")
	p.sees("#list .row", "Report 2")
}

func TestTriage(t *testing.T) {
	r := newRoom(t)
	r.fill(reports(5)...)
	p := r.person(1280, 800)
	row := func(n string) string { return "#row-msg_report000000000000000" + n }

	p.click(row("4"))
	p.sees("#letter", "Report 4")
	p.press("e") // archived, and the next one opens
	p.misses("#list .row", "Report 4")
	p.sees("#letter", "Report 3")
	p.press("z")
	p.sees("#list .row", "Report 4")

	p.press("u") // the open one is unread again
	p.until(`document.querySelector("` + row("3") + `").matches(".unread")`)
	p.sees("#act-unread", "Read")
	p.until(`document.querySelectorAll("#list .row.unread").length === 4`) // 5, 3, 2, 1

	p.press("s")
	p.sees("#snooze", "Tomorrow morning")
	p.focuses("#snooze button")
	p.click("#snooze button[value=tomorrow]")
	p.misses("#list .row", "Report 3")
	p.sees(".toast", "Snoozed “")
	p.visit("/?show=snoozed")
	p.sees("#list .row", "Report 3")

	p.visit("/")
	p.press("j")
	p.focuses(row("5"))
	p.press("\u007f") // Delete, on a row that is not open
	p.sees(".toast", "Deleted")
	p.misses("#list .row", "Report 5")
	p.focuses(row("4"))
	p.click(".toast button")
	p.sees("#list .row", "Report 5")
	p.sees(".toast", "Undone")

	// the delete button of a row, visible while the mouse is over it
	p.hover(row("5"))
	p.until(`getComputedStyle(document.querySelector("#slot-msg_report0000000000000005 .quick")).opacity === "1"`)
	p.click("#slot-msg_report0000000000000005 [data-act=delete]")
	p.sees(".toast", "Deleted")
	p.misses("#list .row", "Report 5")
	p.press("z")
	p.sees("#list .row", "Report 5")

	p.click(row("2"))
	p.sees("#letter", "Report 2")
	p.press("\b") // the Delete key of a Mac
	p.misses("#list .row", "Report 2")
	r.run("read", "msg_report0000000000000002") // it can still be undone
	for end := time.Now().Add(patience); strings.Contains(r.run("history"), "Report 2"); {
		if time.Now().After(end) {
			t.Fatal("what was deleted is still in the history")
		}
		time.Sleep(200 * time.Millisecond) // the undo time of five seconds
	}
	if got := r.run("history"); !strings.Contains(got, "Report 5") || !strings.Contains(got, "Report 1") {
		t.Errorf("the history is %s", got)
	}

	p.visit("/?show=archived")
	p.sees("#list", "Nothing")
	p.visit("/")
	for _, n := range []string{"5", "4", "1"} {
		p.click(row(n))
		p.sees("#letter", "Report "+n)
		p.press("e")
		p.misses("#list .row", "Report "+n)
	}
	p.sees("#list", "No one is waiting for you.")
}
