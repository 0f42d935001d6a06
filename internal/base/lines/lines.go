// Package lines keeps a JSON Lines file to which other programs write too.
//
// It knows lines, not their meaning. Only Rewrite changes existing lines, and only as its caller says. A missing file
// counts as empty.
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

	"pennypost/internal/base/confined"
	"pennypost/internal/base/durable"
)

// File is such a file. One goroutine uses it; other processes may write to the file at any time.
type File struct {
	dir  confined.Dir
	name string
	perm fs.FileMode
	// The part that was read: the lines that end before offset, and their checksum.
	offset int64
	sum    uint32
	seen   fs.FileInfo // as of the last Read; nil if there was no file

	old []*replaced // the former files, while others may still append to them
}

// Open returns the file called name below dir, which need not exist. The first Append creates it, with the permissions
// perm, and its directories.
func Open(dir confined.Dir, name string, perm fs.FileMode) *File {
	return &File{dir: dir, name: name, perm: perm}
}

// Again returns another, unread File for the same file.
func (f *File) Again() *File { return Open(f.dir, f.name, f.perm) }

// Forget forgets the last Read: the next one returns all lines.
func (f *File) Forget() { f.offset, f.sum, f.seen = 0, 0, nil }

// Path returns the path of the file.
func (f *File) Path() string { return f.dir.Path(f.name) }

// Stat describes the file; the error is fs.ErrNotExist if there is none.
func (f *File) Stat() (fs.FileInfo, error) { return f.dir.Lstat(f.name) }

// Remove removes the file.
func (f *File) Remove() error { return f.dir.Remove(f.name) }

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Read returns the whole lines, without their ends, that were added since the last Read. If any earlier line has
// changed (the file was replaced, cut or edited), again is true and lines holds all lines of the file. A torn last
// line is returned once its end is there. The bytes are the caller's.
func (f *File) Read() (lines [][]byte, again bool, err error) {
	if err := f.carry(); err != nil {
		return nil, false, err
	}
	file, err := f.dir.OpenFile(f.name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		again = f.offset > 0
		f.Forget()
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
	if Unchanged(f.seen, info) {
		return nil, false, nil
	}
	text, err := confined.ReadAll(file)
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

// Unchanged reports whether a file is certainly the same as when seen, which may be nil, was taken: its description is
// equal, and its last change is so old that another change would show in its time. Clocks of file systems tick every
// few milliseconds, some every two seconds.
func Unchanged(seen, now fs.FileInfo) bool {
	return seen != nil && os.SameFile(seen, now) && seen.Size() == now.Size() && seen.ModTime().Equal(now.ModTime()) &&
		time.Since(now.ModTime()) > 2*time.Second
}

// split returns the lines of text, which is empty or ends with the end of a line.
func split(text []byte) [][]byte {
	if len(text) == 0 {
		return nil
	}
	return bytes.Split(text[:len(text)-1], []byte("\n"))
}

// tornPatience is how long a line must have lacked its end before it counts as torn. Writers that write a line in two
// pieces do so within microseconds, unless the machine is very busy.
const tornPatience = time.Second

// Append adds lines, given without their ends, in one write, and returns when they are durable. A torn last line gets
// its end first, so that it stays separate. Read does not return the added lines, unless something else has changed
// too.
func (f *File) Append(lines ...[]byte) error {
	if len(lines) == 0 {
		return nil
	}
	if err := f.carry(); err != nil {
		return err
	}
	var text []byte
	for _, l := range lines {
		text = append(append(text, l...), '\n')
	}
	return f.append(text, true)
}

// append adds whole lines. ours says that Read must not return them.
func (f *File) append(text []byte, ours bool) error {
	file, created, err := f.open()
	if err != nil {
		return err
	}
	defer file.Close()
	size, torn, err := awaitEnd(file)
	if err != nil {
		return err
	}
	written := text
	if torn {
		written = append([]byte("\n"), text...)
	}
	if err := f.write(file, size, written); err != nil {
		return fmt.Errorf("append to %s: %w", f.Path(), err)
	}
	if created {
		if err := durable.SyncDir(filepath.Dir(f.Path())); err != nil {
			return err
		}
	}
	if at := placeOf(file, len(written)); at > size && !torn && splits(file, at) {
		awaitHalf(file, at+int64(len(written)))
		return f.unsplit(at, text)
	}
	if ours && !torn && size == f.offset {
		f.took(file, text)
	}
	return nil
}

// write adds text to a file of some size, durably.
func (f *File) write(file *os.File, size int64, text []byte) error {
	n, err := file.Write(text)
	if err == nil {
		return file.Sync()
	}
	// A partly written line would be useless. If another program has written after it, it stays.
	if info, statErr := file.Stat(); statErr == nil && info.Size() == size+int64(n) {
		_ = file.Truncate(size)
	}
	return err
}

// placeOf returns the offset of the last n bytes that were written to file.
func placeOf(file *os.File, n int) int64 {
	end, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0
	}
	return end - int64(n)
}

// splits reports whether the write at an offset began in the middle of a line.
func splits(file *os.File, at int64) bool {
	var before [1]byte
	_, err := file.ReadAt(before[:], at-1)
	return err == nil && before[0] != '\n'
}

// awaitHalf gives another writer, who had written half of a line, time to write the other half after ours.
func awaitHalf(file *os.File, behind int64) {
	for began := time.Now(); time.Since(began) < tornPatience; time.Sleep(5 * time.Millisecond) {
		info, err := file.Stat()
		if err != nil {
			return
		}
		var last [1]byte
		if _, err := file.ReadAt(last[:], info.Size()-1); info.Size() > behind && (err != nil || last[0] == '\n') {
			return
		}
	}
}

// unsplit moves text, which was written at an offset in the middle of another writer's line, to after that line.
// Between our last check and our write another program had written half of it.
func (f *File) unsplit(at int64, text []byte) error {
	return f.replace(func(old []byte) []byte {
		behind := at + int64(len(text))
		if int64(len(old)) < behind || !bytes.Equal(old[at:behind], text) {
			return old
		}
		rest := old[behind:]
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 { // the other half never came
			end = len(rest)
			rest = append(bytes.Clone(rest), '\n')
			end++
		}
		return bytes.Join([][]byte{old[:at], rest[:end], text, rest[end:]}, nil)
	})
}

// took notes that Read has seen text, which was just appended at its offset.
func (f *File) took(file *os.File, text []byte) {
	info, err := file.Stat()
	if err != nil || info.Size() != f.offset+int64(len(text)) {
		return // another program wrote too: the next Read finds out
	}
	f.offset += int64(len(text))
	f.sum = crc32.Update(f.sum, castagnoli(), text)
	f.seen = info
}

func (f *File) open() (file *os.File, created bool, err error) {
	file, err = f.dir.OpenFile(f.name, os.O_RDWR|os.O_APPEND, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, false, err
	}
	if err := f.dir.MkdirAll(filepath.Dir(f.name), f.perm|f.perm>>2&0o111|0o100); err != nil {
		return nil, false, err
	}
	file, err = f.dir.OpenFile(f.name, os.O_RDWR|os.O_APPEND|os.O_CREATE, f.perm)
	return file, true, err
}

// awaitEnd returns the size of the file and whether its last line is torn. It gives a writer time to finish the line.
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
		if time.Since(info.ModTime()) > tornPatience || time.Since(began) > 2*tornPatience {
			return info.Size(), true, nil
		}
	}
}
