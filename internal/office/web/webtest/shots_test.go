package webtest

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestScreenshots takes the pictures of docs/web.md: of four projects and of the demo's room. They are written to
// $PENNYPOST_SCREENSHOTS:
//
//	PENNYPOST_SCREENSHOTS=$PWD/docs/web go test -run TestScreenshots ./internal/office/web/webtest
func TestScreenshots(t *testing.T) {
	t.Run("fleet", func(t *testing.T) {
		p := newFleet(t).person(1280, 800)
		for _, s := range []picture{
			{"focus", "/?rooms=all&focus=1", "#letter h1", false, false},
			{"fleet", "/?rooms=all", "#list .row", false, false},
			{"agents", "/agents?rooms=all", "#roster .agent", false, false},
			{"stuck", "/stuck?rooms=all", "#stuck-groups", false, false},
			{"focus-dark", "/?rooms=all&focus=1", "#letter h1", true, false},
			{"phone", "/?rooms=all&focus=1", "#letter h1", false, true},
		} {
			p.takes(s)
		}
	})
	t.Run("demo", func(t *testing.T) {
		p := ownOffice(t, "lighthouse", "demo", "--serve", "--listen", "127.0.0.1:0", "--json").person(1280, 800)
		p.visit("/history?type=review-result")
		p.sees("#rows .row", "")
		path := func(selector string) string {
			return strings.TrimPrefix(value[string](p, `document.querySelector("`+selector+`").getAttribute("href")`),
				p.room.base())
		}
		thread, _, _ := strings.Cut(path("#rows .row"), "#")
		p.takes(picture{"thread", thread, "#thread .post", false, false})
		p.takes(picture{"flow", "/flow?w=6h", ".flow-letter", false, false})
		p.visit("/channels")
		p.sees("#channels .row", "")
		p.takes(picture{"dark", path("#channels .row"), "#talk .said", true, false})
	})
}

// picture is a picture for the docs: its name, path in the room, an element to wait for, and its theme and size.
type picture struct {
	name, path, seen string
	dark, phone      bool
}

func (p *person) takes(s picture) {
	p.t.Helper()
	p.size(1280, 800)
	if s.phone {
		p.size(390, 844)
	}
	p.visit(s.path)
	p.sees(s.seen, "")
	if s.dark {
		value[bool](p, `{ document.documentElement.dataset.theme = "dark"; true }`)
	}
	p.away()
	p.until(
		`document.readyState === "complete" && document.fonts.status === "loaded" && !document.querySelector("code[class*=language-]:not([data-highlighted])")`)
	shot(p, s.name)
}

func (r *room) base() string { return "/@" + r.name }

// shot takes a picture of the tab. Reducing the colours makes it small, since most are in the edges of letters.
func shot(p *person, name string) {
	p.t.Helper()
	data, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	dir := os.Getenv("PENNYPOST_SCREENSHOTS")
	if dir == "" {
		if len(data) < 10_000 {
			p.t.Errorf("there is next to nothing on the picture %s: %d bytes", name, len(data))
		}
		return
	}
	full, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		p.t.Fatal(err)
	}
	few := image.NewPaletted(full.Bounds(), commonest(full))
	draw.Draw(few, few.Bounds(), full, full.Bounds().Min, draw.Src)
	var small bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, few); err != nil {
		p.t.Fatal(err)
	}
	if n := small.Len(); n > 150_000 {
		p.t.Errorf("the picture %s has %d bytes", name, n)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), small.Bytes(), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// commonest returns the 256 most frequent colours of a picture that differ visibly.
func commonest(m image.Image) color.Palette {
	const near = 12 // of 255, in each of red, green and blue
	count := map[color.RGBA]int{}
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
			count[color.RGBAModel.Convert(m.At(x, y)).(color.RGBA)]++
		}
	}
	all := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	var p color.Palette
	for _, c := range all {
		if len(p) == 256 {
			break
		}
		if !slices.ContainsFunc(p, func(o color.Color) bool { return alike(c, o.(color.RGBA), near) }) || len(p) < 16 {
			p = append(p, c)
		}
	}
	return p
}

func alike(a, b color.RGBA, by int) bool {
	far := func(x, y uint8) bool { return max(int(x)-int(y), int(y)-int(x)) > by }
	return !far(a.R, b.R) && !far(a.G, b.G) && !far(a.B, b.B)
}
