package webtest

import (
	"bytes"
	"image"
	"image/draw"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestMovingPicture records the README's animation: an agent asks, the person answers with one key; a client asks for
// permission, another key grants it, and its command runs. The picture is written to $PENNYPOST_SCREENSHOTS, like
// those of TestScreenshots.
func TestMovingPicture(t *testing.T) {
	r := ownOffice(t, "parser", serve...)
	r.run("agents", "register", "builder", "--role", "builder", "--task", "Writing the grammar")
	release := r.client("release")
	r.send("builder", "user", "All 212 of them, on both machines.", "--subject", "The tests of the lexer pass")

	p := r.person(1120, 640)
	p.media("prefers-reduced-motion", "reduce")
	f := film{p: p}
	p.visit("/")
	p.sees("#list .row", "The tests of the lexer pass")
	f.shoot(1000)

	question := r.send("builder", "user", "The style guide says nothing. Both parse; the examples use tabs.",
		"--type", "question", "--subject", "Tabs or spaces in the grammar?", "--option", "Tabs", "--option", "Spaces")
	p.sees("#needs .row", "Tabs or spaces")
	p.click("#needs .row")
	p.sees("#card", "Tabs")
	f.shoot(2200)
	var waiting sync.WaitGroup // the agent, for its answer
	waiting.Go(func() {
		if out, err := r.try("", "--as", "builder", "wait", "--reply-to", question); err != nil {
			t.Errorf("builder waits: %v\n%s", err, out)
		}
	})
	p.press("1")
	p.sees(".toast", "Answered “Tabs” to builder")
	f.shoot(1600)
	waiting.Wait()
	p.sees("#card .given .state", "delivered ")
	p.until(`!document.querySelector(".toast")`)
	r.send("builder", "release", "The grammar needs its tables.", "--type", "question", "--subject",
		"Is 2.4 out?")

	said, _ := release.asks(bash("git push --force-with-lease origin release/2.4",
		"I rebased release/2.4 to drop the reverted commit. A plain push is refused; with the lease nobody's work "+
			"can be lost."))
	p.sees("#pill", "new")
	p.click("#pill")
	p.sees("#needs .row", "git push")
	f.shoot(1600)
	p.click("#needs .row")
	p.sees(".says", "Allow once")
	f.shoot(3200)
	shot(p, "dialog")
	p.press("1")
	if out := <-said; !strings.Contains(out, `"behavior":"allow"`) {
		t.Errorf("the client is told %s", out)
	}
	p.sees("#letter.over h1", "You have allowed it")
	p.misses("#list .row", "git push")
	p.until(`!document.querySelector("[data-count=inbox]")?.checkVisibility()`)
	f.shoot(1600)
	r.send("release", "user", "2.4 is pushed; the tables are in it.", "--type", "task-done", "--subject", "2.4 is out")
	p.sees("#list .row, #pill", "")
	value[bool](p, `{ document.querySelector("#pill:not([hidden])")?.click(); true }`)
	p.sees("#list .row", "2.4 is out")
	f.shoot(3000)
	f.write("moving", 400_000)
}

// film is an animation that stores only the changes of each frame.
type film struct {
	p      *person
	frames []image.Image
	millis []int
}

// shoot captures the tab as a frame with a duration.
func (f *film) shoot(millis int) {
	f.p.t.Helper()
	f.p.away()
	data, err := chromedp.Run(f.p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		f.p.t.Fatal(err)
	}
	m, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		f.p.t.Fatal(err)
	}
	f.frames, f.millis = append(f.frames, m), append(f.millis, millis)
}

// write writes the film, which must have at most that many bytes.
func (f *film) write(name string, most int) {
	f.p.t.Helper()
	colours := commonest(sideBySide(f.frames))
	var anim gif.GIF
	var before *image.Paletted
	for i, m := range f.frames {
		now := image.NewPaletted(m.Bounds(), colours)
		draw.Draw(now, now.Bounds(), m, m.Bounds().Min, draw.Src)
		part := changed(before, now)
		if part.Empty() && i > 0 {
			f.p.t.Errorf("frame %d of the moving picture shows nothing new", i)
			part = image.Rect(0, 0, 1, 1)
		}
		cut := image.NewPaletted(part, colours)
		draw.Draw(cut, part, now, part.Min, draw.Src)
		anim.Image, anim.Delay = append(anim.Image, cut), append(anim.Delay, f.millis[i]/10)
		before = now
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &anim); err != nil {
		f.p.t.Fatal(err)
	}
	if b.Len() > most {
		f.p.t.Errorf("the moving picture has %d bytes, more than %d", b.Len(), most)
	}
	if dir := os.Getenv("PENNYPOST_SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".gif"), b.Bytes(), 0o644); err != nil {
			f.p.t.Fatal(err)
		}
	}
}

// sideBySide joins all frames in one picture.
func sideBySide(frames []image.Image) image.Image {
	size := frames[0].Bounds()
	all := image.NewRGBA(image.Rect(0, 0, size.Dx()*len(frames), size.Dy()))
	for i, m := range frames {
		draw.Draw(all, size.Add(image.Pt(i*size.Dx(), 0)), m, size.Min, draw.Src)
	}
	return all
}

// changed is the smallest rectangle with all changes since the previous picture; it may be empty.
func changed(before, now *image.Paletted) image.Rectangle {
	if before == nil {
		return now.Bounds()
	}
	var part image.Rectangle
	for y := now.Rect.Min.Y; y < now.Rect.Max.Y; y++ {
		for x := now.Rect.Min.X; x < now.Rect.Max.X; x++ {
			if now.ColorIndexAt(x, y) != before.ColorIndexAt(x, y) {
				part = part.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return part
}
