package jsonl

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Bounds on the effect of a program that changes the main file again and again.
const (
	// maxForeign is how many foreign files are kept. Each may be as large as the journal.
	maxForeign = 8
	// meddledEvery is how often the person is told that the changes continue.
	meddledEvery = time.Hour
)

// meddling describes changes by other programs to the main file.
type meddling struct {
	aside    string    // the notice about the file found in its place; "": there was none
	full     bool      // that file was not kept: too many are
	told     time.Time // when the person was last told
	toldFull bool      // the person was told of full
	times    int       // changes since the person was last told
}

// keepRejected adds bad lines to the rejected file, except those it already holds: a crash before they leave the main
// file must not copy a line twice.
func (j *Journal) keepRejected(bad []badLine) error {
	if len(bad) == 0 {
		return nil
	}
	old, size, err := j.open(rejectedName, os.O_RDONLY)
	if err != nil && !noFile(err) { // the file replaces a pipe there
		return err
	}
	var pieces []piece
	known := make(map[[sha256.Size]byte]bool)
	if old != nil {
		defer old.Close()
		pieces = addPiece(pieces, piece{span: span{0, size}})
		err = scan(old, 0, size, func(l line) error {
			known[sha256.Sum256(l.text)] = true
			if !l.whole {
				pieces = addPiece(pieces, piece{text: []byte("\n")})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	was := len(known)
	for _, b := range bad {
		if sum := sha256.Sum256(b.text); !known[sum] {
			known[sum] = true
			pieces = append(pieces, piece{text: b.raw})
		}
	}
	if len(known) == was {
		return nil
	}
	return j.rewrite(rejectedName, old, pieces)
}

// salvage finds whole lines in a bad one: neighbours that lost the newline between them, or a line glued to garbage.
// It limits its attempts, since garbage can look like anything.
func (b *badLine) salvage() (good []spare) {
	attempts := 100
	after, rest := b.after, b.text
	for end := nextEnd(rest, 0); end > 0; end = nextEnd(rest, end) {
		for from := bytes.LastIndex(rest[:end], []byte(head)); from >= 0; from = bytes.LastIndex(rest[:from],
			[]byte(head)) {
			if attempts--; attempts < 0 {
				return good
			}
			it, _, err := inspect(rest[from:end])
			if err == nil && it.seq > after && (b.until == 0 || it.seq < b.until) {
				good = append(good, spare{item: it, text: append(bytes.Clone(rest[from:end]), '\n')})
				after, rest, end = it.seq, rest[end:], 0
				break
			}
		}
	}
	return good
}

// nextEnd returns the end of the first trailer in b that ends after from, 0 if there is none.
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

// names returns all names in the directory of the journal.
func (j *Journal) names() ([]string, error) {
	names, odd, err := j.disk.List(j.dir)
	return append(names, odd...), err
}

// foreigners returns the names of foreign files that were set aside whole.
func (j *Journal) foreigners() ([]string, error) {
	names, err := j.names()
	return onlyForeign(names), err
}

func onlyForeign(names []string) []string {
	before, after, _ := strings.Cut(foreignName, "%d")
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !strings.HasPrefix(name, before) || !strings.HasSuffix(name, after)
	})
	slices.Sort(names)
	return names
}

// freeForeign returns a name for a foreign file.
func freeForeign(names []string) string {
	n := 1
	for slices.Contains(names, fmt.Sprintf(foreignName, n)) {
		n++
	}
	return fmt.Sprintf(foreignName, n)
}

// setForeignAside makes way for the new main file, which is complete in the file by. If another file is at the main
// path, it is renamed, unless its content is kept elsewhere or too many such files are kept.
func (j *Journal) setForeignAside(by string) error {
	m := &j.meddled
	m.aside, m.full = "", false
	if _, leads := j.leads(j.file); leads || j.file == nil {
		return nil
	}
	names, err := j.names()
	if err != nil || !slices.Contains(names, mainName) {
		return err
	}
	others := onlyForeign(names)
	copied := slices.ContainsFunc(append(others, by), func(of string) bool { return j.begins(mainName, of) })
	if m.full = len(others) >= maxForeign && !copied; copied {
		m.aside = " The other file had no other lines than these."
		return nil
	}
	m.aside = fmt.Sprintf(" The other file was deleted, because %d earlier ones are already beside the mailbox, as "+
		"mailbox.foreign-N.jsonl. Move them away so that later ones are preserved.", len(others))
	if m.full && j.disk.Remove(j.mainPath) == nil {
		return nil
	}
	name := freeForeign(names)
	m.aside = " The other file was set aside unchanged as " + name + " beside it."
	j.log.Warn("set aside a file that replaced the mailbox", "file", name)
	if err = j.disk.Rename(j.mainPath, j.path(name)); isNotExist(err) {
		m.aside, err = "", nil
	}
	return err
}

// begins reports whether the content of a file equals the beginning of another, or all of it.
func (j *Journal) begins(name, of string) bool {
	a, size, err := j.open(name, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer a.Close()
	b, longer, err := j.open(of, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer b.Close()
	if longer < size {
		return false
	}
	bufs := [2][]byte{make([]byte, chunkSize), make([]byte, chunkSize)}
	for off := int64(0); off < size; off += chunkSize {
		n := min(chunkSize, size-off)
		for i, f := range []file{a, b} {
			if _, err := io.ReadFull(io.NewSectionReader(f, off, n), bufs[i][:n]); err != nil {
				return false
			}
		}
		if !bytes.Equal(bufs[0][:n], bufs[1][:n]) {
			return false
		}
	}
	return true
}

// countAside counts again the lines and files that were set aside; stay is the number of unreadable lines in the main
// file.
func (j *Journal) countAside(stay int) {
	foreign, err := j.foreigners()
	n := len(foreign) + stay
	if err == nil {
		_, err = j.eachLine(rejectedName, func(line) error {
			n++
			return nil
		})
	}
	if err != nil && !noFile(err) {
		j.log.Warn("files set aside not counted", "err", err)
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rejected = n
}

// meddledWith tells the person that the main file was changed and put back, except for the missing lines. there says
// that it was changed in place.
func (j *Journal) meddledWith(there bool, missing int) {
	m := &j.meddled
	tell := time.Since(m.told) >= meddledEvery || missing > 0 || m.full && !m.toldFull
	if m.times++; !tell {
		return // it is in the log
	}
	what := "Another program removed or replaced the room's mailbox file while the post office was using it."
	if there {
		what = "Another program changed the room's mailbox file while the post office was using it."
	}
	if m.times > 1 {
		what += fmt.Sprintf(" It was changed %d times since the last notice.", m.times)
	}
	lost := "All acknowledged mail was put back."
	if missing > 0 {
		lost = fmt.Sprintf("%d lines could not be put back; pennypost verify names them. The rest was.", missing)
	}
	j.tell("The mailbox file was changed from outside",
		what+m.aside+" "+lost+" Before you change the files, stop the post office: pennypost stop")
	*m = meddling{told: time.Now(), toldFull: m.full}
}
