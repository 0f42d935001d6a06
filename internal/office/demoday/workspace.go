package demoday

import (
	"bytes"
	_ "embed"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/txtar"
)

//go:embed story/workspace.txtar
var workspace []byte

// writeWorkspace writes the directory of docs-writer. One document named in its mail is missing: it was moved.
func writeWorkspace(dir string) error {
	picture, err := tide()
	if err != nil {
		return err
	}
	for _, f := range append(txtar.Parse(workspace).Files, txtar.File{Name: "img/tide.png", Data: picture}) {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// tide draws a day of tides: two high waters, two low ones, and a line at mean sea level.
func tide() ([]byte, error) {
	const width, height, mean = 720, 240, 128
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	sky, sea, line := color.NRGBA{0xf4, 0xf7, 0xfa, 0xff}, color.NRGBA{0x2f, 0x6f, 0x9f, 0xff}, color.NRGBA{0xc0, 0x39,
		0x2b, 0xff}
	for x := range width {
		hour := 24 * float64(x) / width
		level := mean - int(70*math.Cos(2*math.Pi*(hour-3.2)/12.42)+14*math.Cos(2*math.Pi*(hour-7)/24))
		for y := range height {
			c := sky
			if y >= level {
				c = sea
			}
			if y == mean && x%12 < 7 {
				c = line
			}
			img.SetNRGBA(x, y, c)
		}
	}
	var out bytes.Buffer
	err := png.Encode(&out, img)
	return out.Bytes(), err
}
