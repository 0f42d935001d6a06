package jsonl

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// chunkSize is how much of a file is read at a time: some hundred lines. A follower gets its first events soon, and
// the cost of a call is negligible.
const chunkSize = 256 << 10

var utf8BOM = []byte("\ufeff")

// chunks reads a part of a file in whole lines.
type chunks struct {
	from     io.ReaderAt
	off, end int64  // the rest to read
	buf      []byte // reused by next
}

// next returns the next lines and their offset. Only the last line may lack its newline, and only where the part ends.
// At the end next returns nil.
func (c *chunks) next() (lines []byte, at int64, err error) {
	at = c.off
	for size := int64(chunkSize); ; size *= 2 {
		n := min(size, c.end-at)
		if n <= 0 {
			return nil, at, nil
		}
		if int64(len(c.buf)) < n {
			c.buf = make([]byte, n)
		}
		lines = c.buf[:n]
		if _, err := io.ReadFull(io.NewSectionReader(c.from, at, n), lines); err != nil {
			return nil, at, err
		}
		if at+n < c.end {
			lines = lines[:bytes.LastIndexByte(lines, '\n')+1]
		}
		if len(lines) > 0 {
			c.off = at + int64(len(lines))
			return lines, at, nil
		}
	}
}

// line is one line of a file.
type line struct {
	off   int64
	bytes int64  // its length in the file, newline included
	text  []byte // without the line break; valid until the next line
	raw   []byte // with the line break
	whole bool   // it ends in a newline
	num   int    // its number in the scanned part, from 1
}

func (l *line) end() int64 { return l.off + l.bytes }

// scan calls f for each line of a part of a file. It counts empty lines but does not pass them to f.
func scan(from io.ReaderAt, off, end int64, f func(line) error) error {
	c := chunks{from: from, off: off, end: end}
	num := 0
	for {
		text, at, err := c.next()
		if err != nil || text == nil {
			return err
		}
		for len(text) > 0 {
			num++
			var l line
			l, text = cutLine(text, at)
			l.num = num
			at = l.end()
			if len(l.text) == 0 && l.whole {
				continue
			}
			if err := f(l); err != nil {
				return err
			}
		}
	}
}

// open opens a file of the journal and returns its size.
func (j *Journal) open(name string, flag int) (f file, size int64, err error) {
	if f, err = j.disk.Open(j.path(name), flag); err != nil {
		return nil, 0, err
	}
	if size, err = f.Size(); err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, size, nil
}

// eachLine is scan for a file of the journal, without the batch being written. It returns the size of the scanned
// part.
func (j *Journal) eachLine(name string, f func(line) error) (size int64, err error) {
	from, size, err := j.open(name, os.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	if name == mainName {
		size = min(size, j.Condition().Bytes)
	}
	return size, scan(from, firstLine(from), size, f)
}

// eachLineOf calls f for each line of some files of the journal. Missing files have no lines.
func (j *Journal) eachLineOf(names []string, f func(name string, l line) error) error {
	for _, name := range names {
		_, err := j.eachLine(name, func(l line) error { return f(name, l) })
		if err != nil && !noFile(err) {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	return nil
}

// cutLine takes the first line off text. A carriage return before the newline is not part of l.text: some editor added
// it.
func cutLine(text []byte, at int64) (l line, rest []byte) {
	l = line{off: at, bytes: int64(len(text)), text: text}
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		l.text, rest = text[:i], text[i+1:]
		l.bytes, l.whole = int64(i+1), true
	}
	l.raw = text[:l.bytes]
	l.text = bytes.TrimSuffix(l.text, []byte("\r"))
	return l, rest
}

// firstLine returns the offset of the first line, which is after a byte order mark, if an editor added one.
func firstLine(f io.ReaderAt) int64 {
	mark := make([]byte, len(utf8BOM))
	if n, _ := f.ReadAt(mark, 0); n == len(mark) && bytes.Equal(mark, utf8BOM) {
		return int64(n)
	}
	return 0
}
