package search

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"sync/atomic"

	"pennypost/internal/base/durable"
	"pennypost/internal/mail"
)

// part is a file of the index. It covers a range of sequence numbers.
//
// Its pages hold, in this order: the header; the lists, sorted by gram; the prints, in the order of messages; from a
// new page on, the dictionary, an entry for each gram; from a new page on, the messages, an entry for each, in
// sequence; and the first gram of each page of the dictionary. These first grams are kept in memory.
type part struct {
	header
	path   string
	file   *os.File
	firsts []uint32
	broken atomic.Bool // a reader found damage
}

// header is the first page of a part.
type header struct {
	after, upTo mail.Seq // it covers (after, upTo]
	level       uint32   // how many merges made it
	docs        uint32
	grams       uint32
	dictionary  uint32 // its first page
	messages    uint32 // the first page of the messages
}

const (
	magic        = "pnywrd1\n"
	headerBytes  = len(magic) + 2*8 + 5*4
	entryBytes   = 16 // in the dictionary
	messageBytes = 24
)

// doc is a message: its sequence number, the hashID of its id, and the offset and length of its print.
type doc struct {
	seq               mail.Seq
	id                uint64
	print, printBytes uint32
}

func hashID(id mail.ID) uint64 {
	h := fnv.New64a()
	io.WriteString(h, string(id))
	return h.Sum64()
}

// entry locates the list of a gram: the numbers of the messages that contain it, as a bitmap or, where that is longer,
// as differences from one number to the next.
type entry struct {
	gram, count, bytes uint32
	off                uint32
}

func (h *header) text() []byte {
	le := binary.LittleEndian
	b := append([]byte(magic), make([]byte, headerBytes-len(magic))...)
	le.PutUint64(b[8:], uint64(h.after))
	le.PutUint64(b[16:], uint64(h.upTo))
	for i, v := range []uint32{h.level, h.docs, h.grams, h.dictionary, h.messages} {
		le.PutUint32(b[24+4*i:], v)
	}
	return b
}

func (h *header) parse(b []byte) bool {
	le := binary.LittleEndian
	if string(b[:len(magic)]) != magic {
		return false
	}
	h.after, h.upTo = mail.Seq(le.Uint64(b[8:])), mail.Seq(le.Uint64(b[16:]))
	for i, v := range []*uint32{&h.level, &h.docs, &h.grams, &h.dictionary, &h.messages} {
		*v = le.Uint32(b[24+4*i:])
	}
	return h.after < h.upTo && h.dictionary > 0 && h.messages == h.dictionary+pagesOf(h.grams)
}

func pagesOf(entries uint32) uint32 { return (entries + entriesAPage - 1) / entriesAPage }

func pagesFor(docs uint32) uint32 { return (docs + docsAPage - 1) / docsAPage }

const suffix = ".words"

// nameOf returns the name of the file that covers (after, upTo].
func nameOf(after, upTo mail.Seq) string { return fmt.Sprintf("%016x-%016x%s", after, upTo, suffix) }

// openPart opens a file and reads the content that is kept in memory. The error is errBroken if it is not a part.
func openPart(path string) (*part, error) {
	f, err := durable.Open(path)
	if err != nil {
		return nil, err
	}
	p := &part{path: path, file: f}
	if err := p.load(); err != nil {
		f.Close()
		return nil, err
	}
	return p, nil
}

func (p *part) load() error {
	r := p.pages()
	b, err := r.read(nil, 0, 1)
	if err != nil {
		return err
	}
	if !p.parse(b) || filepath.Base(p.path) != nameOf(p.after, p.upTo) {
		return errBroken
	}
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	n := pagesOf(p.grams)
	if info.Size() < int64(p.messages+pagesFor(p.docs))*pageBytes+int64(n)*4 {
		return errBroken
	}
	b, err = r.at(&b, uint64(p.messages+pagesFor(p.docs))*pageContent, 4*int(n))
	if err != nil {
		return err
	}
	for i := range n {
		p.firsts = append(p.firsts, binary.LittleEndian.Uint32(b[4*i:]))
	}
	return nil
}

func (p *part) pages() pageReader { return pageReader{p.file} }

// block returns the entries of the n'th page of the dictionary.
func (p *part) block(r *reader, n int) ([]byte, error) {
	if r.part == p && r.block == n {
		return r.page[:p.inBlock(n)*entryBytes], nil
	}
	r.part = nil
	page, err := p.pages().read(r.page, p.dictionary+uint32(n), 1)
	if err != nil {
		return nil, err
	}
	r.page, r.part, r.block = page, p, n
	return page[:p.inBlock(n)*entryBytes], nil
}

func (p *part) inBlock(n int) int { return min(entriesAPage, int(p.grams)-n*entriesAPage) }

func entryAt(block []byte, i int) entry {
	b, le := block[i*entryBytes:], binary.LittleEndian
	return entry{gram: le.Uint32(b), count: le.Uint32(b[4:]), bytes: le.Uint32(b[8:]), off: le.Uint32(b[12:])}
}

// reader holds the buffers of one search. It keeps the last page of the dictionary, and the last of the others.
type reader struct {
	part  *part // page holds block of its dictionary
	block int
	page  []byte
	buf   []byte
	list  []uint32
}

