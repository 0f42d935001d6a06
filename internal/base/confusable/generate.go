//go:build ignore

// This program writes table.go from confusables.txt, which Unicode publishes at
// https://www.unicode.org/Public/security/15.0.0/confusables.txt and ICU 72.1 has in its sources:
//
//	go run generate.go confusables.txt
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// ours are characters that Unicode distinguishes but that a model or a person takes for the ASCII character before
// them: small capitals, which link Unicode's own list to Cyrillic and Greek letters, and brackets and bars.
const ours = "aᴀΑαɑАаӐӑ bʙВвЬьΒβ cᴄСсΣϹς dᴅԀԁ eᴇЕеЁёЄєΕεҽ fꜰ gɢցɡ hʜНнҺһΗհ iɪіІιΙıɩ jᴊјЈ kᴋКкΚκ lʟ mᴍМмΜμ nɴΝո " +
	"oᴏОоΟοσօՕ pᴘРрΡρ rʀгᴦ sꜱЅѕ tᴛТтΤτ uᴜυսʋ vᴠѵѴν wᴡԝԜѡ xхХχΧ yʏУуҮүΥγ zᴢ " +
	"<‹\u2329\u3008⟨❬❮❰⦑⧼≺⋖˂ᐸᚲ𝈶 >›\u232a\u3009⟩❭❯❱⦒⧽≻⋗˃ᐳ𝈷 /⁄∕⧸╱⟋ \\∖⧵⟍⧹╲ -‐‑‒–—―−⁃˗ |∣│┃ǀ❘"

// wanted are the ASCII characters of names, tags and references.
const wanted = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789<>/\\|-_="

// marked is the flag of Like's second result.
const marked = 0x80

func main() {
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	table, version := read(string(data))
	text, err := format.Source(write(table, version))
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("table.go", text, 0o644); err != nil {
		log.Fatal(err)
	}
}

// read makes the table from Unicode's list, whose version it returns, and from ours.
func read(data string) (table map[rune]byte, version string) {
	table = make(map[rune]byte)
	for set := range strings.FieldsSeq(ours) {
		for _, r := range set[1:] {
			table[r] = set[0]
		}
	}
	for line := range strings.Lines(strings.TrimPrefix(data, "\ufeff")) {
		if v, ok := strings.CutPrefix(line, "# Version: "); ok {
			version = strings.TrimSpace(v)
		}
		fields := strings.Split(line, ";")
		if line[0] == '#' || len(fields) < 2 {
			continue
		}
		r := runes(fields[0])[0]
		if r < 0x80 || table[r] != 0 && strings.ContainsRune(ours, r) {
			continue
		}
		if like, mark := ascii(runes(fields[1])); like != 0 && !decomposes(r) && !eastAsian(r) {
			table[r] = like | mark
		}
	}
	return table, version
}

// write returns the source of the table.
func write(table map[rune]byte, version string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, head, version)
	var all []rune
	for r := range table {
		all = append(all, r)
	}
	slices.Sort(all)
	for i, r := range all {
		if fmt.Fprintf(&b, "{%#x, %#x},", r, table[r]); i%6 == 5 {
			b.WriteByte('\n')
		}
	}
	b.WriteString("}\n")
	return b.Bytes()
}

const head = `// Code generated from Unicode's confusables.txt by generate.go. DO NOT EDIT.

// Unicode Security Mechanisms for UTS #39, version %s, © Unicode, Inc., under the Unicode License
// (https://www.unicode.org/license.txt).

package confusable

// table is sorted by its first column.
var table = [...]entry{
`

func runes(field string) (out []rune) {
	for hex := range strings.FieldsSeq(field) {
		n, err := strconv.ParseUint(hex, 16, 32)
		if err != nil {
			log.Fatal(err)
		}
		out = append(out, rune(n))
	}
	return out
}

// ascii returns the one ASCII character that a prototype consists of, 0 if it does not, and whether it has a mark.
func ascii(prototype []rune) (like, mark byte) {
	s := []rune(norm.NFD.String(string(prototype)))
	bare := slices.DeleteFunc(slices.Clone(s), func(r rune) bool { return unicode.In(r, unicode.Mn, unicode.Me) })
	if len(bare) < len(s) {
		mark = marked
	}
	if string(bare) == "rn" {
		bare = []rune("m") // Unicode's list splits m
	}
	if len(bare) != 1 {
		return 0, 0
	}
	for set := range strings.FieldsSeq(ours) {
		if strings.ContainsRune(set[1:], bare[0]) {
			return set[0], mark
		}
	}
	if strings.ContainsRune(wanted, bare[0]) {
		return byte(bare[0]), mark
	}
	return 0, 0
}

// eastAsian reports whether r is never taken for ASCII in its usual context, such as く for a bracket.
func eastAsian(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r >= 0x31c0 && r <= 0x31ef // strokes
}

// decomposes reports whether a compatibility decomposition yields ASCII: callers normalise first.
func decomposes(r rune) bool {
	return !strings.ContainsFunc(norm.NFKD.String(string(r)), func(r rune) bool {
		return r > 0x7f && !unicode.Is(unicode.Mn, r)
	})
}
