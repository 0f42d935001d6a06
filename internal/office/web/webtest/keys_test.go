package webtest

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKeyboardWalk uses only the keyboard.
func TestKeyboardWalk(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle", "--tag", "project:parser")
	r.run("agents", "register", "builder-2", "--state", "idle")
	r.fill(reports(3)...)
	p := r.person(1280, 800)
	row := func(n string) string { return "#row-msg_report000000000000000" + n }
	at := func(place string) {
		t.Helper()
		p.until(`document.body?.dataset.place === "` + place + `" && document.readyState === "complete"`)
	}

	p.press("j")
	p.focuses(row("3"))
	p.press("jj")
	p.focuses(row("1"))
	p.press("k")
	p.focuses(row("2"))
	p.press("\r")
	p.sees("#letter", "The text of letter 1.")
	p.focuses(row("2"))
	p.press("r")
	p.focuses("#reply-text")
	const typed = "jkeucrsgi?/ z" // each is a command elsewhere
	p.press(typed)
	if got := value[string](p, `document.activeElement.value ?? document.activeElement.outerHTML`); got != typed {
		t.Fatalf("typed %q, and there is %q", typed, got)
	}
	p.is(`location.search.includes("m=") && !document.querySelector("dialog[open]")`)
	p.press("\u001b")
	p.until(`!document.activeElement.matches("textarea")`)
	p.press("\u001b") // from the letter to the list
	p.misses("#detail", "The text of letter 1.")
	p.focuses(row("2"))
	p.sees("#list .row", "Report 2")

	p.press("?")
	p.sees("dialog#keys", "reply")
	p.press("j") // ignored while a dialog is open
	p.press("\u001b")
	p.until(`!document.querySelector("dialog[open]")`)
	p.focuses(row("2"))

	p.press("ga")
	at("agents")
	p.press("j")
	p.focuses(".row")
	p.press("\r")
	p.until(`location.pathname.endsWith("/agents/builder-1") && document.readyState === "complete"`)
	p.press("r")
	p.focuses("#writing textarea")
	p.press("\u001b")
	for _, to := range []struct{ key, place string }{{"c", "channels"}, {"h", "history"}, {"f", "flow"},
		{"s", "stuck"}, {"i", "inbox"}} {
		p.press("g" + to.key)
		at(to.place)
	}
	p.press("/")
	p.focuses("#search")
	p.press("Report 2\r")
	at("history")
	p.sees("#rows .row", "Report 2")
	p.misses("#rows .row", "Report 1")
	p.press("j\r")
	p.until(`location.pathname.includes("/t/") && document.readyState === "complete"`)

	p.ctrl("k")
	p.focuses("#palette-q")
	p.press("stu")
	p.until(`document.getElementById("palette-results").dataset.query === "stu"`)
	p.press("\r")
	at("stuck")
	p.press("c")
	p.sees("dialog#compose", "Preview")
	p.focuses("#compose-to")
	p.press("\u001b\u001b") // close the list of addresses, then the dialog
	p.until(`!document.querySelector("dialog[open]")`)
}

// tabs are the elements that Tab must reach: visible and operable.
const tabs = `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")].filter((e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility({ visibilityProperty: true }) && !e.closest("dialog:not([open])"))`

// labelled tells whether the focus is visible: an outline on the element, or on its substitute.
const labelled = `((e) => {
	const outlined = (s) => s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0;
	return [e, e.parentElement].some((x) => outlined(getComputedStyle(x)) || outlined(getComputedStyle(x, "::after"))) ||
		[...e.querySelectorAll("rect, path")].some((x) => parseFloat(getComputedStyle(x).strokeWidth) >= 2 && getComputedStyle(x).stroke !== "none") ||
		e.matches("[role=combobox]");
})(document.activeElement)`

