package openalice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"pennypost/internal/base/confined"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/lines"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// Paths below a bridge's directory.
const (
	inboxDir  = "data/inbox"
	readsFile = inboxDir + "/read-state.json"
)

// files is OpenAlice's data/inbox below a directory.
//
// The files do not show who changed them: a missing line or marker may never have existed. So the bridge remembers
// the lines and markers of the last look, even across restarts (seen.go).
type files struct {
	opts    dialect.FilesOptions
	dir     confined.Dir
	entries *lines.File

	looked   bool
	order    []mail.ID        // the entries in the file, in order
	ids      map[mail.ID]bool // the same as a set
	rejected int              // number of lines that are not entries
	lost     map[mail.ID]bool // entries that are missing but were not erased
	info     fs.FileInfo      // of the file when last looked at or written

	markText []byte           // read-state.json as last seen
	marks    *marks           // parsed from markText, or nil
	marked   map[mail.ID]bool // entries that had a marker at the last look
	badMarks error            // parse error of markText

	news        dialect.News // not yet returned by Read
	unconfirmed bool         // the room might not have the last Read's news yet
	saved       seen         // as saved in the state directory
}

func openFiles(opts dialect.FilesOptions) (dialect.Files, error) {
	dir := opts.Dir
	f := &files{
		opts: opts, dir: dir, entries: lines.Open(dir, inboxDir+"/entries.jsonl", 0o600),
		ids: make(map[mail.ID]bool), lost: make(map[mail.ID]bool), marked: make(map[mail.ID]bool),
	}
	if err := f.loadSeen(); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *files) Read(context.Context) (dialect.News, error) {
	f.unconfirmed = false // Read is called again only after the room has the previous news
	if err := f.look(); err != nil {
		return dialect.News{}, err
	}
	if err := f.lookMarks(); err != nil {
		return dialect.News{}, err
	}
	news := f.news
	f.news = dialect.News{}
	news.Rejected, news.Notice = f.rejected, f.notice()
	if f.badMarks != nil {
		news.Rejected++
	}
	f.unconfirmed = !news.Empty()
	if err := f.saveSeen(false); err != nil { // not a reason to hold back the news
		f.opts.Log.Warn("marks not saved", "err", err)
	}
	return news, nil
}

// notice returns a notice about the files for the person.
func (f *files) notice() string {
	var all []string
	if n := len(f.lost); n > 0 {
		all = append(all, fmt.Sprintf(
			"%d entries are missing in %s, which was truncated, damaged or replaced: they remain in the room.", n,
			f.entries.Path()))
	}
	if f.badMarks != nil {
		all = append(all, f.badMarks.Error())
	}
	return strings.Join(all, " ")
}

// look reads the new lines of entries.jsonl.
func (f *files) look() error {
	text, again, err := f.entries.Read()
	if err != nil {
		return err
	}
	anew := again || !f.looked
	before, rejected := f.order, f.rejected
	known := f.ids
	if anew {
		f.order, f.ids, f.rejected = nil, make(map[mail.ID]bool), 0
	}
	for _, line := range text {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		it, err := readItem(line)
		if err != nil {
			f.rejected++
			continue
		}
		if f.add(it.ID) && !(anew && known[it.ID]) {
			f.news.Items = append(f.news.Items, it)
		}
	}
	was, first := f.info, !f.looked
	f.info, err = f.entries.Stat()
	f.looked = true
	if anew {
		replaced := first || err == nil && !os.SameFile(was, f.info)
		f.miss(before, replaced, err != nil || f.rejected > rejected)
	}
	return nil
}

func readItem(line []byte) (mail.Item, error) {
	e, err := parse(line)
	if err != nil {
		return mail.Item{}, err
	}
	return e.item()
}

// add records that an entry is in the file, and reports whether it is new.
func (f *files) add(id mail.ID) bool {
	if f.ids[id] {
		return false
	}
	f.ids[id] = true
	f.order = append(f.order, id)
	delete(f.lost, id)
	return true
}

// miss decides about entries that are missing from the file. The person deletes an entry in OpenAlice to remove it
// for good, so it is erased. But entries missing at the end may have been cut off, or not yet rewritten in place:
// there only a single entry counts as deleted, and only if a new file replaced the old one, as OpenAlice does it. If
// the file is gone or has new malformed lines, none counts.
func (f *files) miss(before []mail.ID, replaced, damaged bool) {
	deleted, tail := gone(before, f.ids)
	switch {
	case damaged:
		deleted, tail = nil, append(deleted, tail...)
	case len(tail) == 1 && replaced:
		deleted, tail = append(deleted, tail...), nil
	}
	f.news.Erased = append(f.news.Erased, deleted...)
	for _, id := range tail {
		f.lost[id] = true
	}
}

// gone returns the entries of before that are not in now: those with a later entry that is, and those at the end.
func gone(before []mail.ID, now map[mail.ID]bool) (deleted, tail []mail.ID) {
	for _, id := range before {
		if !now[id] {
			tail = append(tail, id)
			continue
		}
		deleted = append(deleted, tail...)
		tail = nil
	}
	return deleted, tail
}

