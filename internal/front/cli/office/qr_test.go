package office

import (
	"strings"
	"testing"
	"unicode/utf8"

	"rsc.io/qr"

	"pennypost/internal/front/cli"
)

// TestQRLines reads the squares back from the lines: they are those of the code, with four light ones around it.
func TestQRLines(t *testing.T) {
	const link = "https://192.168.178.133:8766/login?key=ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	code, err := qr.Encode(link, qr.L)
	if err != nil {
		t.Fatal(err)
	}
	for _, colored := range []bool{true, false} {
		drawn, err := qrLines(link)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for p := (&cli.Printer{To: &out, Color: colored}); len(drawn) > 0; drawn = drawn[1:] {
			p.Line("%s", p.WhiteOnBlack(drawn[0]))
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		light := map[rune][2]bool{' ': {false, false}, '▄': {false, true}, '▀': {true, false}, '█': {true, true}}
		for i, line := range lines {
			bare, had := strings.CutPrefix(line, "\x1b[38;5;231;48;5;16m")
			bare = strings.TrimSuffix(bare, "\x1b[0m")
			if had != colored {
				t.Fatalf("colored %v: line %q", colored, line)
			}
			if n := utf8.RuneCountInString(bare); n != code.Size+8 || n > 80 {
				t.Fatalf("line %d is %d wide, want %d", i, n, code.Size+8)
			}
			for x, r := range []rune(bare) {
				for half, isLight := range light[r] {
					y := 2*i + half
					if y < code.Size+8 && isLight == code.Black(x-4, y-4) {
						t.Fatalf("the square %d, %d is light: %v", x-4, y-4, isLight)
					}
				}
			}
		}
		if len(lines) != (code.Size+9)/2 {
			t.Errorf("%d lines for %d rows", len(lines), code.Size+8)
		}
	}
}
