package jsonl

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Bounds of what a program can bring about that changes the main file again and again.
const (
	// maxForeign is how many files are kept that somebody put in its place. Each may be as large as the journal.
	maxForeign = 8
	// meddledEvery is how often the person is told that it goes on.
	meddledEvery = time.Hour
)

// meddling is what strangers do to the main file.
type meddling struct {
	aside string    // where the last file that stood in its place is now; "": none did
	told  time.Time // when the person was last told
	times int       // how often it was changed since then
	full  bool      // the person was told that no more files are kept
}

// freeForeign returns a name for a file that is set aside as a whole.
func (j *Journal) freeForeign() (string, error) {
	names, odd, err := j.disk.List(j.dir)
	n := 1
	for slices.Contains(append(names, odd...), fmt.Sprintf(foreignName, n)) {
		n++
	}
	return fmt.Sprintf(foreignName, n), err
}

// setForeignAside renames what is at the path of the main file if it is not what is open.
func (j *Journal) setForeignAside() error {
	if j.file == nil {
		return nil
	}
	if _, leads := j.leads(j.file); leads {
		return nil
	}
	name, err := j.freeForeign()
	if err != nil {
		return err
	}
	if err := j.disk.Rename(j.mainPath, j.path(name)); err != nil {
		if isNotExist(err) {
			return nil
		}
		return err
	}
	j.log.Warn("set aside a file that somebody put in the place of the mailbox", "file", name)
	j.setRejected(j.Condition().Rejected + 1)
	j.meddled.aside = name
	return nil
}

// foreigners returns the names of the files that were set aside as a whole.
func (j *Journal) foreigners() ([]string, error) {
	names, odd, err := j.disk.List(j.dir)
	before, after, _ := strings.Cut(foreignName, "%d")
	names = slices.DeleteFunc(append(names, odd...), func(name string) bool {
		return !strings.HasPrefix(name, before) || !strings.HasSuffix(name, after)
	})
	slices.Sort(names)
	return names, err
}

// meddledWith tells the person that the main file was changed, and put back but for some lines. there says that it was
// changed in place.
func (j *Journal) meddledWith(there bool, missing int) {
	m := &j.meddled
	aside, full := j.weighForeign()
	tell := time.Since(m.told) >= meddledEvery || missing > 0 || full && !m.full
	if m.times++; !tell {
		return // it is in the log
	}
	what := "Somebody removed the room's mailbox file, or put another in its place, while the post office was using " +
		"it."
	if there {
		what = "Somebody changed the room's mailbox file while the post office was using it."
	}
	if m.times > 1 {
		what += fmt.Sprintf(" It was changed %d times since this was last said.", m.times)
	}
	lost := "All that was acknowledged was put back."
	if missing > 0 {
		lost = fmt.Sprintf("What could be put back was; %d lines could not. pennypost verify names them.", missing)
	}
	*m = meddling{told: time.Now(), full: full}
	j.tell("The mailbox file was changed from outside",
		what+aside+" "+lost+" To change the files, stop the post office first: pennypost stop")
}

// missMonths forgets the indexes of files of the archive that are not there any more, and tells the person. Its caller
// has the shelf, as that of archiveChanged has.
func (j *Journal) missMonths(there []string) {
	var gone []string
	for name := range j.indexes {
		if !slices.Contains(there, name) {
			gone = append(gone, name)
			delete(j.indexes, name)
		}
	}
	if slices.Sort(gone); len(gone) > 0 {
		j.archiveChanged(gone...)
	}
}

// archiveChanged tells the person that files of the archive that were read before are gone, or others.
func (j *Journal) archiveChanged(names ...string) {
	what := strings.Join(names, ", ")
	if time.Since(j.missed) < meddledEvery {
		j.log.Warn("the archive was changed from outside", "files", what)
		return
	}
	j.missed = time.Now()
	j.tell("The archive was changed from outside", "Somebody removed or changed "+what+" while the post office was "+
		"using the room. Mail that was there is not shown any more; the rest is. Put back what was there, if there "+
		"is a copy. pennypost verify names what is missing. To change the files, stop the post office first: "+
		"pennypost stop")
}

// weighForeign removes the file that was just set aside if nothing is in it that is not kept elsewhere, or if so many
// were kept that this one is not. It returns what the person is told of that.
func (j *Journal) weighForeign() (told string, full bool) {
	name := j.meddled.aside
	if name == "" {
		return "", false
	}
	others, err := j.foreigners()
	if err != nil {
		j.log.Warn("files that were set aside are not compared", "err", err)
	}
	others = slices.DeleteFunc(others, func(other string) bool { return other == name })
	copied := j.begins(name, mainName) || slices.ContainsFunc(others, func(other string) bool {
		return j.begins(name, other)
	})
	full = !copied && len(others) >= maxForeign
	if copied || full {
		if err := j.disk.Remove(j.path(name)); err == nil {
			j.log.Warn("removed what was set aside", "file", name, "copy", copied)
			j.setRejected(j.Condition().Rejected - 1)
		}
	}
	switch {
	case copied:
		return " The other file had nothing that is not kept.", false
	case full:
		return fmt.Sprintf(" The other file was removed: %d that were there before are kept beside it, as "+
			"mailbox.foreign-N.jsonl, and no more are. Move them away to have others kept.", len(others)), true
	}
	return " The other file was set aside, byte for byte, as " + name + " beside it.", false
}

// begins reports whether a file is the beginning of another, or all of it.
func (j *Journal) begins(name, of string) bool {
	a, err := j.disk.Open(j.path(name), os.O_RDONLY)
	if err != nil {
		return false
	}
	defer a.Close()
	b, err := j.disk.Open(j.path(of), os.O_RDONLY)
	if err != nil {
		return false
	}
	defer b.Close()
	size, err := a.Size()
	if err != nil {
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
