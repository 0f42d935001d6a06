package jsonl

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
)

// joinParts joins the indexes of the parts of a file, so that there are few: those in memory as soon as the last is
// half as large as the one before it, and all of them in the file when there are a quarter as many entries in memory
// as there. So each entry is written a few times, however large the archive grows, and no more of it is in memory at a
// time than a block of each.
func (j *Journal) joinParts(parts []*monthIndex) ([]*monthIndex, error) {
	var written, unwritten int64
	for _, x := range parts {
		if x.text == nil {
			written += x.n
		} else {
			unwritten += x.n
		}
	}
	if 4*unwritten > written || unwritten > maxUnwritten {
		x, err := j.writeIndex(parts)
		if err == nil {
			return []*monthIndex{x}, nil
		}
		if err == errIndex {
			return nil, err
		}
		j.log.Warn("the index of the archive is kept in memory", "file", indexOf(parts[0].name), "err", err)
	}
	for n := len(parts); n > 1 && parts[n-2].text != nil && 2*parts[n-1].n >= parts[n-2].n; n-- {
		x := &monthIndex{name: parts[0].name}
		if err := j.join(parts[n-2:], x.keep, x); err != nil {
			return nil, err
		}
		parts = append(parts[:n-2], x)
	}
	return parts, nil
}

// writeIndex puts one index for all parts on the disk. Its loss is no harm.
func (j *Journal) writeIndex(parts []*monthIndex) (*monthIndex, error) {
	x := &monthIndex{name: parts[0].name}
	if err := j.disk.MkdirAll(j.path(indexName)); err != nil {
		return nil, err
	}
	r, err := j.replace(indexOf(x.name), indexOf(x.name))
	if err != nil {
		return nil, err
	}
	err = j.join(parts, func(from []stream) error {
		header, err := x.build(from, r.write)
		if err == nil {
			err = r.flush()
		}
		if err == nil {
			_, err = r.file.WriteAt(header, 0)
		}
		return err
	}, x)
	if err == nil {
		err = r.commit()
	}
	if err != nil {
		r.abandon()
		return nil, err
	}
	return x, nil
}

// join makes x the index of some parts, in the way of make.
func (j *Journal) join(parts []*monthIndex, make func([]stream) error, x *monthIndex) error {
	last := parts[len(parts)-1]
	x.covered, x.tail = last.covered, last.tail
	var from []stream
	for _, p := range parts {
		f, closer, err := j.openIndex(p)
		if err != nil {
			return errIndex
		}
		defer closer.Close()
		from = append(from, p.stream(f))
	}
	return make(from)
}

// keep makes an index in memory.
func (x *monthIndex) keep(from []stream) error {
	header, err := x.build(from, func(b []byte) error {
		x.text = append(x.text, b...)
		return nil
	})
	copy(x.text, header)
	return err
}

// build makes the table of the entries of streams, and returns the header that goes before what it wrote, in place of
// as many zeros. Of a place the first entry counts. What covered and tail are to say stands in x.
func (x *monthIndex) build(from []stream, write func([]byte) error) (header []byte, err error) {
	header = make([]byte, headerBytes)
	if err := write(header); err != nil {
		return nil, err
	}
	sum := uint32(0)
	block := make([]byte, 0, blockEntries*entryBytes)
	flush := func() error {
		x.firsts = append(x.firsts, binary.LittleEndian.Uint64(block))
		x.sums = append(x.sums, crc32.Checksum(block, castagnoli()))
		sum = crc32.Update(sum, castagnoli(), block)
		err := write(block)
		block = block[:0]
		return err
	}
	var last entry
	err = merge(from, func(e entry) error {
		if x.n > 0 && e.key == last.key && e.key < idKey {
			return nil
		}
		last = e
		x.n++
		block = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(block, e.key), e.off)
		if len(block) == cap(block) {
			return flush()
		}
		return nil
	})
	if err == nil && len(block) > 0 {
		err = flush()
	}
	le := binary.LittleEndian
	copy(header, indexMagic)
	le.PutUint64(header[8:], uint64(x.covered))
	le.PutUint32(header[16:], x.tail)
	le.PutUint64(header[20:], uint64(x.n))
	le.PutUint32(header[28:], sum)
	le.PutUint32(header[headerBytes-4:], crc32.Checksum(header[:headerBytes-4], castagnoli()))
	return header, err
}

// stream yields entries in order; ok is false at the end.
type stream func() (e entry, ok bool, err error)

func streamOf(entries []entry) stream {
	return func() (e entry, ok bool, err error) {
		if len(entries) == 0 {
			return entry{}, false, nil
		}
		e, entries = entries[0], entries[1:]
		return e, true, nil
	}
}

// stream yields what stands in an index.
func (x *monthIndex) stream(f io.ReaderAt) stream {
	block := 0
	next := streamOf(nil)
	return func() (entry, bool, error) {
		e, ok, _ := next()
		if ok || block == x.blocks() {
			return e, ok, nil
		}
		entries, err := x.entries(f, block)
		if err != nil {
			return entry{}, false, err
		}
		block++
		next = streamOf(entries)
		return next()
	}
}

// merge calls yield with the entries of all streams, in order.
func merge(from []stream, yield func(entry) error) error {
	heads := make([]entry, 0, len(from))
	var left []stream
	for _, s := range from {
		e, ok, err := s()
		if err != nil {
			return err
		}
		if ok {
			heads, left = append(heads, e), append(left, s)
		}
	}
	for len(left) > 0 {
		first := 0
		for i := range heads {
			if compareEntries(heads[i], heads[first]) < 0 {
				first = i
			}
		}
		if err := yield(heads[first]); err != nil {
			return err
		}
		e, ok, err := left[first]()
		if err != nil {
			return err
		}
		if heads[first] = e; !ok {
			heads, left = slices.Delete(heads, first, first+1), slices.Delete(left, first, first+1)
		}
	}
	return nil
}
