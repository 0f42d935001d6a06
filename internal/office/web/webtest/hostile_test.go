package webtest

import (
	"strings"
	"testing"
)

// TestHostileMail opens mail that tries to be more than text. Every test checks requests, dialogs and errors of the
// browser (person.listen).
func TestHostileMail(t *testing.T) {
	r := newRoom(t)
	const evil = `<img src=x onerror=alert(1)><script>alert(2)</script>"'><svg onload=alert(3)>`
	name := "</script><b>bo\u202eld"
	word := strings.Repeat("W", 10_000)
	if out, err := r.try("", "agents", "register", name, "--state", "working", "--task", evil, "--role", "reviewer",
		"--tag", "project:x"); err != nil {
		t.Logf("the room does not take the name %q: %s", name, out)
		name = "b' onclick='alert(1)"
		r.run("agents", "register", name, "--state", "working", "--task", evil, "--role", "reviewer", "--tag",
			"project:x")
	}
	from := "agent:" + name
	letters := []letter{
		{Subject: evil, Body: evil + "\n\n" + evil},
		{Subject: "\u202egnihtyna\u200b\u2066\u200f",
			Body: "\u202eright to left \u2067and\u200b zero\u200dwidth \ufeff"},
		{Subject: word[:1000], Body: word},
		{Subject: "Pictures", Body: "![p](https://example.com/p.png) ![q](//example.com/q.png) " +
			"![r](data:image/png;base64,AAAA) ![s](/../../logout) <img src=\"https://example.com/r.png\">\n\n[x]: " +
			"javascript:alert(1)\n\n[run][x] [run](javascript:alert(1)) " +
			"[run](data:text/html,<script>alert(1)</script>) <https://example.com/>"},
		{Subject: "Style", Body: "<style>*{display:none}</style><base href=\"https://example.com/\"><meta " +
			"http-equiv=refresh content=\"0;url=https://example.com/\"><iframe " +
			"src=\"https://example.com/\"></iframe><form action=\"https://example.com/\"><input autofocus " +
			"onfocus=alert(1)></form>"},
		{Subject: "htmx",
			Body:  `<div hx-get="/@x/" hx-trigger="load" hx-swap="outerHTML" data-key="e" data-do="theme">x</div>`,
			Issue: `"><script>alert(1)</script>`},
		{Subject: "Code", Body: "```html\n" + evil + "\n" + word + "\n```\n\n    " + evil + "\n\n| " + word + " | " +
			evil + " |\n|---|---|\n| a | b |"},
		{Subject: evil, Type: "question", Body: evil,
			Metadata: map[string]any{"options": []any{evil, word[:400],
				map[string]any{"label": "x\u202e" + evil, "description": evil}}}},
		{Subject: "Paths", Body: "See", Docs: []doc{{evil}, {"../../../etc/passwd"},
			{strings.Repeat("d/", 200) + "x"}}},
	}
	pages := []string{"/", "/agents", "/channels", "/channels/role:reviewer", "/history", "/flow", "/flow?view=talk",
		"/stuck", "/palette?q=b", "/compose"}
	for i := range letters {
		letters[i].From, letters[i].ID = from, "msg_hostile"+strings.Repeat("0", 14)+string(rune('a'+i))
		letters[i].To = []string{"user", "project:x", "role:reviewer"}
		pages = append(pages, "/?m="+letters[i].ID)
	}
	r.fill(letters...)
	pages = append(pages, "/t/"+letters[0].ID, "/t/"+letters[2].ID, "/t/"+letters[6].ID)
	p := r.person(1280, 800)
	p.visit("/agents")
	pages = append(pages, strings.TrimPrefix(value[string](p,
		`new URL(document.querySelector("#roster a.row").href).pathname`), "/@"+r.name))
	for _, path := range pages {
		p.visit(path)
		p.until(`document.readyState === "complete"`)
		for _, width := range []int64{1280, 390} {
			p.size(width, 844)
			p.fits(path)
		}
		const strange = `[...document.querySelectorAll("main img, main iframe, main form, main base, main style, main meta, main script, main object")].filter((e) => !e.matches("form") || new URL(e.action).origin !== location.origin).map((e) => e.outerHTML)
			.concat([...document.querySelectorAll("main a[href]")].map((a) => a.getAttribute("href")).filter((h) => !["http:", "https:", "mailto:"].includes(new URL(h, location).protocol)))
			.concat(document.title && document.querySelector("main").checkVisibility() ? [] : ["nothing is to be seen"])`
		if found := value[[]string](p, strange); len(found) > 0 {
			t.Errorf("%s has %q", path, found)
		}
	}
	p.size(1280, 800)
	p.visit("/?m=" + letters[0].ID)
	p.click("#act-unread")
	p.sees(".toast", "Marked unread")
	p.ctrl("k")
	p.focuses("#palette-q")
	p.press("b")
	p.until(`document.getElementById("palette-results").dataset.query === "b"`)
	p.is(`!document.querySelector("main img, main script, dialog img, dialog script")`)
	p.is(`document.cookie.includes("pennypost_session") === false`)
}
