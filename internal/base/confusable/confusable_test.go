package confusable

import (
	"slices"
	"strings"
	"testing"
)

// This table includes the two that it replaced, and characters that they missed.
func TestLike(t *testing.T) {
	for want, letters := range map[byte]string{
		'a': "аАΑαᴀɑӐӑ", 'b': "ВвЬьΒβʙ", 'c': "сСΣϹςᴄϲ", 'd': "ԁԀᴅ", 'e': "еЕЁёЄєΕεᴇҽ", 'g': "ɡց", 'h': "һНнҺΗʜհ",
		'i': "іІιΙıɩӏ", 'l': "Ӏ", 'j': "јЈ", 'k': "кКκΚ", 'm': "мМΜμᴍ", 'n': "Νոɴ", 'o': "оОοΟσᴏօՕ",
		'p': "рРρΡ", 'r': "гᴦʀ",
		's': "ѕЅꜱ", 't': "тТτΤᴛ", 'u': "υսᴜʋ", 'v': "ѵѴν", 'w': "ԝԜѡ", 'x': "хХχΧ", 'y': "уУүҮΥγʏ",
		'<': "‹⟨❬❮❰⦑⧼≺⋖˂ᐸᚲ𝈶\u2329\u3008", '>': "›⟩❭❯❱⦒⧽≻⋗˃ᐳ𝈷\u232a\u3009", '/': "⁄∕⧸╱⟋", '\\': "∖⧵⟍⧹╲",
		'-': "\u2010\u2011\u2012–—―−⁃˗", '|': "∣│┃ǀ❘",
	} {
		for _, r := range letters {
			if got, _ := Like(r); got|0x20 != want|0x20 {
				t.Errorf("Like(%q) = %q, want %q", r, got, want)
			}
		}
	}
	for _, r := range "aZ<くノ丿小щ€🦉" {
		if got, _ := Like(r); got != 0 {
			t.Errorf("Like(%q) = %q, want none", r, got)
		}
	}
	if like, marked := Like('đ'); like != 'd' || !marked {
		t.Errorf("Like('đ') = %q, %v", like, marked)
	}
}

func TestSkeleton(t *testing.T) {
	for a, b := range map[string]string{"tool": "t00I", "Invoke": "1nvoke", "system": "systern", "mail": "MaIl"} {
		if Skeleton(a) != Skeleton(b) {
			t.Errorf("%q and %q have the skeletons %q and %q", a, b, Skeleton(a), Skeleton(b))
		}
	}
}

func TestTableIsSorted(t *testing.T) {
	if !slices.IsSortedFunc(table[:], func(a, b entry) int { return int(a.r - b.r) }) || len(table) < 900 {
		t.Errorf("%d entries", len(table))
	}
	for _, e := range table {
		if c := e.as &^ marked; !strings.ContainsRune("<>/\\|-_=", rune(c)) && (c < '0' || c > 'z') {
			t.Errorf("%q looks like %q", e.r, c)
		}
	}
}
