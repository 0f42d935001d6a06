package office

import (
	"strings"

	"rsc.io/qr"
)

// quiet is how many light squares surround a QR code, in each direction: without them cameras do not find it
// (ISO/IEC 18004, 5.3.8).
const quiet = 4

// qrLines draws text as a QR code for a terminal: each line has two rows of squares, to be written white on black.
// Without colours it draws the light squares, as suits a dark terminal; cameras also read the code on a light one,
// which is the negative.
func qrLines(text string) ([]string, error) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return nil, err
	}
	squares := map[[2]bool]string{{true, true}: " ", {true, false}: "▄", {false, true}: "▀", {false, false}: "█"}
	var lines []string
	for y := -quiet; y < code.Size+quiet; y += 2 {
		var b strings.Builder
		for x := -quiet; x < code.Size+quiet; x++ {
			below := y+1 < code.Size+quiet && code.Black(x, y+1)
			b.WriteString(squares[[2]bool{code.Black(x, y), below}])
		}
		lines = append(lines, b.String())
	}
	return lines, nil
}
