package jsonl

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"hash/fnv"
	"io"
	"os"
	"path"
	"slices"
	"sort"
	"strings"

	"pennypost/internal/mail"
)

// indexName is the directory of what is derived from the archive. It may be deleted at any time.
const indexName = "index"

// monthIndex says where in a file of the archive events stand: by place, and by the id of the message that they are
// about. It lies in a file of its own, of which the first key and the crc of each block are kept in memory, a few
// bytes for a hundred messages.
//
// Nothing it says is believed without a look at the line: what does not fit has it made anew.
type monthIndex struct {
	name    string // of the file of the archive
	covered int64  // how much of that
	tail    uint32 // the crc of the end of that much
	places  table  // by place
	ids     table  // by hashID, the same id in the order of the file
	text    []byte // what the file of the index should say, if it could not be written; nil: it does
}

// table is a list of entries in the file of an index, in the order of their keys.
type table struct {
	off, n int64
	firsts []uint64 // the key of the first entry of each block
	sums   []uint32 // the crc of each block
}

// entry leads from a key to where a line begins.
type entry struct{ key, off uint64 }

const (
	entryBytes   = 16
	blockEntries = 256 // what one look reads: a page of 4 KiB
	seenBytes    = 512 // more than most lines; lines hold the crc of all before them
)

// The header of an index: magic, covered, tail, the number of entries in each table, the crc of the tables, its own.
const (
	indexMagic  = "pnyidx2\n" // 1 knew nothing of settlements
	headerBytes = 8 + 8 + 4 + 8 + 8 + 4 + 4
)

func hashID(id mail.ID) uint64 {
	h := fnv.New64a()
	io.WriteString(h, string(id))
	return h.Sum64()
}

// about returns the message that an event is about, "" if it is about none.
func about(e *mail.Event) mail.ID {
	switch {
	case e.Message != nil:
		return e.Message.ID
	case e.Receipt != nil:
		return e.Receipt.Message
	case e.Erased != nil:
		return e.Erased.Message
	case e.Settled != nil:
		return e.Settled.Message
	}
	return ""
}

func indexOf(month string) string {
	return path.Join(indexName, strings.TrimSuffix(path.Base(month), ".jsonl")+".idx")
}

// month returns the index of a file of the archive, which is open as f, brought up to the file's end. Its caller
// has the shelf.
func (j *Journal) month(ctx context.Context, name string, f file) (*monthIndex, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	x := j.indexes[name]
	if x == nil {
		x = j.loadIndex(name)
	}
	if x == nil || x.covered > size || x.tail != tailOf(f, x.covered) {
		x = newIndex(name)
	}
	if x.covered < size {
		if x, err = j.growIndex(ctx, x, f, size); err != nil {
			return nil, err
		}
	}
	j.indexes[name] = x
	return x, nil
}

// tailOf returns the crc of the last bytes before end, 0 if they cannot be read.
func tailOf(f io.ReaderAt, end int64) uint32 {
	b := make([]byte, min(end, seenBytes))
	if _, err := f.ReadAt(b, end-int64(len(b))); err != nil && err != io.EOF {
		return 0
	}
	return crc32.Checksum(b, castagnoli())
}

// forgetIndex has the index of a file of the archive made anew when it is next used. Should the file stay, it does not
// fit, and nothing is read by it but lines that are looked at.
func (j *Journal) forgetIndex(name string) {
	j.indexes[name] = newIndex(name)
	_ = j.disk.Remove(j.path(indexOf(name)))
}

func newIndex(name string) *monthIndex { return &monthIndex{name: name, text: []byte{}} }

// loadIndex returns the index that lies on the disk; nil if there is none that is whole.
func (j *Journal) loadIndex(name string) *monthIndex {
	f, err := j.disk.Open(j.path(indexOf(name)), os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil
	}
	x := &monthIndex{name: name}
	if !x.read(f, size) {
		return nil
	}
	return x
}

// read takes header and blocks from a file, and reports whether they are whole.
func (x *monthIndex) read(f io.ReaderAt, size int64) bool {
	h := make([]byte, headerBytes)
	if _, err := f.ReadAt(h, 0); err != nil || string(h[:8]) != indexMagic ||
		crc32.Checksum(h[:headerBytes-4], castagnoli()) != binary.LittleEndian.Uint32(h[headerBytes-4:]) {
		return false
	}
	x.covered = int64(binary.LittleEndian.Uint64(h[8:]))
	x.tail = binary.LittleEndian.Uint32(h[16:])
	x.places = table{off: headerBytes, n: int64(binary.LittleEndian.Uint64(h[20:]))}
	x.ids = table{off: headerBytes + x.places.n*entryBytes, n: int64(binary.LittleEndian.Uint64(h[28:]))}
	if size != x.ids.off+x.ids.n*entryBytes {
		return false
	}
	sum := uint32(0)
	for _, t := range []*table{&x.places, &x.ids} {
		for block := range t.blocks() {
			b, err := t.read(f, block)
			if err != nil {
				return false
			}
			sum = crc32.Update(sum, castagnoli(), b)
			t.firsts = append(t.firsts, binary.LittleEndian.Uint64(b))
			t.sums = append(t.sums, crc32.Checksum(b, castagnoli()))
		}
	}
	return sum == binary.LittleEndian.Uint32(h[36:])
}

func (t *table) blocks() int { return int((t.n + blockEntries - 1) / blockEntries) }

