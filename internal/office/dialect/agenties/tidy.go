package agenties

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/lines"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// entry is a line of the mailbox for tidy.
type entry struct {
	id     mail.ID
	line   []byte
	folded []byte // the line with the read flag from our file
	sent   mail.Time
	read   bool
}

// tidy does the document's startup work: it trims the mailbox to 7 days and 5,000 messages, and sets the read flags
// in the lines that stay and in those that go. It leaves alone a mailbox that is only followed.
//
// For a new bridge it changes nothing: adding a bridge does not ask for that.
//
// Trimmed lines are in our own list and in the archive before they leave the mailbox. After a crash in between, the
// same lines are trimmed again, and the archive takes those that it lacks.
func (f *files) tidy() error {
	entries, err := f.entries()
	if err != nil || f.opts.Bridge.Mode == mail.BridgeFollow {
		return err
	}
	gone, t := f.outlived(entries)
	if new, err := f.isNew(); new || err != nil {
		f.noteEntries(entries, gone)
		return err
	}
	edits := make(map[string][]byte)
	for i := range entries {
		switch e := &entries[i]; {
		case gone[i]:
			edits[string(e.line)] = nil
		case !bytes.Equal(e.line, e.folded):
			edits[string(e.line)] = e.folded
		}
	}
	if len(edits) > 0 {
		if err := f.archiveGone(entries, gone); err != nil {
			return err
		}
		err := f.mailbox.Rewrite(func(line []byte) []byte {
			if edited, ok := edits[string(line)]; ok {
				return edited
			}
			return line
		})
		if err != nil {
			return err
		}
	}
	if t.Age+t.Read+t.Oldest > 0 {
		f.opts.Log.Info("mailbox trimmed to its archive", "file", f.mailbox.Path(),
			"age", t.Age, "read24h", t.Read, "oldest", t.Oldest, "unread", t.Unread, "kept", t.Kept)
	}
	for i := range entries {
		if !gone[i] {
			f.known[entries[i].id] = entries[i].read
		}
	}
	return f.tidyMarks()
}

// begunFile, in our own directory, records that the room has the files' first content.
const begunFile = "begun"

// isNew reports whether the room never got the files' content.
func (f *files) isNew() (bool, error) {
	_, err := os.Stat(filepath.Join(f.opts.State, begunFile))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// confirmed records that the room has the news that Read returned.
func (f *files) confirmed() error {
	if new, err := f.isNew(); err != nil {
		return err
	} else if new {
		if err := durable.WriteFile(filepath.Join(f.opts.State, begunFile), nil, 0o600); err != nil {
			return err
		}
	}
	return f.trimmed.Remove()
}

// noteEntries records the messages in the mailbox and those beyond the retention.
func (f *files) noteEntries(entries []entry, gone map[int]bool) {
	for i := range entries {
		f.known[entries[i].id] = entries[i].read
		f.outdated[entries[i].id] = gone[i]
	}
}

// entries reads the messages of the mailbox. It skips other lines, which therefore stay.
func (f *files) entries() ([]entry, error) {
	text, _, err := f.mailbox.Again().Read()
	var out []entry
	for _, line := range text {
		it, err := translate(line)
		if err != nil {
			continue
		}
		e := entry{id: it.ID, line: line, folded: line, sent: it.Sent, read: it.Read}
		e.fold(f.marks[it.ID])
		out = append(out, e)
	}
	return out, err
}

// fold applies our marks to an entry: that every recipient has read it, or that a read was withdrawn. A mark by one
// of several readers changes nothing.
func (e *entry) fold(m *marks) {
	if m == nil || m.last.Read && !m.last.All || m.last.Read == e.read {
		return
	}
	e.read = m.last.Read
	e.folded = setRead(e.line, e.read)
}

// outlived returns the entries to trim: all beyond the age, read or not; then, beyond the count, read ones older
// than a day, oldest first; then the oldest (A4).
func (f *files) outlived(entries []entry) (map[int]bool, mail.Trimmed) {
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(entries[i].sent, entries[j].sent) })
	held := make([]policy.Held, len(entries))
	for n, i := range order {
		e := &entries[i]
		held[n] = policy.Held{ID: mail.ID(strconv.Itoa(i)), Sent: e.sent, Settled: e.read, Unread: !e.read}
	}
	keep := policy.Retention{Age: f.opts.RetainAge, Count: f.opts.RetainCount}
	ids, t := keep.Trim(held, mail.TimeOf(f.opts.Now()))
	gone := make(map[int]bool, len(ids))
	for _, id := range ids {
		i, _ := strconv.Atoi(string(id))
		gone[i] = true
	}
	return gone, t
}

// archiveGone appends the trimmed entries to their months' files.
func (f *files) archiveGone(entries []entry, gone map[int]bool) error {
	var all [][]byte
	var months []string
	byMonth := make(map[string][][]byte)
	for i := range entries {
		if !gone[i] {
			continue
		}
		e := &entries[i]
		month := monthOf(e.sent)
		if byMonth[month] == nil {
			months = append(months, month)
		}
		byMonth[month] = append(byMonth[month], e.folded)
		all = append(all, e.folded)
	}
	if f.opts.Bridge.Mode != mail.BridgeMirror { // a mirror imports nothing
		if err := f.trimmed.Append(all...); err != nil {
			return err
		}
	}
	for _, month := range months {
		if err := appendMissing(f.archive(month), byMonth[month]); err != nil {
			return err
		}
	}
	return nil
}

// appendMissing appends the lines that a file lacks.
func appendMissing(file *lines.File, add [][]byte) error {
	text, _, err := file.Read()
	if err != nil {
		return err
	}
	has := make(map[string]bool, len(text))
	for _, line := range text {
		has[string(line)] = true
	}
	return file.Append(slices.DeleteFunc(add, func(line []byte) bool { return has[string(line)] })...)
}

// tidyMarks drops our marks on messages that have left the mailbox, and marks that a later one of the same reader
// replaced.
func (f *files) tidyMarks() error {
	text, _, err := f.reads.Again().Read()
	if err != nil || len(text) == 0 {
		return err
	}
	stale := func(line []byte) bool {
		var r receipt
		if jsonx.UnmarshalLenient(line, &r) != nil || r.ID == "" {
			return false
		}
		_, known := f.known[r.ID]
		last, _ := f.marked(r.ID, r.Reader)
		return !known || last != r
	}
	if !slices.ContainsFunc(text, stale) {
		return nil
	}
	return f.reads.Drop(stale)
}

// setRead returns a line with a new value of its member read and no other byte changed.
func setRead(line []byte, to bool) []byte {
	from, end := jsonx.Place(line, "read")
	if string(line[from:end]) != strconv.FormatBool(!to) {
		return line
	}
	return slices.Concat(line[:from], strconv.AppendBool(nil, to), line[end:])
}
