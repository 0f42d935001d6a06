package picture

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// fit truncates text to a width in pixels at a font size.
func fit(text string, width int, size float64) string {
	if textWidth(text, size) <= float64(width) {
		return text
	}
	room := float64(width) - textWidth("…", size)
	for i, r := range text {
		if room -= runeWidth(r) * size; room < 0 {
			return strings.TrimSpace(text[:i]) + "…"
		}
	}
	return text
}

// textWidth estimates the width of text, rather too wide than too narrow.
func textWidth(text string, size float64) float64 {
	w := 0.0
	for _, r := range text {
		w += runeWidth(r)
	}
	return w * size
}

// runeWidth is the width of a character relative to the font size, for common system fonts.
func runeWidth(r rune) float64 {
	switch kind := width.LookupRune(r).Kind(); {
	case unicode.Is(unicode.Mn, r):
		return 0
	case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
		return 1.15
	case strings.ContainsRune("iljtfI.,:;'|!()[] ", r):
		return .36
	case strings.ContainsRune("mwMW@%—…", r):
		return .98
	case unicode.IsUpper(r), r >= 0x2000:
		return .78
	}
	return .62
}
