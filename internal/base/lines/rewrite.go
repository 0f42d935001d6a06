package lines

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"time"

	"pennypost/internal/base/confined"
)

// Rewrite replaces the file by one in which each line is the result of edit: the line itself, another, or nil for
// none. A torn last line stays unchanged. Readers see the old file or the new one. Lines that others append meanwhile
// are kept, even by programs that had opened the old file: they are carried over, now and at later calls, until Close.
// A lock on the file's name with ".lock" added keeps out writers that know it. If edit changes nothing, the file is
// not replaced.
func (f *File) Rewrite(edit func(line []byte) []byte) error {
	return f.replace(func(old []byte) []byte {
		end := bytes.LastIndexByte(old, '\n') + 1
		out := make([]byte, 0, len(old))
		for _, line := range split(old[:end]) {
			if line = edit(line); line != nil {
				out = append(append(out, line...), '\n')
			}
		}
		return append(out, old[end:]...)
	})
}

// Drop removes the lines for which gone returns true, as Rewrite does.
func (f *File) Drop(gone func(line []byte) bool) error {
	return f.Rewrite(func(line []byte) []byte {
		if gone(line) {
			return nil
		}
		return line
	})
}

// replace replaces the text of the file by the result of edit.
func (f *File) replace(edit func(text []byte) []byte) error {
	if _, err := f.Stat(); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := f.dir.Lock(f.name + ".lock")
	if err != nil {
		return err
	}
	defer lock.Unlock()
	for range 100 {
		done, err := f.tryReplace(edit)
		if err != nil {
			return err
		}
		if done {
			return f.carry()
		}
	}
	return fmt.Errorf("rewrite %s: other processes keep writing to it", f.Path())
}

// tryReplace replaces the file once, or not at all if another program writes to it meanwhile.
func (f *File) tryReplace(edit func([]byte) []byte) (done bool, err error) {
	file, err := f.dir.OpenFile(f.name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer func() {
		if file != nil {
			file.Close()
		}
	}()
	if _, _, err := awaitEnd(file); err != nil {
		return false, err
	}
	old, err := confined.ReadAll(file)
	if err != nil {
		return false, err
	}
	out := edit(old)
	if bytes.Equal(out, old) {
		return true, nil
	}
	grown := errors.New("the file has changed")
	err = f.dir.Replace(f.name, f.perm, func(w io.Writer) error {
		if _, err := w.Write(out); err != nil {
			return err
		}
		// The last chance to notice a write. Lines appended between here and the rename are carried over.
		if now, err := f.dir.ReadFile(f.name); err != nil || !bytes.Equal(now, old) {
			return errors.Join(grown, err)
		}
		return nil
	})
	if errors.Is(err, grown) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f.old = append(f.old, &replaced{file, int64(len(old)), time.Now()})
	file = nil
	f.renewed(old, out)
	return true, nil
}

// renewed notes that out has replaced old.
func (f *File) renewed(old, out []byte) {
	was, is := bytes.LastIndexByte(old, '\n')+1, bytes.LastIndexByte(out, '\n')+1
	read := f.offset == int64(was) && crc32.Checksum(old[:was], castagnoli()) == f.sum
	f.offset, f.sum, f.seen = int64(is), crc32.Checksum(out[:is], castagnoli()), nil
	if !read { // others have written since the last Read: the next one returns all lines
		f.sum ^= 1
	}
}

// replaced is a file that was replaced. Programs that opened it before may still append to it.
type replaced struct {
	file    *os.File
	offset  int64 // data after it is not in the new file
	changed time.Time
}

// Bounds on the files that are kept open to carry over later lines.
const (
	carryFor = 5 * time.Second // after the last change
	maxOld   = 16              // if there were several rewrites within that time
)

// carry appends complete lines that others have appended to replaced files.
func (f *File) carry() error {
	for _, r := range f.old {
		if err := f.carryFrom(r, false); err != nil {
			return err
		}
	}
	for len(f.old) > 0 && (len(f.old) > maxOld || time.Since(f.old[0].changed) > carryFor) {
		if err := f.letGo(); err != nil {
			return err
		}
	}
	return nil
}

// letGo closes the oldest of the replaced files.
func (f *File) letGo() error {
	if err := f.carryFrom(f.old[0], true); err != nil {
		return err
	}
	f.old[0].file.Close()
	f.old = f.old[1:]
	return nil
}

// carryFrom appends the new lines of a replaced file; with last, even a line without its end.
func (f *File) carryFrom(r *replaced, last bool) error {
	info, err := r.file.Stat()
	if err != nil || info.Size() <= r.offset || info.Size()-r.offset > confined.MaxFile {
		return err
	}
	text := make([]byte, info.Size()-r.offset)
	if _, err := r.file.ReadAt(text, r.offset); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	end := bytes.LastIndexByte(text, '\n') + 1
	if last && end < len(text) {
		text, end = append(text, '\n'), len(text)+1
	}
	if end == 0 {
		return nil
	}
	before := *r
	// before append, which may rewrite the file, which carries over too
	r.offset, r.changed = info.Size()-int64(len(text)-end), time.Now()
	if err := f.append(text[:end], false); err != nil {
		*r = before
		return err
	}
	return nil
}

// Close carries over the remaining lines. The File must not be used afterwards.
func (f *File) Close() error {
	err := f.carry()
	for err == nil && len(f.old) > 0 {
		err = f.letGo()
	}
	for _, r := range f.old {
		r.file.Close()
	}
	f.old = nil
	return err
}