// between calls f with the entries of the grams from lo to hi, until f returns false.
func (p *part) between(r *reader, lo, hi uint32, f func(entry) bool) error {
	n := max(0, sort.Search(len(p.firsts), func(i int) bool { return p.firsts[i] > lo })-1)
	for ; n < len(p.firsts) && p.firsts[n] <= hi; n++ {
		block, err := p.block(r, n)
		if err != nil {
			return err
		}
		entries := len(block) / entryBytes
		from := sort.Search(entries, func(i int) bool { return entryAt(block, i).gram >= lo })
		for i := from; i < entries; i++ {
			e := entryAt(block, i)
			if e.gram > hi || !f(e) {
				return nil
			}
		}
	}
	return nil
}

// list appends the messages of a gram's list to the slice to.
func (p *part) list(r *reader, to []uint32, e entry) ([]uint32, error) {
	b, err := p.pages().at(&r.buf, uint64(e.off), int(e.bytes))
	if err != nil {
		return nil, err
	}
	return decodeList(to, b, e.count, p.docs)
}

func docAt(page []byte, i uint32) doc {
	b, le := page[i*messageBytes:], binary.LittleEndian
	return doc{mail.Seq(le.Uint64(b)), le.Uint64(b[8:]), le.Uint32(b[16:]), le.Uint32(b[20:])}
}

// allDocs returns the messages of the part.
func (p *part) allDocs() ([]doc, error) {
	out := make([]doc, 0, p.docs)
	var buf []byte
	for page := range pagesFor(p.docs) {
		var err error
		if buf, err = p.pages().read(buf, p.messages+page, 1); err != nil {
			return nil, err
		}
		for i := range min(docsAPage, p.docs-page*docsAPage) {
			out = append(out, docAt(buf, i))
		}
	}
	return out, nil
}

// bitsFor is the length of a bitmap for docs messages.
func bitsFor(docs uint32) uint32 { return (docs + 7) / 8 }

// appendList appends a list of a part with docs messages.
func appendList(to []byte, list []uint32, docs uint32) []byte {
	start := len(to)
	var before uint32
	for _, d := range list {
		to = binary.AppendUvarint(to, uint64(d-before))
		before = d
	}
	n := bitsFor(docs)
	if len(to)-start < int(n) {
		return to
	}
	to = append(to[:start], make([]byte, n)...)
	for _, d := range list {
		to[start+int(d/8)] |= 1 << (d % 8)
	}
	return to
}

func decodeList(to []uint32, b []byte, count, docs uint32) ([]uint32, error) {
	start := len(to)
	if uint32(len(b)) == bitsFor(docs) {
		for i, set := range b {
			for ; set != 0; set &= set - 1 {
				to = append(to, uint32(i*8+bits.TrailingZeros8(set)))
			}
		}
	} else {
		to = slices.Grow(to, int(min(count, docs)))
		var d uint32
		for i := 0; i < len(b); {
			v := uint64(b[i])
			if v < 0x80 {
				i++
			} else {
				var n int
				if v, n = binary.Uvarint(b[i:]); n <= 0 {
					return nil, errBroken
				}
				i += n
			}
			if v += uint64(d); v > math.MaxUint32 {
				return nil, errBroken
			}
			d = uint32(v)
			to = append(to, d)
		}
	}
	if n := len(to); n-start != int(count) || n > start && to[n-1] >= docs {
		return nil, errBroken
	}
	return to, nil
}

var errTooLarge = errors.New("a part of the search index exceeds 4 GiB")

// partWriter makes a part. Lists must come sorted by gram.
type partWriter struct {
	pages      *pageWriter
	docs       uint32
	dictionary []entry
	text       []byte
}

func (w *partWriter) list(gram uint32, list []uint32) error {
	off := w.pages.offset()
	if off > math.MaxUint32 {
		return errTooLarge
	}
	w.text = appendList(w.text[:0], list, w.docs)
	w.dictionary = append(w.dictionary, entry{gram, uint32(len(list)), uint32(len(w.text)), uint32(off)})
	return w.pages.write(w.text)
}

// print writes the print of a message, after the lists.
func (w *partWriter) print(d *doc, print []byte) error {
	off := w.pages.offset()
	if off > math.MaxUint32 {
		return errTooLarge
	}
	d.print, d.printBytes = uint32(off), uint32(len(print))
	return w.pages.write(print)
}

// finish writes the rest of the part, after the lists and the prints.
func (w *partWriter) finish(h header, docs []doc) error {
	le := binary.LittleEndian
	var firsts []byte
	h.docs, h.grams = w.docs, uint32(len(w.dictionary))
	h.dictionary = w.pages.number + 1
	for entries := range slices.Chunk(w.dictionary, entriesAPage) {
		firsts = le.AppendUint32(firsts, entries[0].gram)
		b := w.text[:0]
		for _, e := range entries {
			for _, v := range []uint32{e.gram, e.count, e.bytes, e.off} {
				b = le.AppendUint32(b, v)
			}
		}
		if err := w.onPage(b); err != nil {
			return err
		}
	}
	h.messages = w.pages.number + 1
	for some := range slices.Chunk(docs, docsAPage) {
		b := w.text[:0]
		for _, d := range some {
			b = le.AppendUint64(le.AppendUint64(b, uint64(d.seq)), d.id)
			b = le.AppendUint32(le.AppendUint32(b, d.print), d.printBytes)
		}
		if err := w.onPage(b); err != nil {
			return err
		}
	}
	if err := w.onPage(firsts); err != nil {
		return err
	}
	return w.pages.finish(h.text())
}

// onPage writes b from the start of a new page.
func (w *partWriter) onPage(b []byte) error {
	if err := w.pages.endPage(); err != nil {
		return err
	}
	return w.pages.write(b)
}
