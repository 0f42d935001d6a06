package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"pennypost/internal/mail"
)

// A line of the journal is
//
//	{"seq":41,"prev":"58daf147",…,"crc":"9a3f01c2"}
//
// and a newline. The crc covers the bytes before `,"crc"`; prev is the crc of the line before, which lines of version
// 1 lack. encode.go and decode.go handle the rest, except in stubs: see chain.go.
const (
	head      = `{"seq":`
	prevHead  = `,"prev":"`
	crcHead   = `,"crc":"`
	crcDigits = 8
	crcTail   = `"}`
	trailer   = len(crcHead) + crcDigits + len(crcTail)
)

// maxSeq is the largest sequence number, 2^53. Beyond it jq and other readers that parse numbers as floats would
// confuse neighbours.
const maxSeq = 1 << 53

// castagnoli makes its table when the first journal is opened. That takes a fifth of a millisecond, which every
// command would otherwise pay at its start.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

var (
	errNoSeq = errors.New(`it does not begin with {"seq":N,`)
	errNoCRC = errors.New(`it does not end with ,"crc":"…"}`)
	errCRC   = errors.New("its crc does not match")
)

// check returns the sequence number of a line and the bytes that its crc covers, or the line's defect.
func check(line []byte) (seq mail.Seq, covered []byte, err error) {
	if covered, _, err = intact(line); err == nil {
		seq, err = leadingSeq(covered)
	}
	return seq, covered, err
}

// intact returns the bytes that the crc of a line covers, and the crc, if they match.
func intact(line []byte) (covered []byte, crc uint32, err error) {
	covered, crc, err = splitCRC(line)
	if err == nil && crc32.Checksum(covered, castagnoli()) != crc {
		return nil, 0, errCRC
	}
	return covered, crc, err
}

func splitCRC(line []byte) (covered []byte, crc uint32, err error) {
	if len(line) < trailer {
		return nil, 0, errNoCRC
	}
	covered, tail := line[:len(line)-trailer], line[len(line)-trailer:]
	crc, ok := hexSum(tail[len(crcHead):])
	if !ok || string(tail[:len(crcHead)]) != crcHead || string(tail[len(crcHead)+crcDigits:]) != crcTail {
		return nil, 0, errNoCRC
	}
	return covered, crc, nil
}

// hexSum reads the eight hex digits at the start of b.
func hexSum(b []byte) (sum uint32, ok bool) {
	if len(b) < crcDigits {
		return 0, false
	}
	all := byte(digit)
	for _, c := range b[:crcDigits] {
		d := digits[c]
		sum, all = sum<<4|uint32(d&15), all&d
	}
	return sum, all != 0
}

// digits maps each hex digit to its value with the digit bit set. Capitals are not ours: each is one flipped bit away.
var digits = [256]byte{
	'0': digit, '1': digit | 1, '2': digit | 2, '3': digit | 3, '4': digit | 4, '5': digit | 5, '6': digit | 6,
	'7': digit | 7, '8': digit | 8, '9': digit | 9, 'a': digit | 10, 'b': digit | 11, 'c': digit | 12,
	'd': digit | 13, 'e': digit | 14, 'f': digit | 15,
}

const digit = 16

// crcOf returns the checksum in a line, 0 if there is none.
func crcOf(line []byte) uint32 {
	_, crc, _ := splitCRC(line)
	return crc
}

func leadingSeq(b []byte) (mail.Seq, error) {
	b, ok := bytes.CutPrefix(b, []byte(head))
	if !ok || len(b) == 0 || b[0] == '0' {
		return 0, errNoSeq
	}
	var n uint64
	for i, c := range b {
		if c < '0' || c > '9' {
			if c != ',' || i == 0 {
				return 0, errNoSeq
			}
			return mail.Seq(n), nil
		}
		if n = n*10 + uint64(c-'0'); n > maxSeq {
			return 0, fmt.Errorf("its seq is beyond %d", uint64(maxSeq))
		}
	}
	return 0, errNoSeq
}

// appendLine appends a whole line, newline included. Prev is the crc of the line before it; payload is the text
// between prev and the line's own crc.
func appendLine(b []byte, seq mail.Seq, prev uint32, payload []byte) []byte {
	start := len(b)
	b = appendNumber(append(b, head...), seq)
	b = append(appendSum(append(b, prevHead...), prev), '"')
	b = append(b, payload...)
	return append(appendCRC(b, start), '\n')
}

// appendCRC appends the trailer of the line that begins at start.
func appendCRC(b []byte, start int) []byte {
	crc := crc32.Checksum(b[start:], castagnoli())
	b = append(b, crcHead...)
	return append(appendSum(b, crc), crcTail...)
}

func appendSum(b []byte, sum uint32) []byte {
	const hex = "0123456789abcdef"
	for shift := 28; shift >= 0; shift -= 4 {
		b = append(b, hex[sum>>shift&15])
	}
	return b
}
