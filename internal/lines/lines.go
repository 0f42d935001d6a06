// Package lines keeps a JSON Lines file to which strangers write too.
//
// It knows lines, not what they say: nothing that stands in the file is changed but by Rewrite, and there only what the caller
// changes. A file that is not there is an empty one.
package lines

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pennypost/internal/durable"
)

// File is such a file. One goroutine uses it; other processes may write to the file at any time.
type File struct {
	path string
	perm fs.FileMode

	// What was read: the lines that end before offset, and their checksum.
	offset int64
	sum    uint32
	seen   fs.FileInfo // as of the last Read; nil if there was no file
}

// Open returns the file at path, which need not exist. It is made by the first Append, with the permissions perm; its
// directories are made too.
func Open(path string, perm fs.FileMode) *File { return &File{path: path, perm: perm} }

// Path returns where the file is.
func (f *File) Path() string { return f.path }

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Read returns the whole lines, without their ends, that were added since the last Read. If anything before them is not what it was
// (the file was replaced, cut or edited), again is true and lines holds all lines of the file. A torn last line is not returned
// until its end is there. The bytes are the caller's.
func (f *File) Read() (lines [][]byte, again bool, err error) {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		again = f.offset > 0
		f.offset, f.sum, f.seen = 0, 0, nil
		return nil, again, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, false, err
	}
	if f.seen != nil && os.SameFile(f.seen, info) && f.seen.Size() == info.Size() && f.seen.ModTime().Equal(info.ModTime()) && settled(info) {
		return nil, false, nil
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, false, err
	}
	end := int64(bytes.LastIndexByte(text, '\n') + 1)
	from := f.offset
	if from > end || crc32.Checksum(text[:from], castagnoli()) != f.sum {
		from, again = 0, true
	}
	f.offset, f.sum, f.seen = end, crc32.Checksum(text[:end], castagnoli()), info
	return split(text[from:end]), again, nil
}

// settled reports whether a file has not changed for so long that another change would show in its time: clocks of file systems
// tick every few milliseconds, some every two seconds.
func settled(info fs.FileInfo) bool { return time.Since(info.ModTime()) > 2*time.Second }

// split returns the lines of text, which is empty or ends with the end of a line.
func split(text []byte) [][]byte {
	if len(text) == 0 {
		return nil
	}
	return bytes.Split(text[:len(text)-1], []byte("\n"))
}

// tornPatience is how long somebody else's line may stay without its end before it counts as torn. Writers that write a line
// in two pieces do so within microseconds.
const tornPatience = 100 * time.Millisecond

// Append adds lines, given without their ends, in one write, and returns when they are durable. A torn last line gets its end first, so
// that it stays a line of its own. The lines do not come back from Read, unless something else has changed too.
func (f *File) Append(lines ...[]byte) error {
	if len(lines) == 0 {
		return nil
	}
	file, created, err := f.open()
	if err != nil {
		return err
	}
	defer file.Close()
	size, torn, err := awaitEnd(file)
	if err != nil {
		return err
	}
	var text []byte
	if torn {
		text = append(text, '\n')
	}
	for _, l := range lines {
		text = append(append(text, l...), '\n')
	}
	if n, err := file.Write(text); err != nil {
		// What was written of it would be a line that nobody understands. If somebody else has written behind it, it stays.
		if info, statErr := file.Stat(); statErr == nil && info.Size() == size+int64(n) {
			_ = file.Truncate(size)
		}
		return fmt.Errorf("append to %s: %w", f.path, err)
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("append to %s: %w", f.path, err)
	}
	if created {
		if err := durable.SyncDir(filepath.Dir(f.path)); err != nil {
			return err
		}
	}
	if !torn && size == f.offset {
		f.took(file, text)
	}
	return nil
}

// took notes that text, just appended behind what was read, is known.
func (f *File) took(file *os.File, text []byte) {
	info, err := file.Stat()
	if err != nil || info.Size() != f.offset+int64(len(text)) {
		return // somebody else wrote too: the next Read finds out
	}
	f.offset += int64(len(text))
	f.sum = crc32.Update(f.sum, castagnoli(), text)
	f.seen = info
}

func (f *File) open() (file *os.File, created bool, err error) {
	file, err = os.OpenFile(f.path, os.O_RDWR|os.O_APPEND, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, false, err
	}
	if err := durable.MkdirAll(filepath.Dir(f.path), f.perm|f.perm>>2&0o111|0o100); err != nil {
		return nil, false, err
	}
	file, err = os.OpenFile(f.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, f.perm)
	return file, true, err
}

// awaitEnd returns the size of the file and whether its last line has no end, which somebody who is just writing gets time to add.
func awaitEnd(file *os.File) (size int64, torn bool, err error) {
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		info, err := file.Stat()
		if err != nil || info.Size() == 0 {
			return 0, false, err
		}
		var last [1]byte
		if _, err := file.ReadAt(last[:], info.Size()-1); err != nil {
			return 0, false, err
		}
		if last[0] == '\n' {
			return info.Size(), false, nil
		}
		if time.Since(began) > tornPatience {
			return info.Size(), true, nil
		}
	}
}

// Rewrite replaces the file by one in which each line is what edit makes of it: the line itself, another, or nil for none. A torn last
// line stays, as it is. Readers see the old file or the new one; what others append meanwhile is kept. Writers that know of
// it are kept out by a lock on the file's name with ".lock" behind it. If edit changes nothing the file stays as it is.
func (f *File) Rewrite(edit func(line []byte) []byte) error {
	lock, err := f.lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	for range 100 {
		done, err := f.rewrite(edit)
		if done || err != nil {
			return err
		}
	}
	return fmt.Errorf("rewrite %s: others write to it all the time", f.path)
}

// lockPatience is how long Rewrite waits for somebody else's.
const lockPatience = 2 * time.Second

func (f *File) lock() (*durable.Lock, error) {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		lock, err := durable.TryLock(f.path + ".lock")
		if _, held := errors.AsType[*durable.LockedError](err); !held || time.Since(began) > lockPatience {
			return lock, err
		}
	}
}

func (f *File) rewrite(edit func([]byte) []byte) (done bool, err error) {
	old, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	end := bytes.LastIndexByte(old, '\n') + 1
	out := make([]byte, 0, len(old))
	for _, line := range split(old[:end]) {
		if line = edit(line); line != nil {
			out = append(append(out, line...), '\n')
		}
	}
	whole := int64(len(out))
	if out = append(out, old[end:]...); bytes.Equal(out, old) {
		return true, nil
	}
	grown := errors.New("the file has changed")
	err = durable.Replace(f.path, f.perm, func(w io.Writer) error {
		if _, err := w.Write(out); err != nil {
			return err
		}
		// The last moment to see that somebody appended. What comes between here and the rename is lost, as it is with
		// everybody who rewrites a file that others append to without a lock.
		if now, err := os.ReadFile(f.path); err != nil || !bytes.Equal(now, old) {
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
	read := f.offset == int64(end) && crc32.Checksum(old[:end], castagnoli()) == f.sum
	f.offset, f.sum, f.seen = whole, crc32.Checksum(out[:whole], castagnoli()), nil
	if !read { // others have written since the last Read: the next one returns all lines
		f.sum ^= 1
	}
	return true, nil
}
