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

// A file is a sequence of pages. Each ends with a checksum of its content and number, based on CRC-32C: a reader
// detects a damaged or misplaced page without reading anything else.
const (
	pageBytes    = 4096
	pageContent  = pageBytes - 4
	entriesAPage = pageContent / entryBytes
	docsAPage    = pageContent / messageBytes
)

// errBroken says that a file is damaged.
var errBroken = errors.New("search index damaged")

var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

func sumPage(content []byte, number uint32) uint32 {
	return crc32.Checksum(content, castagnoli()) + number*0x9E3779B9
}

// pageWriter writes pages. The first is reserved for the header, which is written last.
type pageWriter struct {
	file   *os.File
	out    *bufio.Writer
	page   [pageBytes]byte
	filled int    // bytes used in page
	number uint32 // of page
}

func newPageWriter(f *os.File) *pageWriter {
	w := &pageWriter{file: f, out: bufio.NewWriterSize(f, 16*pageBytes)}
	w.filled = pageContent
	return w
}

// offset is the number of bytes written, without checksums.
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

// endPage writes the current page and starts the next.
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

// finish writes the last page, and the header.
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

// pageReader reads the pages of a pageWriter.
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

// at returns n bytes from an offset on. They are in buf, which is replaced by a larger one if necessary.
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
