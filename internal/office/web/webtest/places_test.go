package webtest

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"
)

func TestHistory(t *testing.T) {
	r := newRoom(t)
	r.fill(
		letter{Subject: "Shall we ship?", Type: "question"},
		letter{Subject: "Nothing new"},
		letter{Subject: "Shall we wait?", Type: "question", From: "agent:builder-2"},
		letter{Subject: "Write the parser", Type: "task-assigned", From: "agent:lead",
			To: []string{"agent:builder-1"}},
	)
	p := r.person(1280, 800)
	p.visit("/history")
	p.sees("#rows .row", "Write the parser")
	p.is(`document.querySelectorAll("#rows .row").length === 4`)

	choose := func(field, value string) {
		t.Helper()
		p.do(setValue("#"+field, value))
	}
	choose("f-type", "question")
	p.misses("#rows .row", "Nothing new")
	p.until(`location.search.includes("type=question")`)
	p.write("#f-q", "ship")
	p.misses("#rows .row", "Shall we wait?")
	p.sees("#rows .row", "Shall we ship?")
	p.until(`location.search.includes("q=ship")`)

	const seen = `JSON.stringify([location.href, [...document.querySelectorAll("#rows .row")].map((r) => r.dataset.id), document.getElementById("f-type").value, document.getElementById("f-q").value])`
	before := value[string](p, seen)
	p.do(reload())
	p.sees("#rows .row", "Shall we ship?")
	if after := value[string](p, seen); after != before {
		t.Errorf("loaded again the page is %s, was %s", after, before)
	}

	links := value[[]string](p, `[...document.querySelectorAll(".export a")].map((a) => a.href)`)
	if len(links) != 3 {
		t.Fatalf("the exports are %v", links)
	}
	for _, link := range links {
		type answer struct{ Disposition, Text string }
		a := value[answer](p, `fetch(`+quote(link)+
			`).then(async (r) => ({ Disposition: r.headers.get("Content-Disposition"), Text: await r.text() }))`)
		if !strings.HasPrefix(a.Disposition, "attachment") {
			t.Errorf("%s: Content-Disposition is %q", link, a.Disposition)
		}
		subjects := parsed(t, link, a.Text)
		if len(subjects) != 1 || subjects[0] != "Shall we ship?" {
			t.Errorf("%s has %q", link, subjects)
		}
	}

	p.click(".filters-on a[aria-label='Remove the filter text ship']") // removing one filter keeps the other
	p.sees("#rows .row", "Shall we wait?")
	p.misses("#rows .row", "Nothing new")
	choose("f-since", "whenever")
	p.sees("[role=alert]", "whenever")
	p.forgive("400")
}

// parsed returns the subjects in an export.
func parsed(t *testing.T, link, text string) []string {
	t.Helper()
	type item struct {
		Subject string `json:"subject"`
	}
	var all []string
	switch {
	case strings.Contains(link, "jsonl"):
		for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
			var one item
			if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
				t.Errorf("%s: %v in %s", link, err, lines.Text())
			}
			all = append(all, one.Subject)
		}
	case strings.Contains(link, "json"):
		var messages []item
		if err := json.Unmarshal([]byte(text), &messages); err != nil {
			var whole struct {
				Messages []item `json:"messages"`
			}
			if err := json.Unmarshal([]byte(text), &whole); err != nil {
				t.Errorf("%s: %v in %.200s", link, err, text)
			}
			messages = whole.Messages
		}
		for _, m := range messages {
			all = append(all, m.Subject)
		}
	default:
		for line := range strings.Lines(text) {
			if subject, ok := strings.CutPrefix(line, "### "); ok {
				_, subject, _ = strings.Cut(strings.TrimSpace(subject), " ") // the time
				all = append(all, subject)
			}
		}
	}
	return all
}

func TestChannel(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle", "--tag", "project:parser")
	p := r.person(1280, 800)
	p.visit("/channels")
	p.sees("#channels .row", "parser")
	p.click("#channels .row[href$='project:parser']")
	p.sees("#audience", "builder-1")
	p.click("#writing textarea")
	p.press("How far are you?")
	p.ctrl("\r")
	p.sees("#talk .said.mine", "How far are you?")
	p.until(`document.querySelector("#writing textarea").value === ""`)
	if got := r.run("--as", "builder-1", "read"); !strings.Contains(got, "How far are you?") {
		t.Errorf("the agent reads %q", got)
	}
	r.send("builder-1", "project:parser", "Nearly **there**.")
	p.sees("#talk .said strong", "there")
	p.focuses("#writing textarea")
}

func TestJoinConversation(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "working", "--task", "the parser", "--client", "claude-code")
	r.run("agents", "register", "lead", "--state", "idle")
	r.send("lead", "builder-1", "Write the parser.", "--type", "task-assigned", "--subject", "Parser")
	p := r.person(1280, 800)
	p.visit("/agents")
	p.sees("#roster .agent", "the parser")
	p.click("#roster a.row[href$='/builder-1']")
	p.sees("#talk .post", "Write the parser.")
	p.click("#writing textarea")
	p.press("Use a hand-written one.\n\nIt is **faster**.")
	p.ctrl("\r")
	p.sees("#talk .post.mine strong", "faster")
	p.sees("#talk .post.mine .receipts", "queued")
	r.run("--as", "builder-1", "read")
	p.sees("#talk .post.mine .receipts", "delivered")
	r.run("--as", "builder-1", "mark", "--all", "--read")
	p.sees("#talk .post.mine .receipts", "read")
	r.send("builder-1", "lead", "It is written.", "--type", "task-done")
	p.sees("#talk .post", "It is written.")
	r.run("agents", "register", "builder-1", "--state", "idle")
	p.sees("#about .stands", "idle")
}

func TestCompose(t *testing.T) {
	r := newRoom(t)
	for _, name := range []string{"builder-1", "builder-2", "reviewer"} {
		r.run("agents", "register", name, "--state", "idle", "--role", strings.TrimRight(name, "-12"))
	}
	p := r.person(1280, 800)
	p.press("c")
	p.focuses("#compose-to")
	p.press("rev")
	p.sees("#compose-options", "reviewer")
	p.press("\r")
	p.sees("#compose-chips .chip", "reviewer")
	p.press("nobody-of-that-name,")
	p.sees("#compose-chips .chip", "nobody-of-that-name")
	p.click("#compose-subject")
	p.press("Please look\r")
	p.focuses("#compose-body")
	p.press("It is *ready*.\n\n- one\n- two")
	p.click("#compose-preview-button")
	p.sees("#compose-preview em", "ready")
	p.misses("#compose-form", "*ready*")
	p.click("#compose-preview-button")
	p.focuses("#compose-body")
	p.ctrl("\r")
	p.sees("#compose-error", "nobody-of-that-name")
	p.is(
		`document.getElementById("compose-body").value === "It is *ready*.\n\n- one\n- two" && document.getElementById("compose-subject").value === "Please look"`)
	p.forgive("404")

	p.press("\u001b") // pressed by mistake
	p.sees("#compose-discard", "not been sent")
	p.press("\r") // continue writing
	p.misses("#compose-discard", "not sent")
	p.click("#compose-chips .chip:last-of-type input")
	p.misses("#compose-chips .chip", "nobody")
	p.click("#compose-form .primary")
	p.sees(".toast", "reviewer: ")
	p.until(`!document.querySelector("dialog[open]")`)
	if got := r.run("--as", "reviewer", "read"); !strings.Contains(got, "Please look") ||
		!strings.Contains(got, "- two") {
		t.Errorf("the agent reads %q", got)
	}
}
