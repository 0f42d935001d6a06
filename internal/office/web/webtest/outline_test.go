package webtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
)

// TestOutline tests that a screen reader finds one main region, headings without skipped levels, and a name for each
// control.
func TestOutline(t *testing.T) {
	r := newFleet(t)
	p := r.person(1440, 900)
	views := append(firstViews[:len(firstViews):len(firstViews)], struct{ name, path, seen string }{
		"a letter", "/?m=msg_fleet0000000000000000", "#letter h1"}, struct{ name, path, seen string }{
		"not there", "/t/msg_none", "main h1"})
	for _, v := range views {
		p.visit(v.path)
		p.sees(v.seen, "")
		p.until(`document.readyState === "complete"`)
		p.outlined(v.name)
	}
	p.forgive("404")
	stranger := r.stranger(1440, 900)
	stranger.visit("/")
	stranger.sees("main h1, h1", "")
	stranger.outlined("login")
	stranger.forgive("401")
}

// outlined checks and logs the accessibility outline of the tab.
func (p *person) outlined(where string) {
	p.t.Helper()
	mains, level := 0, 1 // the side, before the title, has headings of level 2
	var outline []string
	for _, n := range inOrder(call(p, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes) {
		if n.Ignored {
			continue
		}
		role, name := said(n.Role), said(n.Name)
		switch role {
		case "main":
			mains++
		case "heading":
			for _, prop := range n.Properties {
				if prop.Name == "level" {
					var now int
					if fmt.Sscan(said(prop.Value), &now); now > level+1 {
						p.t.Errorf("%s: the heading %q of level %d follows one of level %d", where, name, now, level)
					}
					level = now
				}
			}
			role = fmt.Sprint("h", level)
		case "button", "link", "textbox", "searchbox", "checkbox", "switch", "combobox", "DisclosureTriangle", "radio":
			if strings.TrimSpace(name) == "" {
				p.t.Errorf("%s: a %s has no name", where, role)
			}
			continue
		case "navigation", "complementary", "region", "banner", "search", "toolbar", "status", "alert":
		default:
			continue
		}
		outline = append(outline, strings.TrimSpace(role+" "+name))
	}
	if mains != 1 {
		p.t.Errorf("%s: there are %d main parts", where, mains)
	}
	p.t.Logf("%s: %s", where, strings.Join(outline, "; "))
}

// inOrder returns the nodes of a tree in reading order; the first is its root.
func inOrder(nodes []*accessibility.Node) (out []*accessibility.Node) {
	byID := make(map[accessibility.NodeID]*accessibility.Node, len(nodes))
	for _, n := range nodes {
		byID[n.NodeID] = n
	}
	var walk func(n *accessibility.Node)
	walk = func(n *accessibility.Node) {
		out = append(out, n)
		for _, id := range n.ChildIDs {
			if child := byID[id]; child != nil {
				walk(child)
			}
		}
	}
	walk(nodes[0])
	return out
}

// said is an accessibility value as text.
func said(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	var text any
	if json.Unmarshal(v.Value, &text) != nil || text == nil {
		return ""
	}
	return fmt.Sprint(text)
}

// TestForcedColors tests that selected and urgent rows stay visible with the system's forced colours, and that nothing
// scrolls sideways at 200 %.
func TestForcedColors(t *testing.T) {
	r := newFleet(t)
	p := r.person(1440, 900)
	p.media("forced-colors", "active")
	p.visit("/?rooms=all&m=msg_fleet0000000000000000")
	p.sees("#letter h1", "Run migration 0107")
	for _, seen := range []string{".row[aria-current]", "#list .badge.urgent", "#list .letters.asks",
		".choices .stamp", ".places a[aria-current]"} {
		p.is(fmt.Sprintf(`(() => {
			const e = document.querySelector(%s), s = getComputedStyle(e);
			return s.forcedColorAdjust === "none" || parseFloat(s.outlineWidth) > 0 && s.outlineStyle !== "none";
		})()`, quote(seen)))
	}
	shot(p, "forced-letter")
	for _, v := range firstViews {
		p.visit(v.path)
		p.sees(v.seen, "")
		shot(p, "forced-"+strings.ReplaceAll(v.name, " ", "-"))
	}
	p.size(720, 450) // 1440 by 900 at 200 %
	for _, v := range firstViews {
		p.visit(v.path)
		p.sees(v.seen, "")
		p.fits(v.name + " at 200 %")
		shot(p, "zoom-"+strings.ReplaceAll(v.name, " ", "-"))
		if v.name == "Focus" { // the answers must not cover the question
			p.is(`(({ x, y }) => document.getElementById("letter-title").contains(document.elementFromPoint(x + 8, y + 8)))(
				document.querySelector("#letter-title bdi").getClientRects()[0])`)
		}
	}
}

// TestNoKeys tests that no keys are shown on a device without a keyboard.
func TestNoKeys(t *testing.T) {
	r := newFleet(t)
	p := r.person(390, 844)
	for _, v := range firstViews {
		p.visit(v.path)
		p.sees(v.seen, "")
		p.is(`[...document.querySelectorAll("kbd")].every((e) => !e.checkVisibility())`)
	}
	p.visit("/?rooms=all&focus=1")
	p.sees("#waiters h2", "")
	p.is(`document.querySelector("#waiters h2").textContent === "2 waiting for this"`)
	p.size(1440, 900)
	p.is(`document.querySelector("#strip kbd").checkVisibility()`)
}
