package jsonl

import (
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

// monthIndex says where in a part of a file of the archive events stand: by place, and by the id of the message that
// they are about. The one that begins with the file lies in a file of its own, of which the first key and the crc of
// each block are kept in memory, a few bytes for a hundred messages. That of what is behind it is in memory, until
// there are so many entries that it is worth writing the file anew (parts.go).
//
// Nothing it says is believed without a look at the line: what does not fit has it made anew.
type monthIndex struct {
	name    string   // of the file of the archive
	covered int64    // where the part ends
	tail    uint32   // the crc of the bytes before that
	n       int64    // how many entries there are, in the order of their keys
	firsts  []uint64 // the key of the first entry of each block
	sums    []uint32 // the crc of each block, in the file
	filed   bool     // the entries are in the file
	held    []entry  // else they are here
}

// entry leads from a key, which is a place or a hashID, to where a line begins.
type entry struct{ key, off uint64 }

const (
	entryBytes   = 16
	blockEntries = 256 // what one look reads: a page of 4 KiB
	seenBytes    = 512 // more than most lines; lines hold the crc of all before them

	// so many entries are in memory at most, 4 MB of places and ids: to index them anew after a restart takes half a
	// second
	maxUnwritten = 1 << 18
)

// The header of an index: magic, covered, tail, the number of entries, their crc, its own.
const (
	indexMagic  = "pnyidx3\n" // 2 had two tables, 1 knew nothing of settlements
	headerBytes = 8 + 8 + 4 + 8 + 4 + 4
)

// idKey is set in the keys of ids, so that they are behind those of places.
const idKey = 1 << 63

// hashID returns the key of an id, the same for the same id in the order of the file.
func hashID(id mail.ID) uint64 {
	h := fnv.New64a()
	io.WriteString(h, string(id))
	return h.Sum64() | idKey
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

// month returns the indexes of a file of the archive, which is open as f: together they cover it. Its caller has the
// shelf.
func (j *Journal) month(ctx context.Context, name string, f file) ([]*monthIndex, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	parts, used := j.indexes[name]
	if !used {
		parts = j.loadIndex(name)
	}
	covered := int64(0)
	if n := len(parts); n > 0 {
		covered = parts[n-1].covered
		if covered > size || parts[n-1].tail != tailOf(f, covered) {
			if used {
				j.archiveChanged(name)
			}
			parts, covered = nil, 0
		}
	}
	for covered < size {
		x, err := j.indexPart(ctx, name, f, covered, size)
		if err != nil {
			return nil, err
		}
		covered = x.covered
		if parts, err = j.grow(parts, x); err != nil {
			return nil, err
		}
	}
	j.indexes[name] = parts
	return parts, nil
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
	j.indexes[name] = nil
	_ = j.disk.Remove(j.path(indexOf(name)))
}

// loadIndex returns the index that lies on the disk, if there is one that is whole.
func (j *Journal) loadIndex(name string) []*monthIndex {
	f, size, err := j.open(indexOf(name), os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer f.Close()
	x := &monthIndex{name: name, filed: true}
	if !x.read(f, size) {
		return nil
	}
	return []*monthIndex{x}
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
	x.n = int64(binary.LittleEndian.Uint64(h[20:]))
	if size != headerBytes+x.n*entryBytes {
		return false
	}
	sum := uint32(0)
	for block := range x.blocks() {
		b, err := x.readBlock(f, block)
		if err != nil {
			return false
		}
		sum = crc32.Update(sum, castagnoli(), b)
		x.firsts = append(x.firsts, binary.LittleEndian.Uint64(b))
		x.sums = append(x.sums, crc32.Checksum(b, castagnoli()))
	}
	return sum == binary.LittleEndian.Uint32(h[28:])
}

func (x *monthIndex) blocks() int { return int((x.n + blockEntries - 1) / blockEntries) }

// readBlock returns a block as it lies there.
func (x *monthIndex) readBlock(f io.ReaderAt, block int) ([]byte, error) {
	first := int64(block) * blockEntries
	b := make([]byte, min(blockEntries, x.n-first)*entryBytes)
	_, err := io.ReadFull(io.NewSectionReader(f, headerBytes+first*entryBytes, int64(len(b))), b)
	return b, err
}

// block returns a block if it is as it was.
func (x *monthIndex) block(f io.ReaderAt, block int) (rawEntries, error) {
	b, err := x.readBlock(f, block)
	if err != nil || crc32.Checksum(b, castagnoli()) != x.sums[block] {
		return nil, errIndex
	}
	return b, nil
}

// rawEntries are entries as they lie in the file.
type rawEntries []byte

func (r rawEntries) len() int { return len(r) / entryBytes }

func (r rawEntries) at(i int) entry {
	return entry{binary.LittleEndian.Uint64(r[i*entryBytes:]), binary.LittleEndian.Uint64(r[i*entryBytes+8:])}
}

// from returns which entry is the first with a key or a larger one.
func (r rawEntries) from(key uint64) int {
	return sort.Search(r.len(), func(i int) bool { return r.at(i).key >= key })
}

// entries returns a block if it is as it was. f is nil if the index is in memory.
func (x *monthIndex) entries(f io.ReaderAt, block int) ([]entry, error) {
	if !x.filed {
		first := block * blockEntries
		return slices.Clone(x.held[first:min(first+blockEntries, len(x.held))]), nil
	}
	b, err := x.block(f, block)
	out := make([]entry, b.len())
	for i := range out {
		out[i] = b.at(i)
	}
	return out, err
}

// before returns the last block that begins with a smaller key, where the entries of a key begin; 0 if there is none.
func (x *monthIndex) before(key uint64) int {
	return max(0, sort.Search(len(x.firsts), func(i int) bool { return x.firsts[i] >= key })-1)
}

// find calls found with the entries of keys, which rise. A block in which several may be is read once. f is nil if the
// index is in memory.
func (x *monthIndex) find(f io.ReaderAt, keys []uint64, found func(entry)) (err error) {
	if !x.filed {
		for _, key := range keys {
			for i := x.from(key); i < len(x.held) && x.held[i].key == key; i++ {
				found(x.held[i])
			}
		}
		return nil
	}
	var entries rawEntries
	read := -1 // the block that entries are
	for _, key := range keys {
		for block := x.before(key); block < x.blocks() && x.firsts[block] <= key; block++ {
			if block != read {
				if entries, err = x.block(f, block); err != nil {
					return err
				}
				read = block
			}
			for i := entries.from(key); i < entries.len() && entries.at(i).key == key; i++ {
				found(entries.at(i))
			}
		}
	}
	return nil
}

// from returns which entry in memory is the first with a key or a larger one.
func (x *monthIndex) from(key uint64) int {
	return sort.Search(len(x.held), func(i int) bool { return x.held[i].key >= key })
}

// indexPart returns an index of a part of a file, up to its end or as much as may be in memory.
func (j *Journal) indexPart(ctx context.Context, name string, f file, from, size int64) (*monthIndex, error) {
	var places, ids []entry
	var parse parser
	var spell spell
	covered := size
	err := scan(f, max(from, firstLine(f)), size, func(l line) error {
		if len(places)+len(ids) >= maxUnwritten {
			covered = l.off
			return errFull
		}
		spell.rest()
		it, text, err := inspect(l.text)
		switch {
		case err != nil:
			j.badLine(name, l, err)
		case it.gone == "":
			places = append(places, entry{uint64(it.seq), uint64(l.off)})
			if e := parse.decode(it.seq, text); about(&e) != "" {
				ids = append(ids, entry{hashID(about(&e)), uint64(l.off)})
			}
		}
		return j.stopped(ctx)
	})
	if err != nil && err != errFull {
		return nil, err
	}
	slices.SortFunc(places, compareEntries) // which are mostly in order
	slices.SortFunc(ids, compareEntries)
	x := &monthIndex{name: name, covered: covered, tail: tailOf(f, covered)}
	x.hold(append(places, ids...))
	return x, nil
}

// errFull ends a scan that has found enough.
var errFull = errors.New("enough for one part")

func compareEntries(a, b entry) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.off, b.off))
}

var errIndex = errors.New("the index of the archive does not fit it")
