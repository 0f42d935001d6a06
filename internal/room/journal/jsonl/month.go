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

// indexName is the directory of the archive's indexes. It may be deleted at any time.
const indexName = "index"

// monthIndex maps keys to offsets in a part of an archive file: the sequence number of each event, and the id of the
// message that it is about. The index of the file's first part is in a file of its own; memory holds only the first
// key and the crc of each block, a few bytes for a hundred messages. The index of the rest is in memory, until it is
// large enough to be worth rewriting the file (parts.go).
//
// Each hit is checked against the line, and an index that does not match is rebuilt.
type monthIndex struct {
	name    string   // of the archive file
	covered int64    // the end of the part
	tail    uint32   // the crc of the last bytes of the part
	n       int64    // number of entries, sorted by key
	firsts  []uint64 // the first key of each block
	sums    []uint32 // the crc of each block, in the file
	filed   bool     // the entries are in the file
	held    []entry  // otherwise the entries
}

// entry maps a key, a sequence number or a hashID, to the offset of a line.
type entry struct{ key, off uint64 }

const (
	entryBytes   = 16
	blockEntries = 256 // one read: a page of 4 KiB
	seenBytes    = 512 // more than most lines; each line's crc depends on all lines before

	// most entries in memory: 4 MB of sequence numbers and ids, which take half a second to index again after a
	// restart
	maxUnwritten = 1 << 18
)

// The header of an index: magic, covered, tail, the number of entries, their crc, its own crc.
const (
	indexMagic  = "pnyidx3\n" // 2 had two tables, 1 lacked settlements
	headerBytes = 8 + 8 + 4 + 8 + 4 + 4
)

// idKey is set in the keys of ids, which sorts them after sequence numbers.
const idKey = 1 << 63

// hashID returns the key of an id. Entries with equal keys are in file order.
func hashID(id mail.ID) uint64 {
	h := fnv.New64a()
	io.WriteString(h, string(id))
	return h.Sum64() | idKey
}

// about returns the message that an event is about, "" if there is none.
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

// month returns the indexes of an archive file, open as f. Together they cover it. The caller holds the shelf.
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

// forgetIndex makes the next use of an archive file rebuild its index. If the index file cannot be removed, it does no
// harm: it does not match, and every line read through it is checked.
func (j *Journal) forgetIndex(name string) {
	j.indexes[name] = nil
	_ = j.disk.Remove(j.path(indexOf(name)))
}

// loadIndex returns the index on disk, if there is an intact one.
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

// read reads header and blocks from a file, and reports whether they are intact.
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

// readBlock returns a block without checking it.
func (x *monthIndex) readBlock(f io.ReaderAt, block int) ([]byte, error) {
	first := int64(block) * blockEntries
	b := make([]byte, min(blockEntries, x.n-first)*entryBytes)
	_, err := io.ReadFull(io.NewSectionReader(f, headerBytes+first*entryBytes, int64(len(b))), b)
	return b, err
}

// block returns a block after checking its crc.
func (x *monthIndex) block(f io.ReaderAt, block int) (rawEntries, error) {
	b, err := x.readBlock(f, block)
	if err != nil || crc32.Checksum(b, castagnoli()) != x.sums[block] {
		return nil, errIndex
	}
	return b, nil
}

// rawEntries are entries in their form on disk.
type rawEntries []byte

func (r rawEntries) len() int { return len(r) / entryBytes }

func (r rawEntries) at(i int) entry {
	return entry{binary.LittleEndian.Uint64(r[i*entryBytes:]), binary.LittleEndian.Uint64(r[i*entryBytes+8:])}
}

// from returns the index of the first entry whose key is not smaller.
func (r rawEntries) from(key uint64) int {
	return sort.Search(r.len(), func(i int) bool { return r.at(i).key >= key })
}

// entries returns a block after checking its crc. f is nil if the index is in memory.
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

// before returns the last block whose first key is smaller, where the entries of key may begin; 0 if there is none.
func (x *monthIndex) before(key uint64) int {
	return max(0, sort.Search(len(x.firsts), func(i int) bool { return x.firsts[i] >= key })-1)
}

// find calls found with the entries of sorted keys. It reads a block once for all its keys. f is nil if the index is
// in memory.
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
	read := -1 // the block in entries
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

// from returns the position of the first entry in memory whose key is not smaller.
func (x *monthIndex) from(key uint64) int {
	return sort.Search(len(x.held), func(i int) bool { return x.held[i].key >= key })
}

// indexPart returns an index of a part of a file, up to its end or to the limit on entries in memory.
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
	slices.SortFunc(places, compareEntries) // mostly sorted already
	slices.SortFunc(ids, compareEntries)
	x := &monthIndex{name: name, covered: covered, tail: tailOf(f, covered)}
	x.hold(append(places, ids...))
	return x, nil
}

// errFull ends a scan at the limit.
var errFull = errors.New("enough for one part")

func compareEntries(a, b entry) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.off, b.off))
}

var errIndex = errors.New("the index does not match the archive")
