package outbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/jsonx"
)

// mode keeps the file private: it has mail in it.
const mode = 0o600

// line is a line of the file.
type line struct {
	Letter  *Letter  `json:"letter,omitempty"`
	Settled *settled `json:"settled,omitempty"`
}

// The end of each line.
const (
	crcHead = `,"crc":"`
	crcTail = `"}`
	crcLen  = len(crcHead) + 8 + len(crcTail)
)

var errNoLine = errors.New("not a line of an outbox, or altered")

// seal returns the text of a line, with its checksum and line feed.
func seal(l *line) ([]byte, error) {
	text, err := jsonx.Marshal(l)
	if err != nil {
		return nil, err
	}
	text = text[:len(text)-1]
	return fmt.Appendf(text, "%s%08x%s\n", crcHead, sum(text), crcTail), nil
}

func sum(text []byte) uint32 { return crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)) }

// unseal parses a line without its line feed.
func unseal(text []byte) (*line, error) {
	if len(text) < crcLen {
		return nil, errNoLine
	}
	covered, tail := text[:len(text)-crcLen], text[len(text)-crcLen:]
	if string(tail) != fmt.Sprintf("%s%08x%s", crcHead, sum(covered), crcTail) {
		return nil, errNoLine
	}
	l := new(line)
	err := jsonx.Unmarshal(append(bytes.Clone(covered), '}'), l)
	if err != nil || l.Letter == nil == (l.Settled == nil) {
		return nil, errNoLine
	}
	return l, nil
}

// span is the position of a line in the file, including its line feed.
type span struct {
	at   int64
	size int
}

// file has the lines on the disk. Its owner calls one method at a time.
type file struct {
	path string
	size int64 // of the valid lines; bytes after them were never acknowledged
	torn bool  // there may be bytes after them
}

// read calls each for every complete line, and returns the size of a torn line after them. The next append cuts that
// off.
func (f *file) read(each func(text []byte, at span)) (torn int, err error) {
	file, err := durable.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if err := file.Chmod(mode); err != nil {
		return 0, err
	}
	for lines := bufio.NewReaderSize(file, 64<<10); ; {
		text, err := lines.ReadBytes('\n')
		if err == io.EOF {
			f.torn = len(text) > 0
			return len(text), nil
		}
		if err != nil {
			return 0, err
		}
		each(text[:len(text)-1], span{f.size, len(text)})
		f.size += int64(len(text))
	}
}

// append adds a line, and syncs it if it must not be lost. After an error the file has nothing of it, or the next
// append cuts it off.
func (f *file) append(text []byte, sync bool) (at span, err error) {
	file, err := durable.OpenFile(f.path, os.O_RDWR|os.O_CREATE, mode)
	if err != nil {
		return at, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return at, err
	case info.Size() < f.size || info.Size() > f.size && !f.torn:
		return at, fmt.Errorf("%s was changed by another program", f.path)
	case info.Size() > f.size:
		if err := file.Truncate(f.size); err != nil {
			return at, err
		}
	}
	f.torn = true
	if _, err = file.WriteAt(text, f.size); err == nil && sync {
		err = file.Sync()
	}
	if err == nil && f.size == 0 {
		err = durable.SyncDir(filepath.Dir(f.path))
	}
	if err != nil {
		if cut := errors.Join(file.Truncate(f.size), file.Sync()); cut != nil {
			err = errors.Join(err, cut)
		}
		return at, err
	}
	f.torn = false
	at = span{f.size, len(text)}
	f.size += int64(len(text))
	return at, nil
}

// line returns the text of a line, without its line feed.
func (f *file) line(at span) ([]byte, error) {
	file, err := durable.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text := make([]byte, at.size)
	if _, err := file.ReadAt(text, at.at); err != nil {
		return nil, err
	}
	return text[:len(text)-1], nil
}

// rewrite replaces the file by some of its lines, in that order, and returns their new positions. Without lines it
// removes the file.
func (f *file) rewrite(keep []span) ([]span, error) {
	if len(keep) == 0 {
		err := os.Remove(f.path)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err == nil {
			f.size, f.torn = 0, false
			err = durable.SyncDir(filepath.Dir(f.path))
		}
		return nil, err
	}
	old, err := durable.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer old.Close()
	moved, size := make([]span, len(keep)), int64(0)
	err = durable.Replace(f.path, mode, func(w io.Writer) error {
		for i, s := range keep {
			if _, err := io.Copy(w, io.NewSectionReader(old, s.at, int64(s.size))); err != nil {
				return err
			}
			moved[i] = span{size, s.size}
			size += int64(s.size)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	f.size, f.torn = size, false
	return moved, nil
}