// TestTab tests that Tab reaches everything on a page, in document order, with a visible focus.
func TestTab(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle", "--tag", "project:parser", "--role", "builder")
	id := r.send("builder-1", "user", "Which?", "--type", "question", "--metadata", `{"options":["a","b"]}`)
	r.send("builder-1", "project:parser", "Hear, hear")
	p := r.person(1280, 800)
	for i, path := range []string{"/?m=" + id, "/agents", "/agents/builder-1", "/channels/project:parser", "/history",
		"/flow", "/stuck", "/compose", "/t/" + id} {
		p.visit(path)
		p.until(`document.readyState === "complete" && !document.querySelector("#row-` + id + `.unread")`)
		if i > 0 { // the frame is the same on every page
			value[bool](p, `{ document.getElementById("main").focus(); true }`)
		}
		// A refresh replaces elements, and the rooms of other tests come and go: elements are known by their first
		// characters.
		const begin = `((e) => e.outerHTML.slice(0, 90))`
		want := value[[]string](p, tabs+
			`.filter((e) => document.activeElement === document.body || document.activeElement.contains(e))`+
			`.filter((e) => !e.dataset.scope).map(`+begin+`)`)
		got := make(map[string]bool)
		for range 2*len(want) + 20 {
			if !slices.ContainsFunc(want, func(w string) bool { return !got[w] }) {
				break
			}
			p.press("\t")
			type stop struct {
				On   string
				Seen bool
			}
			now := value[stop](p, `({ On: `+tabs+`.includes(document.activeElement) ? `+begin+`(document.activeElement) : "",
				Seen: document.activeElement === document.body || `+labelled+` })`)
			if now.On == "" {
				continue // the page itself, or a scrollable region
			}
			if !now.Seen {
				t.Errorf("%s: one does not see that the focus is on %s", path, now.On)
			}
			got[now.On] = true
		}
		for _, w := range want {
			if !got[w] {
				t.Errorf("%s: Tab does not reach %s", path, w)
			}
		}
	}
}

// TestFocusStays tests that a refresh keeps the focus.
func TestFocusStays(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle")
	id := r.send("builder-1", "user", "Hello")
	p := r.person(1280, 800)
	for _, c := range []struct{ path, on, live string }{
		{"/?m=" + id, "#act-archive", "#letter .marks"},
		{"/agents", ".row", "#roster .about"},
		{"/agents/builder-1", "#talk .when-link", "#talk .post"},
		{"/t/" + id, ".when-link", "#thread .post"},
		{"/history", "#rows .row", "#rows .row"},
		{"/flow", ".flow-letter", ".flow-letter .subject"},
	} {
		p.visit(c.path)
		p.until(`document.readyState === "complete" && document.querySelector("` + c.on + `")`)
		value[bool](p, `{ const e = document.querySelector("`+c.on+
			`"); e.focus(); window.was = e.id || e.getAttribute("href"); true }`)
		word := "Word for " + c.path[:3]
		n := value[int](p, `document.querySelectorAll("`+c.live+`").length`)
		text := value[string](p, `document.querySelector("main").innerText`)
		r.send("builder-1", "user", word, "--reply-to", id)
		p.until(`document.querySelectorAll("` + c.live + `").length !== ` + strconv.Itoa(n) +
			` || document.querySelector("main").innerText !== ` + quote(text))
		p.until(`document.activeElement.matches("` + c.on + `")`)
		p.is(`(document.activeElement.id || document.activeElement.getAttribute("href")) === window.was`)
	}
}

// TestKeysAreTold tests that the page's list of keys equals that of docs/web.md.
func TestKeysAreTold(t *testing.T) {
	r := newRoom(t)
	r.fill(reports(1)...)
	p := r.person(1280, 800)
	p.press("?")
	p.sees("dialog#keys", "reply")
	want := value[[]string](p, "[...document.querySelectorAll('dl.keys > div')].map((d) => '| ' + "+
		"[...d.querySelectorAll('kbd')].map((k) => '`' + k.textContent + '`').join(' ') + ' | ' + "+
		"d.querySelector('dd').textContent + ' |')")
	text, err := os.ReadFile("../../../../docs/web.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| `") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/web.md has other keys than the page:\n%s", diff)
	}
}

// TestEnterSends tests that Enter in a single-line field presses a form's main button, even in the reply, where
// another button comes before it.
func TestEnterSends(t *testing.T) {
	r := newRoom(t)
	id := r.send("builder-1", "user", "Half of it is done.")
	p := r.person(1440, 900)
	p.visit("/?m=" + id)
	p.write("#reply-text", "Go on.")
	p.is(`document.querySelector("#reply .quiet").getBoundingClientRect().right <=
		document.getElementById("act-send").getBoundingClientRect().left`)
	value[bool](p, `{ const f = document.getElementById("reply");
		f.addEventListener("submit", (e) => { e.preventDefault(); e.stopImmediatePropagation();
			window.pressed = e.submitter.textContent; }, true);
		const line = document.createElement("input"); f.append(line); line.focus(); true }`)
	p.press("\r")
	p.until(`window.pressed === "Send"`)
	for _, path := range []string{"/?m=" + id, "/compose", "/channels", "/t/" + id, "/scheduled"} {
		p.visit(path)
		p.is(`[...document.forms].every((f) => !f.querySelector("button.primary") ||
			[...f.elements].find((e) => e.type === "submit").matches(".primary"))`)
	}
}
