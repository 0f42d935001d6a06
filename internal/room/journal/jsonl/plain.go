package jsonl

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Eight bytes at a time: every byte of a replay passes through here.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plainText reports whether b is valid UTF-8 without control characters, as correct JSON text on one line is.
func plainText(b []byte) bool {
	var high uint64
	rest := b
	for len(rest) >= 8 {
		x := binary.LittleEndian.Uint64(rest)
		if (x-ones*0x20)&^x&highs != 0 { // some byte is below 0x20
			return false
		}
		high |= x & highs
		rest = rest[8:]
	}
	for _, c := range rest {
		if c < 0x20 {
			return false
		}
		high |= uint64(c & 0x80)
	}
	return high == 0 || utf8.Valid(b)
}

// quoteOrBackslash returns the index of the first '"' or '\\' in b, or -1.
func quoteOrBackslash(b []byte) int {
	i := 0
	for ; len(b)-i >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, backslash := x^ones*'"', x^ones*'\\' // zero in each byte that matches
		// The lowest bit set is exact; higher ones may come from a borrow.
		if found := ((quote-ones)&^quote | (backslash-ones)&^backslash) & highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b); i++ {
		if b[i] == '"' || b[i] == '\\' {
			return i
		}
	}
	return -1
}
