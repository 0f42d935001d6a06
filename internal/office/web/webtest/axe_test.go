package webtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// axe returns the source of axe-core, which ./test downloads.
func axe(t *testing.T) string {
	t.Helper()
	path := os.Getenv("AXE_CORE")
	if path == "" {
		cache, _ := os.UserCacheDir()
		path = filepath.Join(cache, "pennypost-test", "axe-4.14.1.js")
	}
	text, err := os.ReadFile(path)
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("there is no axe-core; ./test fetches it")
	} else if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// violation is a finding of axe-core.
type violation struct {
	ID     string `json:"id"`
	Impact string `json:"impact"`
	Help   string `json:"help"`
	Nodes  []node `json:"nodes"`
}

type node struct {
	HTML    string `json:"html"`
	Failure string `json:"failureSummary"`
}

// accessible fails the test if axe-core finds serious violations in the tab. The rules are options of axe.run.
func (p *person) accessible(where, rules string) {
	p.t.Helper()
	if !value[bool](p, `!!window.axe`) {
		value[bool](p, axe(p.t)+"; true")
	}
	// Wait for animations: half transparent elements would distort the result.
	value[bool](p, `Promise.all(document.getAnimations().map((a) => a.finished)).then(() => true, () => true)`)
	text := value[string](p, `axe.run(document, { iframes: false, resultTypes: ["violations"], `+rules+
		` }).then((r) => JSON.stringify(r.violations))`)
	var found []violation
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		p.t.Fatal(err)
	}
	for _, v := range found {
		// Ignore elements partly covered by a menu or a fixed bar: closing or scrolling uncovers them.
		v.Nodes = slices.DeleteFunc(v.Nodes, func(n node) bool {
			return strings.Contains(n.Failure, "partially obscured")
		})
		if len(v.Nodes) == 0 {
			continue
		}
		if v.Impact != "serious" && v.Impact != "critical" {
			p.t.Logf("%s: %s: %s (%s)", where, v.ID, v.Help, v.Impact)
			continue
		}
		var nodes strings.Builder
		for _, n := range v.Nodes[:min(len(v.Nodes), 5)] {
			nodes.WriteString("\n  " + n.HTML + "\n    " + strings.ReplaceAll(n.Failure, "\n", "\n    "))
		}
		p.t.Errorf("%s: %s: %s (%s)%s", where, v.ID, v.Help, v.Impact, nodes.String())
	}
}

// everywhere checks a state of the page in both themes and both sizes. A theme changes only colours; a size changes
// everything else.
func (p *person) everywhere(where string) {
	p.t.Helper()
	theme := func(name string) { value[bool](p, `{ document.documentElement.dataset.theme = "`+name+`"; true }`) }
	theme("light")
	p.accessible(where, `runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]`)
	p.fits(where)
	theme("dark")
	p.accessible(where+", dark", `runOnly: ["color-contrast"]`)
	p.size(390, 844)
	p.accessible(where+" on a phone",
		`runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], rules: { "color-contrast": { enabled: false } }`)
	p.fits(where + " on a phone")
	p.size(1280, 800)
}

// fits checks that the page is not wider than the window, and that the frame does not scroll.
func (p *person) fits(where string) {
	p.t.Helper()
	p.until(`document.readyState === "complete"`)
	wrong := value[string](p, `(() => {
		const w = document.documentElement.clientWidth, long = document.documentElement.scrollHeight - innerHeight + scrollY;
		if (long > 1 && !document.body.matches(".door")) return "it is " + long + " pixels longer than the window, beside what scrolls in it";
		if (document.documentElement.scrollWidth <= w && document.body.scrollWidth <= w) return "";
		return "wider than the window are " + [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > w + 1).slice(0, 5).map((e) => e.outerHTML.slice(0, 100)).join("\n");
	})()`)
	if wrong != "" {
		p.t.Errorf("%s: %s", where, wrong)
	}
}

func TestAccessible(t *testing.T) {
	r := newRoom(t)
	pages := r.rich()
	p := r.person(1280, 800)
	for name, path := range pages {
		p.visit(path)
		p.until(`document.readyState === "complete"`)
		p.everywhere(name)
	}
	p.forgive("404")
}

// TestAccessibleOver checks elements that open over a page.
func TestAccessibleOver(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle")
	id := r.send("builder-1", "user", "Hello")
	p := r.person(1280, 800)
	for _, c := range []struct{ name, open, seen string }{
		{"compose", "#compose-button", "dialog#compose"},
		{"palette", "#palette-button", "dialog#palette"},
		{"keys", "[data-do=keys]", "dialog#keys"},
		{"rooms", ".rooms summary", ".rooms ul"},
		{"snooze", "#act-snooze", "#snooze"},
		{"deleted", "#act-delete", ".toast"},
	} {
		p.visit("/?m=" + id)
		p.click(c.open)
		p.sees(c.seen, "")
		p.everywhere(c.name)
	}
	r.run("mark", "--all", "--archived")
	p.visit("/")
	p.sees("#list", "No one is waiting for you.")
	p.everywhere("nothing to do")
	stranger := r.stranger(1280, 800)
	stranger.visit("/")
	stranger.everywhere("login")
	stranger.forgive("401")
}
