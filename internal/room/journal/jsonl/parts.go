package jsonl

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"slices"
)

// grow adds x, the index of the rest of a file, to the file's indexes. There are at most two: one in the index file
// and, for later lines, one in memory. When memory has a quarter as many entries as the file, both are merged into a
// new file. So each entry is written a few times, however large the archive grows, and at most one block of the file
// is in memory at a time.
func (j *Journal) grow(parts []*monthIndex, x *monthIndex) ([]*monthIndex, error) {
	written := &monthIndex{name: x.name, filed: true}
	for _, p := range parts {
		if p.filed {
			written = p
			continue
		}
		all := slices.Concat(p.held, x.held)
		slices.SortFunc(all, compareEntries)
		x.hold(all)
	}
	if 4*x.n > written.n || x.n > maxUnwritten {
		whole, err := j.writeIndex(written, x)
		if err == nil {
			return []*monthIndex{whole}, nil
		}
		if err == errIndex {
			return nil, err
		}
		j.log.Warn("archive index kept in memory", "file", indexOf(x.name), "err", err)
	}
	if written.n == 0 {
		return []*monthIndex{x}, nil
	}
	return []*monthIndex{written, x}, nil
}

// hold makes x an in-memory index of sorted entries. For each sequence number the first entry counts.
func (x *monthIndex) hold(entries []entry) {
	x.held = slices.CompactFunc(entries, samePlace)
	x.n, x.firsts = int64(len(x.held)), nil
	for block := range slices.Chunk(x.held, blockEntries) {
		x.firsts = append(x.firsts, block[0].key)
	}
}

func samePlace(a, b entry) bool { return a.key == b.key && a.key < idKey }

// writeIndex merges both indexes into one file. Its loss does no harm.
func (j *Journal) writeIndex(written, behind *monthIndex) (*monthIndex, error) {
	var old file
	if written.n > 0 {
		f, err := j.disk.Open(j.path(indexOf(written.name)), os.O_RDONLY)
		if err != nil {
			return nil, errIndex
		}
		defer f.Close()
		old = f
	}
	if err := j.disk.MkdirAll(j.path(indexName)); err != nil {
		return nil, err
	}
	r, err := j.replace(indexOf(behind.name), indexOf(behind.name))
	if err != nil {
		return nil, err
	}
	x := &monthIndex{name: behind.name, filed: true, covered: behind.covered, tail: behind.tail}
	header, err := x.build(old, written, behind.held, r.write)
	if err == nil {
		err = r.flush()
	}
	if err == nil {
		_, err = r.file.WriteAt(header, 0)
	}
	if err == nil {
		err = r.commit()
	}
	if err != nil {
		r.abandon()
		return nil, err
	}
	return x, nil
}

// build writes the merged table of old's entries and those in memory, after a header of zeros, and returns the real
// header. The caller has set x.covered and x.tail.
func (x *monthIndex) build(old io.ReaderAt, written *monthIndex, held []entry,
	write func([]byte) error) (header []byte, err error) {
	t := table{index: x, write: write, block: make([]byte, 0, blockEntries*entryBytes)}
	header = make([]byte, headerBytes)
	t.err = write(header)
	for block := range written.blocks() {
		entries, err := written.entries(old, block)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			for len(held) > 0 && compareEntries(held[0], e) < 0 {
				t.put(held[0])
				held = held[1:]
			}
			t.put(e)
		}
	}
	for _, e := range held {
		t.put(e)
	}
	t.flush()
	le := binary.LittleEndian
	copy(header, indexMagic)
	le.PutUint64(header[8:], uint64(x.covered))
	le.PutUint32(header[16:], x.tail)
	le.PutUint64(header[20:], uint64(x.n))
	le.PutUint32(header[28:], t.sum)
	le.PutUint32(header[headerBytes-4:], crc32.Checksum(header[:headerBytes-4], castagnoli()))
	return header, t.err
}

// table writes the entries of an index, in order.
type table struct {
	index *monthIndex
	write func([]byte) error
	block []byte
	last  entry
	sum   uint32
	err   error // of the first failed write
}

func (t *table) put(e entry) {
	if t.index.n > 0 && samePlace(e, t.last) {
		return
	}
	t.last = e
	t.index.n++
	t.block = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(t.block, e.key), e.off)
	if len(t.block) == cap(t.block) {
		t.flush()
	}
}

func (t *table) flush() {
	if len(t.block) == 0 || t.err != nil {
		return
	}
	t.index.firsts = append(t.index.firsts, binary.LittleEndian.Uint64(t.block))
	t.index.sums = append(t.index.sums, crc32.Checksum(t.block, castagnoli()))
	t.sum = crc32.Update(t.sum, castagnoli(), t.block)
	t.err = t.write(t.block)
	t.block = t.block[:0]
}
