package openalice

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/kept"
	"pennypost/internal/mail"
)

// seen is what was in the files at the last look: ids and no text. It lets a later run tell what was deleted or marked
// unread meanwhile.
type seen struct {
	Entries  []mail.ID `json:"entries"`
	Read     []mail.ID `json:"read"`
	Rejected int       `json:"rejected"`
}

func (f *files) seenFile() string { return filepath.Join(f.opts.State, "seen.json") }

// loadSeen takes up where the last run ended. A file that is not there or cannot be understood says nothing: then
// nothing counts as deleted.
func (f *files) loadSeen() error {
	text, err := durable.ReadFile(f.seenFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if jsonx.Unmarshal(text, &f.saved) != nil {
		f.saved = seen{}
	}
	f.order, f.rejected = f.saved.Entries, f.saved.Rejected
	for _, id := range f.saved.Read {
		f.marked[id] = true
	}
	return nil
}

// saveSeen writes down what was seen. What the room may not have heard of yet, because the last Read told of it, is
// not in it: a later run is to find it again. Entries that were only added wait, except at the end, until they are
// many: to forget them in a crash means no more than that a deletion may go unnoticed.
func (f *files) saveSeen(end bool) error {
	if !f.looked {
		return nil
	}
	old := &f.saved
	now := seen{Entries: slices.Clone(f.order), Read: slices.Sorted(maps.Keys(f.marked)), Rejected: f.rejected}
	if f.unconfirmed || !f.news.Empty() {
		now = seen{Entries: f.everSeen(), Read: old.Read, Rejected: old.Rejected}
	}
	same := now.Rejected == old.Rejected && slices.Equal(now.Read, old.Read)
	grown := len(now.Entries) - len(old.Entries)
	if same && (grown == 0 || grown > 0 && !end && grown < 16+len(old.Entries)/8) &&
		slices.Equal(now.Entries[:len(old.Entries)], old.Entries) {
		return nil
	}
	if err := kept.Save(f.seenFile(), now); err != nil {
		return err
	}
	f.saved = now
	return nil
}

// everSeen returns the entries that were saved, gone ones too, and those that came since.
func (f *files) everSeen() []mail.ID {
	all := slices.Clone(f.saved.Entries)
	has := make(map[mail.ID]bool, len(all))
	for _, id := range all {
		has[id] = true
	}
	for _, id := range f.order {
		if !has[id] {
			all = append(all, id)
		}
	}
	return all
}

// lookMarks finds out what others did to read-state.json.
func (f *files) lookMarks() error {
	text, err := f.dir.ReadFile(readsFile)
	if errors.Is(err, fs.ErrNotExist) { // a file that is gone says nothing, least of all that everything is unread
		clear(f.marked)
		f.markText, f.badMarks = nil, nil
		f.marks, _ = parseMarks(nil)
		return nil
	}
	if err != nil {
		return err
	}
	if f.marks == nil || string(text) != string(f.markText) {
		f.markText = text
		if f.marks, err = parseMarks(text); err != nil {
			f.marks = nil
			f.badMarks = mail.Errorf(mail.Invalid, "%s cannot be understood (%s) and stays as it is: repair it, or "+
				"move it away. Until then marks are kept in the room only", f.dir.Path(readsFile), jsonx.Explain(err))
			return nil
		}
		f.badMarks = nil
	}
	if len(bytes.TrimSpace(text)) > 0 { // somebody who writes the file anew in place has not got far
		f.compareMarks()
	}
	return nil
}

// compareMarks turns markers that came and went into marks of the user. The first time, all of them came.
func (f *files) compareMarks() {
	now := f.inMarks()
	fresh := make(map[mail.ID]*mail.Item)
	for i := range f.news.Items {
		fresh[f.news.Items[i].ID] = &f.news.Items[i]
	}
	add := func(id mail.ID, mark mail.Mark) {
		f.news.Receipts = append(f.news.Receipts, mail.Receipt{Message: id, Reader: mail.ToUser, Mark: mark})
	}
	for _, m := range f.marks.read {
		id := mail.ID(m.Name)
		if !now[id] || f.marked[id] {
			continue
		}
		add(id, mail.MarkRead)
		if it := fresh[id]; it != nil {
			it.Deliveries = []mail.Delivery{{Address: mail.ToUser, Agent: mail.User, State: mail.Read,
				At: instant(m.Value)}}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(f.marked)) {
		if !now[id] && f.ids[id] {
			add(id, mail.MarkUnread)
		}
	}
	f.marked = now
}

// inMarks returns the entries that have a marker. A marker without its entry waits: the entry may still come.
func (f *files) inMarks() map[mail.ID]bool {
	now := make(map[mail.ID]bool, len(f.marks.read))
	for _, m := range f.marks.read {
		if id := mail.ID(m.Name); f.ids[id] {
			now[id] = true
		}
	}
	return now
}

// edit is a change of a marker.
type edit struct {
	id   mail.ID
	read bool
	at   mail.Time
}

// editMarks changes markers in read-state.json. What others changed there meanwhile is kept, and told at the next
// Read.
func (f *files) editMarks(edits []edit) error {
	if len(edits) == 0 {
		return nil
	}
	if _, err := f.dir.Lstat(readsFile); errors.Is(err, fs.ErrNotExist) &&
		!slices.ContainsFunc(edits, func(e edit) bool { return e.read }) {
		return nil // no file is made to say that nothing is read
	}
	if err := f.dir.MkdirAll(inboxDir, 0o700); err != nil {
		return err
	}
	lock, err := f.dir.Lock(readsFile + ".lock")
	if err != nil {
		return fmt.Errorf("write %s: %w", f.dir.Path(readsFile), err)
	}
	defer lock.Unlock()
	if err := f.lookMarks(); err != nil {
		return err
	}
	if f.badMarks != nil {
		return f.badMarks
	}
	changed := false
	for _, e := range edits {
		if e.read {
			changed = f.marks.set(e.id, e.at) || changed
		} else {
			changed = f.marks.drop(e.id) || changed
		}
	}
	f.marked = f.inMarks()
	if !changed {
		return nil
	}
	text := f.marks.encode()
	if err := f.dir.WriteFile(readsFile, text, 0o600); err != nil {
		f.marks = nil // it is read again
		return err
	}
	f.markText = text
	return nil
}
