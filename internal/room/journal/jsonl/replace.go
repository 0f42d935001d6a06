package jsonl

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// span is a part of a file.
type span struct{ off, bytes int64 }

// piece is a part of a new file: text, if there is any, else a span of the source file.
type piece struct {
	span
	text []byte
}

// addPiece appends p, and merges it with the last piece if they touch in the source file.
func addPiece(pieces []piece, p piece) []piece {
	if n := len(pieces); n > 0 && p.text == nil && pieces[n-1].text == nil &&
		pieces[n-1].off+pieces[n-1].bytes == p.off {
		pieces[n-1].bytes += p.bytes
		return pieces
	}
	return append(pieces, p)
}

// output writes a file from an offset on, in large pieces.
type output struct {
	file file
	off  int64 // where the next flush goes
	buf  []byte
}

const outputBuffer = 1 << 20

func (o *output) end() int64 { return o.off + int64(len(o.buf)) }

func (o *output) write(b []byte) error {
	o.buf = append(o.buf, b...)
	if len(o.buf) >= outputBuffer {
		return o.sync() // in portions: appends wait for a disk that has much to write
	}
	return nil
}

// copy writes pieces of another file.
func (o *output) copy(from io.ReaderAt, pieces ...piece) error {
	for _, p := range pieces {
		if err := o.write(p.text); err != nil {
			return err
		}
		for p.bytes > 0 {
			n := int(min(p.bytes, chunkSize))
			at := len(o.buf)
			o.buf = append(o.buf, make([]byte, n)...)
			if _, err := io.ReadFull(io.NewSectionReader(from, p.off, int64(n)), o.buf[at:]); err != nil {
				return err
			}
			p.off += int64(n)
			p.bytes -= int64(n)
			if err := o.write(nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *output) flush() error {
	if len(o.buf) == 0 {
		return nil
	}
	if _, err := o.file.WriteAt(o.buf, o.off); err != nil {
		return err
	}
	o.off += int64(len(o.buf))
	o.buf = o.buf[:0]
	return nil
}

// sync writes and syncs the buffer.
func (o *output) sync() error {
	if err := o.flush(); err != nil {
		return err
	}
	return o.file.Sync()
}

// replacement is the new content of a file, built beside it under a name with tmpSuffix.
type replacement struct {
	output
	disk      disk
	tmp, path string
}

func (j *Journal) replace(name, by string) (*replacement, error) {
	r := &replacement{disk: j.disk, tmp: j.path(name) + tmpSuffix, path: j.path(by)}
	var err error
	r.file, err = j.create(r.tmp)
	return r, err
}

// build is replace followed by writing and syncing pieces of another file.
func (j *Journal) build(name, by string, from io.ReaderAt, pieces []piece) (*replacement, error) {
	r, err := j.replace(name, by)
	if err != nil {
		return nil, err
	}
	if err = r.copy(from, pieces...); err == nil {
		err = r.sync()
	}
	if err != nil {
		r.abandon()
		return nil, err
	}
	return r, nil
}

// create makes an unfinished file. It replaces whatever has that name.
func (j *Journal) create(tmp string) (file, error) {
	const anew = os.O_RDWR | os.O_CREATE | os.O_TRUNC
	f, err := j.disk.Open(tmp, anew)
	if noFile(err) && j.disk.Remove(tmp) == nil {
		return j.disk.Open(tmp, anew)
	}
	return f, err
}

func (r *replacement) closeFile() error {
	f := r.file
	r.file = nil
	if f == nil {
		return nil
	}
	return f.Close()
}

// commit replaces the old content by the new, which must be synced.
func (r *replacement) commit() error {
	if err := r.put(); err != nil {
		return err
	}
	return r.closeFile()
}

// Windows does not replace an open file, nor replace a file by an open one. Other programs cannot do so either.
const windows = runtime.GOOS == "windows"

// put is commit, but r.file stays open, so that no other program can replace it in between.
func (r *replacement) put() error {
	if windows {
		if err := r.closeFile(); err != nil {
			return err
		}
	}
	if err := r.disk.Rename(r.tmp, r.path); err != nil {
		return err
	}
	if windows {
		f, err := r.disk.Open(r.path, os.O_RDWR)
		if err != nil {
			return err
		}
		r.file = f
	}
	return r.disk.SyncDir(filepath.Dir(r.path))
}

// abandon removes the new file. If it cannot, the next Open does.
func (r *replacement) abandon() {
	_ = r.closeFile()
	_ = r.disk.Remove(r.tmp)
}

// rewrite replaces a file by pieces of its old content. It closes old, the open file.
func (j *Journal) rewrite(name string, old file, pieces []piece) error {
	r, err := j.build(name, name, old, pieces)
	if old != nil {
		_ = old.Close() // for Windows
	}
	if err != nil {
		return err
	}
	if err = r.commit(); err != nil {
		r.abandon()
	}
	return err
}

// sift rewrites a file without the lines for which fate reports goes; instead, if not nil, replaces such a line. Left
// counts the lines that stay.
func (j *Journal) sift(
	name string, fate func(line) (goes bool, instead []byte, err error),
) (gone, left int, err error) {
	f, size, err := j.open(name, os.O_RDONLY)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	var keep []piece
	err = scan(f, 0, size, func(l line) error {
		goes, instead, err := fate(l)
		switch {
		case !goes:
			left++
			keep = addPiece(keep, piece{span: span{l.off, l.bytes}})
		case instead != nil:
			keep = append(keep, piece{text: instead})
		}
		if goes {
			gone++
		}
		return err
	})
	if err == nil && gone > 0 {
		err = j.rewrite(name, f, keep)
	}
	if err != nil {
		return 0, left, err
	}
	return gone, left, nil
}

// install replaces the main file by r, of which s is a survey, and continues with it. If it fails the old file stays
// open; but if only the last sync failed, r is open but might not be durable, and the journal is poisoned. With
// remember, the batches that followers share stay in memory. The caller leads, or is Open.
func (j *Journal) install(r *replacement, s *survey, remember bool) error {
	j.swap.Lock()
	defer j.swap.Unlock()
	old := j.file
	if windows && old != nil {
		_ = old.Close()
	}
	failed := r.put()
	if _, leads := j.leads(r.file); failed != nil && !leads {
		if windows {
			var again error
			j.file, again = j.disk.Open(j.mainPath, os.O_RDWR)
			failed = errors.Join(failed, again)
		}
		return failed
	}
	if old != nil && !windows {
		j.retired = append(j.retired, old)
	}
	j.file, r.file = r.file, nil
	j.mu.Lock()
	if !remember {
		j.tail.reset(s.end.end)
	}
	j.size, j.end, j.index, j.absent = s.size, s.end, s.index, s.missing
	j.rewrites++
	j.mu.Unlock()
	if failed != nil { // the file's name, and with it later appends, might not survive a power cut
		return j.poison(failed)
	}
	return nil
}
