package search

import (
	"encoding/binary"

	"pennypost/internal/mail/find"
)

// A print has one bit for each sequence of five bytes in a message, and so reveals which sequences do not occur. It
// has two bits per byte of text, of which a third are set. So each five bytes of a query exclude two thirds of the
// messages that have all its grams by chance: from other words, or in another order. Checking a print is several times
// as fast as checking the message.
const (
	printWindow = 5
	printBits   = 2
)

// appendPrint appends the print of a folded text.
func appendPrint(to, text []byte) []byte {
	n := len(text) - printWindow + 1
	if n <= 0 {
		return to
	}
	start := len(to)
	to = append(to, make([]byte, (n*printBits+7)/8)...)
	print := to[start:]
	for i := range n {
		bit := bitOf(hashWindow(text[i:]), len(print))
		print[bit/8] |= 1 << (bit % 8)
	}
	return to
}

func hashWindow(text []byte) uint32 {
	return uint32((uint64(binary.LittleEndian.Uint32(text))<<8 | uint64(text[4])) * 0x9E3779B97F4A7C15 >> 32)
}

// bitOf returns the bit for a hash in a print of the given length in bytes.
func bitOf(hash uint32, bytes int) uint32 { return uint32(uint64(hash) * uint64(bytes*8) >> 32) }

// windowsOf returns the hashes that a query looks for in a print.
func windowsOf(q find.Query) (hashes []uint32) {
	for _, t := range q.Terms() {
		for i := range len(t) - printWindow + 1 {
			if hashes = append(hashes, hashWindow(t[i:])); len(hashes) == mostGrams {
				return hashes
			}
		}
	}
	return hashes
}

// mayHave reports whether a message with a print may match a query.
func mayHave(print []byte, hashes []uint32) bool {
	for _, h := range hashes {
		if len(print) == 0 {
			return false
		}
		if bit := bitOf(h, len(print)); print[bit/8]>>(bit%8)&1 == 0 {
			return false
		}
	}
	return true
}
