package search

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"sync"
)

// A file is a row of pages, each of which ends in the CRC-32C of its content and its number: a page that went bad, or
// stands in the wrong place, is found by whoever reads it, and nothing else has to be read for that.
const (
	pageBytes    = 4096
	pageContent  = pageBytes - 4
	entriesAPage = pageContent / entryBytes
	docsAPage    = pageContent / messageBytes
)

// errBroken says that a file is not what was written.
var errBroken = errors.New("the index of words is broken")

var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

func sumPage(content []byte, number uint32) uint32 {
	return crc32.Checksum(content, castagnoli()) + number*0x9E3779B9
}

// pageWriter writes pages. The first is left empty, for the header, which comes last.
type pageWriter struct {
	file   *os.File
	out    *bufio.Writer
	page   [pageBytes]byte
	filled int    // bytes of the content of page
	number uint32 // of page
}

func newPageWriter(f *os.File) *pageWriter {
	w := &pageWriter{file: f, out: bufio.NewWriterSize(f, 16*pageBytes)}
	w.filled = pageContent
	return w
}

// offset is how much was written, without check sums.
func (w *pageWriter) offset() uint64 { return uint64(w.number)*pageContent + uint64(w.filled) }

func (w *pageWriter) write(b []byte) error {
	for len(b) > 0 {
		if w.filled == pageContent {
			if err := w.endPage(); err != nil {
				return err
			}
		}
		n := copy(w.page[w.filled:pageContent], b)
		w.filled += n
		b = b[n:]
	}
	return nil
}

// endPage begins a new page, which is the number'th.
func (w *pageWriter) endPage() error {
	binary.LittleEndian.PutUint32(w.page[pageContent:], sumPage(w.page[:pageContent], w.number))
	if _, err := w.out.Write(w.page[:]); err != nil {
		return err
	}
	clear(w.page[:])
	w.filled = 0
	w.number++
	return nil
}

// finish writes what is left, and the header.
func (w *pageWriter) finish(header []byte) error {
	if err := w.endPage(); err != nil {
		return err
	}
	if err := w.out.Flush(); err != nil {
		return err
	}
	clear(w.page[:])
	copy(w.page[:pageContent], header)
	binary.LittleEndian.PutUint32(w.page[pageContent:], sumPage(w.page[:pageContent], 0))
	_, err := w.file.WriteAt(w.page[:], 0)
	return err
}

// pageReader reads what a pageWriter wrote.
type pageReader struct{ file io.ReaderAt }

// read returns the content of some pages, in buf or a larger one.
func (r pageReader) read(buf []byte, first uint32, n int) ([]byte, error) {
	if need := n * pageBytes; cap(buf) < need {
		buf = make([]byte, need)
	}
	buf = buf[:n*pageBytes]
	if got, err := r.file.ReadAt(buf, int64(first)*pageBytes); got < len(buf) {
		if err == io.EOF {
			err = errBroken
		}
		return nil, err
	}
	for i := range n {
		page := buf[i*pageBytes:][:pageBytes]
		if sumPage(page[:pageContent], first+uint32(i)) != binary.LittleEndian.Uint32(page[pageContent:]) {
			return nil, errBroken
		}
		copy(buf[i*pageContent:], page[:pageContent])
	}
	return buf[:n*pageContent], nil
}

// at returns n bytes from an offset on. They lie in buf, which is replaced by a larger one if need be.
func (r pageReader) at(buf *[]byte, off uint64, n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	first, last := uint32(off/pageContent), uint32((off+uint64(n)-1)/pageContent)
	content, err := r.read(*buf, first, int(last-first)+1)
	if err != nil {
		return nil, err
	}
	*buf = content
	return content[off%pageContent:][:n], nil
}
