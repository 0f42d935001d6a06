package web

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	paint "image/color"
	"image/png"
	"math"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"pennypost/internal/office/web/asset"
	"pennypost/internal/office/web/page"
)

var update = flag.Bool("update", false, "draw the icons anew")

// The icon on a ground of 64 by 64: a letter, and the stroke of its flap. The letter fits in the central 80 % circle,
// which every mask shows.
const (
	blue                                             = "#1d4ed8"
	letterX, letterY, letterW, letterH, letterCorner = 14.0, 20.0, 36.0, 25.0, 4.0
	groundCorner, stroke                             = 14.0, 3.6
)

var flap = [][2]float64{{15, 23}, {32, 36}, {49, 23}}

func iconSVG() []byte {
	return fmt.Appendf(nil,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" `+
			`rx="%v" fill="%s"/><rect x="%v" y="%v" width="%v" height="%v" rx="%v" fill="#fff"/><path d="M%v %vL%v %vL%v %v" `+
			`fill="none" stroke="%s" stroke-width="%v" stroke-linejoin="round"/></svg>`+"\n", groundCorner, blue,
		letterX,
		letterY, letterW, letterH, letterCorner, flap[0][0], flap[0][1], flap[1][0], flap[1][1], flap[2][0],
		flap[2][1],
		blue, stroke)
}

// iconPNG draws the icon; the one for masks has square corners.
func iconPNG(size int, masked bool) *image.NRGBA {
	corner := groundCorner
	if masked {
		corner = 0
	}
	at := func(x, y float64) paint.NRGBA {
		switch {
		case !inRound(x, y, 0, 0, 64, 64, corner):
			return paint.NRGBA{}
		case inRound(x, y, letterX, letterY, letterW, letterH, letterCorner) &&
			min(apart(x, y, flap[0], flap[1]), apart(x, y, flap[1], flap[2])) > stroke/2:
			return paint.NRGBA{0xff, 0xff, 0xff, 0xff}
		}
		return paint.NRGBA{0x1d, 0x4e, 0xd8, 0xff}
	}
	const samples = 4 // on each side of a pixel
	img := image.NewNRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			var sum [4]int
			for i := range samples * samples {
				c := at(64*(float64(x)+(float64(i%samples)+.5)/samples)/float64(size),
					64*(float64(y)+(float64(i/samples)+.5)/samples)/float64(size))
				for k, part := range []uint8{c.R, c.G, c.B, 1} {
					sum[k] += int(part) * int(c.A)
				}
			}
			if sum[3] > 0 {
				img.SetNRGBA(x, y, paint.NRGBA{uint8(sum[0] / sum[3]), uint8(sum[1] / sum[3]), uint8(sum[2] / sum[3]),
					uint8(sum[3] / (samples * samples))})
			}
		}
	}
	return img
}

// inRound reports whether a point is in a rounded rectangle.
func inRound(x, y, left, top, width, height, corner float64) bool {
	dx := math.Abs(x-left-width/2) - width/2 + corner
	dy := math.Abs(y-top-height/2) - height/2 + corner
	return max(dx, dy) <= corner && (dx <= 0 || dy <= 0 || math.Hypot(dx, dy) <= corner)
}

// apart is the distance of a point from a line segment.
func apart(x, y float64, a, b [2]float64) float64 {
	dx, dy := b[0]-a[0], b[1]-a[1]
	t := min(max(((x-a[0])*dx+(y-a[1])*dy)/(dx*dx+dy*dy), 0), 1)
	return math.Hypot(x-a[0]-t*dx, y-a[1]-t*dy)
}

// TestIcons tests that the icons are one drawing in all sizes. To draw them again: go test ./internal/office/web
// -run TestIcons -update
func TestIcons(t *testing.T) {
	if *update {
		if err := os.WriteFile("asset/static/icon.svg", iconSVG(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile("asset/static/icon.svg"); err != nil || !bytes.Equal(got, iconSVG()) {
		t.Errorf("icon.svg is %q, %v", got, err)
	}
	for name, want := range map[string]*image.NRGBA{
		"icon-192.png": iconPNG(192, false), "icon-512.png": iconPNG(512, false),
		"icon-mask-192.png": iconPNG(192, true), "icon-mask-512.png": iconPNG(512, true),
	} {
		if *update {
			var b bytes.Buffer
			if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, want); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("asset/static/"+name, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile("asset/static/" + name)
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(text))
		if err != nil || img.Bounds() != want.Bounds() {
			t.Fatalf("%s: %v", name, err)
		}
		for y := range want.Rect.Dy() {
			for x := range want.Rect.Dx() {
				if got, want := paint.NRGBAModel.Convert(img.At(x, y)), want.NRGBAAt(x, y); got != want {
					t.Fatalf("%s at %d, %d: %v, want %v", name, x, y, got, want)
				}
			}
		}
	}
}

// TestManifest tests that the pages link a public manifest with existing icons, and that their policy lets the
// browser load it.
func TestManifest(t *testing.T) {
	b := newFixture(t)
	a := b.Get("/@shop/").Want(t, http.StatusOK, `<link rel="manifest" href="/manifest.webmanifest">`,
		`media="(prefers-color-scheme: dark)" content="#101317"`)
	if policy := a.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "manifest-src 'self'") {
		t.Errorf("the policy is %s", policy)
	}
	b.Cookie = ""
	a = b.Get("/manifest.webmanifest").Want(t, http.StatusOK, `"display":"standalone"`)
	if kind := a.Header.Get("Content-Type"); kind != "application/manifest+json" {
		t.Errorf("the manifest is %s", kind)
	}
	var m struct {
		Icons []struct{ Src, Sizes, Type, Purpose string }
	}
	if err := json.Unmarshal([]byte(a.Body), &m); err != nil || len(m.Icons) != 5 {
		t.Fatalf("%+v, %v", m, err)
	}
	for _, icon := range m.Icons {
		if got := b.Get(icon.Src).Want(t, http.StatusOK).Header.Get("Content-Type"); got != icon.Type {
			t.Errorf("%s is %s", icon.Src, got)
		}
	}
	css, _ := asset.New()["/static/app.css"].Load()
	panel := regexp.MustCompile(`--desk: light-dark\((#\w+), (#\w+)\)`).FindSubmatch(css)
	if panel == nil || string(panel[1]) != page.PanelLight || string(panel[2]) != page.PanelDark {
		t.Errorf("the frame is drawn in %s, the browser's in %s and %s", panel, page.PanelLight, page.PanelDark)
	}
}
