package jsonl

import (
	"io"
	"os"
	"path/filepath"
)

// span is a part of a file.
type span struct{ off, bytes int64 }

// addSpan appends s, as one with the last span if they touch.
func addSpan(spans []span, s span) []span {
	if n := len(spans); n > 0 && spans[n-1].off+spans[n-1].bytes == s.off {
		spans[n-1].bytes += s.bytes
		return spans
	}
	return append(spans, s)
}

// output writes a file from some offset on, in large pieces.
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
		return o.flush()
	}
	return nil
}

// copy writes parts of another file.
func (o *output) copy(from io.ReaderAt, spans ...span) error {
	for _, s := range spans {
		for s.bytes > 0 {
			n := int(min(s.bytes, chunkSize))
			at := len(o.buf)
			o.buf = append(o.buf, make([]byte, n)...)
			if _, err := io.ReadFull(io.NewSectionReader(from, s.off, int64(n)), o.buf[at:]); err != nil {
				return err
			}
			s.off += int64(n)
			s.bytes -= int64(n)
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

// sync makes durable what was written.
func (o *output) sync() error {
	if err := o.flush(); err != nil {
		return err
	}
	return o.file.Sync()
}

// replacement is the new content of a file, built beside it under its name and tmpSuffix.
type replacement struct {
	output
	disk disk
	path string
}

func (j *Journal) replace(path string) (*replacement, error) {
	f, err := j.disk.Open(path+tmpSuffix, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, err
	}
	return &replacement{output: output{file: f}, disk: j.disk, path: path}, nil
}

// closeFile ends writing. Windows does not rename a file that is open.
func (r *replacement) closeFile() error {
	f := r.file
	r.file = nil
	if f == nil {
		return nil
	}
	return f.Close()
}

// commit puts the new content, which must be synced, in the place of the old one.
func (r *replacement) commit() error {
	if err := r.closeFile(); err != nil {
		return err
	}
	if err := r.disk.Rename(r.path+tmpSuffix, r.path); err != nil {
		return err
	}
	return r.disk.SyncDir(filepath.Dir(r.path))
}

// abandon removes what was built. If it cannot, the next Open does.
func (r *replacement) abandon() {
	_ = r.closeFile()
	_ = r.disk.Remove(r.path + tmpSuffix)
}

// rewrite replaces the file at path, which is open as old, by what fill writes.
func (j *Journal) rewrite(path string, old file, fill func(*output) error) error {
	r, err := j.replace(path)
	if err != nil {
		return err
	}
	if err = fill(&r.output); err == nil {
		err = r.sync()
	}
	_ = old.Close() // for Windows
	if err == nil {
		err = r.commit()
	}
	if err != nil {
		r.abandon()
	}
	return err
}
