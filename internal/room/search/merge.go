package search

import (
	"os"
	"runtime"
	"slices"
)

// mergeParts merges consecutive parts into one, without the messages whose id has the hash without; 0 keeps all.
func mergeParts(f *os.File, parts []*part, level uint32, without uint64) error {
	var docs []doc
	inputs := make([]*input, len(parts))
	for i, p := range parts {
		in := &input{part: p, renumbered: make([]uint32, p.docs), ahead: ahead{part: p, end: p.dictionary}}
		of, err := p.allDocs()
		if err != nil {
			return err
		}
		for n, d := range of {
			in.renumbered[n] = goneDoc
			if d.id != without || without == 0 {
				in.renumbered[n] = uint32(len(docs))
				docs = append(docs, d)
			}
		}
		inputs[i] = in
	}
	w := &partWriter{pages: newPageWriter(f), docs: uint32(len(docs))}
	if err := mergeLists(w, inputs); err != nil {
		return err
	}
	if err := mergePrints(w, inputs, docs); err != nil {
		return err
	}
	return w.finish(header{after: parts[0].after, upTo: parts[len(parts)-1].upTo, level: level}, docs)
}

func mergePrints(w *partWriter, inputs []*input, docs []doc) error {
	for _, in := range inputs {
		for i, n := range in.renumbered {
			if i%breath == 0 {
				runtime.Gosched()
			}
			if n == goneDoc {
				continue
			}
			print, err := in.ahead.at(docs[n].print, docs[n].printBytes)
			if err == nil {
				err = w.print(&docs[n], print)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func mergeLists(w *partWriter, inputs []*input) error {
	var list []uint32
	for _, in := range inputs {
		if err := in.advance(); err != nil {
			return err
		}
	}
	for n := 0; ; n++ {
		if n%breath == 0 {
			runtime.Gosched()
		}
		gram, some := lowest(inputs)
		if !some {
			return nil
		}
		list = list[:0]
		for _, in := range inputs {
			if in.done || in.entry.gram != gram {
				continue
			}
			var err error
			if list, err = in.append(list); err == nil {
				err = in.advance()
			}
			if err != nil {
				return err
			}
		}
		if len(list) == 0 { // only the omitted message had it
			continue
		}
		if err := w.list(gram, list); err != nil {
			return err
		}
	}
}

// lowest returns the next gram, if there is one.
func lowest(inputs []*input) (gram uint32, some bool) {
	for _, in := range inputs {
		if !in.done && (!some || in.entry.gram < gram) {
			gram, some = in.entry.gram, true
		}
	}
	return gram, some
}

// goneDoc is the new number of an omitted message.
const goneDoc = ^uint32(0)

// input reads the lists of a part one after the other.
type input struct {
	reader
	ahead
	part       *part
	renumbered []uint32 // the number of each message in the new part
	entry      entry    // the next list
	next       uint32   // the index of the entry after it
	done       bool
}

func (in *input) advance() error {
	if in.next == in.part.grams {
		in.done = true
		return nil
	}
	block, err := in.part.block(&in.reader, int(in.next/entriesAPage))
	if err != nil {
		return err
	}
	in.entry = entryAt(block, int(in.next%entriesAPage))
	in.next++
	return nil
}

// append appends the next list, renumbered.
func (in *input) append(to []uint32) ([]uint32, error) {
	text, err := in.ahead.at(in.entry.off, in.entry.bytes)
	if err != nil {
		return nil, err
	}
	start := len(to)
	if to, err = decodeList(to, text, in.entry.count, in.part.docs); err != nil {
		return nil, err
	}
	for i := start; i < len(to); i++ {
		to[i] = in.renumbered[to[i]]
	}
	return append(to[:start], slices.DeleteFunc(to[start:], func(n uint32) bool { return n == goneDoc })...), nil
}

// ahead reads the lists and prints of a part, more than is needed at a time: the bytes that follow are needed next.
type ahead struct {
	part *part
	end  uint32 // the page after them
	buf  []byte
	some []byte
	from uint64 // the offset of some
}

const aheadBytes = 8 * pageContent

// at returns bytes from an offset on. They are valid until the next call.
func (a *ahead) at(at, bytes uint32) ([]byte, error) {
	off := uint64(at)
	if off < a.from || off+uint64(bytes) > a.from+uint64(len(a.some)) {
		end := min(uint64(a.end)*pageContent, off+uint64(max(aheadBytes, bytes)))
		if end < off+uint64(bytes) {
			return nil, errBroken
		}
		b, err := a.part.pages().at(&a.buf, off, int(end-off))
		if err != nil {
			return nil, err
		}
		a.some, a.from = b, off
	}
	return a.some[off-a.from:][:bytes], nil
}
