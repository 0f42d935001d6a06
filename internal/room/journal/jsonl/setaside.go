package jsonl

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"slices"

	"pennypost/internal/mail"
)

// setAside moves the bad lines of the main file to the rejected file, and surveys what is left. First they are copied
// there, then the main file is replaced by one without them; a crash in between copies no line twice.
//
// If the disk is too full for that the lines stay, and whoever reads the file skips them: bad lines never keep a room
// closed.
func (j *Journal) setAside(s *survey) (*survey, error) {
	for _, b := range s.bad {
		j.log.Warn("set aside a line that cannot be read", "line", b.num, "offset", b.off, "bytes", b.bytes, "why",
			b.why)
	}
	rejected, err := j.keepRejected(s.bad)
	foreign, listed := j.foreigners()
	j.setRejected(rejected + len(foreign))
	if err = errors.Join(err, listed); err == nil && len(s.bad) == 0 {
		return s, nil
	}
	var mended *survey
	if err == nil {
		mended, err = j.replaceMain(0, func(o *output) error { return j.leaveOut(o, s) })
	}
	if err == nil {
		return mended, nil
	}
	if _, leads := j.leads(j.file); !leads || mended != nil {
		return nil, err
	}
	j.log.Error("lines that cannot be read stay where they are, and are skipped", "lines", len(s.bad), "err", err)
	j.setRejected(rejected + len(foreign) + len(s.bad))
	return s, nil
}

func (j *Journal) setRejected(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rejected = n
}

// keepRejected adds bad lines to the rejected file, but not those that are in it, and returns how many it then holds.
func (j *Journal) keepRejected(bad []badLine) (lines int, err error) {
	old, err := j.disk.Open(j.path(rejectedName), os.O_RDONLY)
	if noFile(err) { // a pipe there gives way to the file
		old, err = emptyFile{}, nil
	}
	if err != nil {
		return 0, err
	}
	defer old.Close()
	size, err := old.Size()
	if err != nil {
		return 0, err
	}
	known := make(map[[sha256.Size]byte]bool)
	err = scan(old, 0, size, func(l line) error {
		known[sha256.Sum256(l.text)] = true
		lines++
		return nil
	})
	bad = slices.DeleteFunc(slices.Clone(bad), func(b badLine) bool {
		sum := sha256.Sum256(b.text)
		was := known[sum]
		known[sum] = true
		return was
	})
	if err != nil || len(bad) == 0 {
		return lines, err
	}
	err = j.rewrite(rejectedName, old, func(o *output) error { return j.addRejected(o, old, size, bad) })
	if err != nil {
		return lines, err
	}
	return lines + len(bad), nil
}

func (j *Journal) addRejected(o *output, old file, size int64, bad []badLine) error {
	if err := o.copy(old, span{0, size}); err != nil {
		return err
	}
	if err := o.endLine(old, size); err != nil {
		return err
	}
	for _, b := range bad {
		if err := o.copy(j.file, span{b.off, b.bytes}); err != nil {
			return err
		}
		if !b.whole {
			if err := o.write([]byte("\n")); err != nil {
				return err
			}
		}
	}
	return nil
}

// leaveOut writes the main file with what can be salvaged from bad lines in their place.
func (j *Journal) leaveOut(o *output, s *survey) error {
	from := s.index.start
	last := mail.Seq(0)
	for _, b := range s.bad {
		if err := o.copy(j.file, span{from, b.off - from}); err != nil {
			return err
		}
		b.after = max(b.after, last)
		for _, good := range b.salvage() {
			last = good.seq
			if err := o.write(append(good.text, '\n')); err != nil {
				return err
			}
		}
		from = b.end()
	}
	return o.copy(j.file, span{from, s.size - from})
}

type goodLine struct {
	seq  mail.Seq
	text []byte
}

// salvage finds whole lines in a bad one: neighbours that lost the newline between them, or a line glued to garbage.
// It makes a limited number of attempts, since garbage can look like anything.
func (b *badLine) salvage() (good []goodLine) {
	attempts := 100
	after, rest := b.after, b.text
	for end := nextEnd(rest, 0); end > 0; end = nextEnd(rest, end) {
		for from := bytes.LastIndex(rest[:end], []byte(head)); from >= 0; from = bytes.LastIndex(rest[:from],
			[]byte(head)) {
			if attempts--; attempts < 0 {
				return good
			}
			seq, _, err := check(rest[from:end])
			if err == nil && seq > after && (b.until == 0 || seq < b.until) {
				good = append(good, goodLine{seq, bytes.Clone(rest[from:end])})
				after, rest, end = seq, rest[end:], 0
				break
			}
		}
	}
	return good
}

// nextEnd returns where the first trailer that ends behind from ends in b, 0 if there is none.
func nextEnd(b []byte, from int) int {
	for i := max(0, from-trailer+1); ; {
		at := bytes.Index(b[i:], []byte(crcHead))
		if at < 0 || i+at+trailer > len(b) {
			return 0
		}
		if end := i + at + trailer; end > from {
			return end
		}
		i += at + 1
	}
}

// emptyFile stands for a file that is not there.
type emptyFile struct{ file }

func (emptyFile) Size() (int64, error) { return 0, nil }
func (emptyFile) Close() error         { return nil }