func (f *files) Write(ctx context.Context, changes []dialect.Change) (int, error) {
	if !f.looked {
		if err := f.look(); err != nil {
			return 0, err
		}
	}
	w := writing{files: f}
	for i := range changes {
		if err := w.change(ctx, i, &changes[i]); err != nil {
			return w.done, err
		}
	}
	err := w.flush(len(changes))
	return w.done, err
}

// writing is one Write: it gathers changes until a flush, which writes lines before marks.
type writing struct {
	*files
	labels map[mail.Name]string // of the workspaces, loaded when needed
	done   int                  // changes before this one are in the files
	lines  [][]byte
	ids    []mail.ID // ids of lines
	edits  []edit
}

// change applies change number i.
func (w *writing) change(ctx context.Context, i int, c *dialect.Change) error {
	switch {
	case c.Message != nil:
		return w.message(ctx, c)
	case c.Receipt != nil:
		w.receipt(c)
	case c.Erased != nil:
		if err := w.flush(i); err != nil {
			return err
		}
		return w.erase(c.Erased.Message)
	}
	return nil
}

// message adds an entry's line.
func (w *writing) message(ctx context.Context, c *dialect.Change) error {
	if c.Item == nil || w.files.ids[c.Item.ID] || slices.Contains(w.ids, c.Item.ID) {
		return nil
	}
	m := &c.Item.Message
	if w.labels == nil && slices.Contains(m.To, mail.ToUser) {
		var err error
		if w.labels, err = labels(ctx, w.opts.Service); err != nil {
			return err
		}
	}
	label, ok := labelOf(m, w.labels)
	if !ok {
		return nil
	}
	e := entryOf(m, label)
	line, err := e.encode()
	if err != nil {
		return err
	}
	w.lines, w.ids = append(w.lines, line), append(w.ids, m.ID)
	return nil
}

// receipt adds the user's mark on an entry. An archived entry counts as read, because other views hide it.
func (w *writing) receipt(c *dialect.Change) {
	id := c.Receipt.Message
	if c.Receipt.Reader != mail.ToUser || !w.files.ids[id] && !slices.Contains(w.ids, id) {
		return
	}
	switch c.Receipt.Mark {
	case mail.MarkRead, mail.MarkArchived:
		w.edits = append(w.edits, edit{id: id, read: true, at: c.At})
	case mail.MarkUnread:
		w.edits = append(w.edits, edit{id: id})
	case mail.MarkUnarchived:
		if _, read := readAt(c.Item); !read {
			w.edits = append(w.edits, edit{id: id})
		}
	}
}

// readAt returns when the user read an entry, and whether the user did.
func readAt(it *mail.Item) (mail.Time, bool) {
	if it == nil {
		return 0, false
	}
	for _, d := range it.Deliveries {
		if d.Agent == mail.User && (d.State == mail.Read || d.State == mail.Archived) {
			return d.At, true
		}
	}
	return 0, false
}

// flush writes the gathered changes; after it the files have all changes before number i.
func (w *writing) flush(i int) error {
	if len(w.lines) > 0 {
		if err := w.entries.Append(w.lines...); err != nil {
			return err
		}
		w.info, _ = w.entries.Stat() // it may be a new file
	}
	for _, id := range w.ids {
		w.add(id)
	}
	w.lines, w.ids = nil, nil
	if err := w.editMarks(w.edits); err != nil {
		return err
	}
	w.edits, w.done = nil, i
	return nil
}

// erase removes an entry from the files for good: its line, its marker, a torn line with the same beginning, and the
// temporary files of a crashed rewrite.
func (f *files) erase(id mail.ID) error {
	torn := jsonx.AppendQuote([]byte(`{"id":`), string(id))
	text, err := f.dir.ReadFile(inboxDir + "/entries.jsonl")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && (f.ids[id] || bytes.Contains(text, torn)) {
		err := f.entries.Drop(func(line []byte) bool {
			e, err := parse(line)
			return err == nil && e.ID == string(id) || err != nil && bytes.HasPrefix(line, torn)
		})
		if err != nil {
			return err
		}
		f.info, _ = f.entries.Stat()
	}
	delete(f.ids, id)
	f.order = slices.DeleteFunc(f.order, func(o mail.ID) bool { return o == id })
	f.news.Items = slices.DeleteFunc(f.news.Items, func(it mail.Item) bool { return it.ID == id })
	// a marker in an unreadable file holds only an id
	if err := f.editMarks([]edit{{id: id}}); err != nil && f.badMarks == nil {
		return err
	}
	return f.sweep()
}

// sweep removes the temporary files of a killed rewrite: they contain the erased text.
func (f *files) sweep() error {
	all, err := f.dir.ReadDir(inboxDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range all {
		if strings.HasPrefix(e.Name(), ".entries.jsonl.") && strings.HasSuffix(e.Name(), ".tmp") {
			err = errors.Join(err, f.dir.Remove(inboxDir+"/"+e.Name()))
		}
	}
	return err
}

func (f *files) Watch() []string { return []string{f.entries.Path()} }

func (f *files) Close() error { return errors.Join(f.entries.Close(), f.saveSeen(true)) }
