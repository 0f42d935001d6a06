package search

import (
	"os"
	"runtime"
	"slices"

	"pennypost/internal/mail"
)

// fresh is a message that is not in a part yet.
type fresh struct {
	doc
	text []byte // folded
}

// gramAt returns the gram, three bytes of text, at an offset.
func gramAt(text []byte, i int) uint32 {
	return uint32(text[i])<<16 | uint32(text[i+1])<<8 | uint32(text[i+2])
}

// breath is how many messages, or grams, are processed before other goroutines may run: some tenths of a millisecond.
const breath = 64

// buildPart writes messages that cover (after, upTo] to a file.
func buildPart(f *os.File, messages []fresh, after, upTo mail.Seq) error {
	bytes := 0
	for i := range messages {
		bytes += len(messages[i].text)
	}
	pairs := make([]uint64, 0, bytes) // gram, message
	docs := make([]doc, len(messages))
	for i := range messages {
		if i%breath == 0 {
			runtime.Gosched()
		}
		docs[i] = messages[i].doc
		text := append(messages[i].text, 0) // so that the last byte begins a gram too
		for at := range len(text) - 2 {
			pairs = append(pairs, uint64(gramAt(text, at))<<32|uint64(i))
		}
	}
	pairs = slices.Compact(sortByGram(pairs))
	w := &partWriter{pages: newPageWriter(f), docs: uint32(len(docs))}
	var list []uint32
	for i := 0; i < len(pairs); {
		gram := uint32(pairs[i] >> 32)
		list = list[:0]
		for ; i < len(pairs) && uint32(pairs[i]>>32) == gram; i++ {
			list = append(list, uint32(pairs[i]))
		}
		if err := w.list(gram, list); err != nil {
			return err
		}
	}
	var print []byte
	for i := range messages {
		print = appendPrint(print[:0], messages[i].text)
		if err := w.print(&docs[i], print); err != nil {
			return err
		}
	}
	return w.finish(header{after: after, upTo: upTo}, docs)
}

// sortByGram sorts pairs that are already in order of messages, in two passes over twelve bits each: several times as
// fast as a sort by comparison.
func sortByGram(pairs []uint64) []uint64 {
	other := make([]uint64, len(pairs))
	for shift := 32; shift < 56; shift += 12 {
		var starts [1 << 12]int
		for _, p := range pairs {
			starts[p>>shift&0xfff]++
		}
		n := 0
		for i, count := range starts {
			starts[i] = n
			n += count
		}
		for _, p := range pairs {
			i := p >> shift & 0xfff
			other[starts[i]] = p
			starts[i]++
		}
		pairs, other = other, pairs
		runtime.Gosched()
	}
	return pairs
}