// read returns a block as it lies there.
func (t *table) read(f io.ReaderAt, block int) ([]byte, error) {
	first := int64(block) * blockEntries
	b := make([]byte, min(blockEntries, t.n-first)*entryBytes)
	_, err := io.ReadFull(io.NewSectionReader(f, t.off+first*entryBytes, int64(len(b))), b)
	return b, err
}

// entries returns a block if it is as it was.
func (t *table) entries(f io.ReaderAt, block int) ([]entry, error) {
	b, err := t.read(f, block)
	if err != nil || crc32.Checksum(b, castagnoli()) != t.sums[block] {
		return nil, errIndex
	}
	out := make([]entry, len(b)/entryBytes)
	for i := range out {
		out[i] = entry{binary.LittleEndian.Uint64(b[i*entryBytes:]), binary.LittleEndian.Uint64(b[i*entryBytes+8:])}
	}
	return out, nil
}

// before returns the last block that begins with a smaller key, where the entries of a key begin; 0 if there is none.
func (t *table) before(key uint64) int {
	return max(0, sort.Search(len(t.firsts), func(i int) bool { return t.firsts[i] >= key })-1)
}

// find returns where the lines with a key begin.
func (t *table) find(f io.ReaderAt, key uint64) (offs []uint64, err error) {
	for block := t.before(key); block < t.blocks() && t.firsts[block] <= key; block++ {
		entries, err := t.entries(f, block)
		if err != nil {
			return nil, err
		}
		i, _ := slices.BinarySearchFunc(entries, key, func(e entry, key uint64) int { return cmp.Compare(e.key, key) })
		for ; i < len(entries) && entries[i].key == key; i++ {
			offs = append(offs, entries[i].off)
		}
	}
	return offs, nil
}

// openIndex returns the file of an index.
func (j *Journal) openIndex(x *monthIndex) (io.ReaderAt, io.Closer, error) {
	if x.text != nil {
		return bytes.NewReader(x.text), io.NopCloser(nil), nil
	}
	f, err := j.disk.Open(j.path(indexOf(x.name)), os.O_RDONLY)
	return f, f, err
}

// growIndex returns an index of the whole file, and puts it on the disk. What old covers is not read again.
func (j *Journal) growIndex(ctx context.Context, old *monthIndex, f file, size int64) (*monthIndex, error) {
	places, ids, err := j.entriesOf(old)
	if err != nil {
		places, ids, old = nil, nil, newIndex(old.name)
	}
	var parse parser
	err = scan(f, max(old.covered, firstLine(f)), size, func(l line) error {
		it, covered, err := inspect(l.text)
		switch {
		case err != nil:
			j.badLine(old.name, l, err)
		case it.gone == "":
			places = append(places, entry{uint64(it.seq), uint64(l.off)})
			if e := parse.decode(it.seq, covered); about(&e) != "" {
				ids = append(ids, entry{hashID(about(&e)), uint64(l.off)})
			}
		}
		return j.stopped(ctx)
	})
	if err != nil {
		return nil, err
	}
	byKey := func(a, b entry) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.off, b.off)) }
	slices.SortFunc(places, byKey)
	slices.SortFunc(ids, byKey)
	places = slices.CompactFunc(places, func(a, b entry) bool { return a.key == b.key })
	x := &monthIndex{name: old.name, text: indexText(size, tailOf(f, size), places, ids)}
	x.read(bytes.NewReader(x.text), int64(len(x.text)))
	if err := j.writeIndex(x); err != nil {
		j.log.Warn("the index of the archive is kept in memory", "file", indexOf(x.name), "err", err)
	}
	return x, nil
}

func (j *Journal) writeIndex(x *monthIndex) error {
	if err := j.disk.MkdirAll(j.path(indexName)); err != nil {
		return err
	}
	if err := j.replaceSmall(indexOf(x.name), x.text); err != nil {
		return err
	}
	x.text = nil
	return nil
}

// entriesOf returns all that an index has.
func (j *Journal) entriesOf(x *monthIndex) (places, ids []entry, err error) {
	if x.covered == 0 {
		return nil, nil, nil
	}
	f, closer, err := j.openIndex(x)
	if err != nil {
		return nil, nil, err
	}
	defer closer.Close()
	for t, out := range map[*table]*[]entry{&x.places: &places, &x.ids: &ids} {
		for block := range t.blocks() {
			some, err := t.entries(f, block)
			if err != nil {
				return nil, nil, err
			}
			*out = append(*out, some...)
		}
	}
	return places, ids, nil
}

func indexText(covered int64, tail uint32, places, ids []entry) []byte {
	le := binary.LittleEndian
	b := make([]byte, headerBytes, headerBytes+(len(places)+len(ids))*entryBytes)
	for _, list := range [][]entry{places, ids} {
		for _, e := range list {
			b = le.AppendUint64(le.AppendUint64(b, e.key), e.off)
		}
	}
	copy(b, indexMagic)
	le.PutUint64(b[8:], uint64(covered))
	le.PutUint32(b[16:], tail)
	le.PutUint64(b[20:], uint64(len(places)))
	le.PutUint64(b[28:], uint64(len(ids)))
	le.PutUint32(b[36:], crc32.Checksum(b[headerBytes:], castagnoli()))
	le.PutUint32(b[headerBytes-4:], crc32.Checksum(b[:headerBytes-4], castagnoli()))
	return b
}

var errIndex = errors.New("the index of the archive does not fit it")
