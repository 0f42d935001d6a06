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

// seen holds the ids in the files at the last look, without text. With it a later run recognises entries that were
// deleted or marked unread in the meantime.
type seen struct {
	Entries  []mail.ID `json:"entries"`
	Read     []mail.ID `json:"read"`
	Rejected int       `json:"rejected"`
}

func (f *files) seenFile() string { return filepath.Join(f.opts.State, "seen.json") }

// loadSeen restores the state of the last run. A missing or invalid file counts as empty: then nothing counts as
// deleted.
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

// saveSeen saves the ids seen. It omits those that the room might not know yet, because the last Read returned them:
// a later run must find them again. Entries that were only added are saved at the end or when there are many: losing
// them in a crash means only that a deletion may be missed.
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

// everSeen returns the saved entries, including missing ones, and those added since.
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

// lookMarks finds others' changes to read-state.json.
func (f *files) lookMarks() error {
	text, err := f.dir.ReadFile(readsFile)
	if errors.Is(err, fs.ErrNotExist) { // a missing file does not mean that everything is unread
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
			f.badMarks = mail.Errorf(mail.Invalid, "%s is invalid (%s) and stays unchanged: repair it or move it "+
				"away. Until then marks are kept in the room only", f.dir.Path(readsFile), jsonx.Explain(err))
			return nil
		}
		f.badMarks = nil
	}
	if len(bytes.TrimSpace(text)) > 0 { // an empty file is being rewritten in place
		f.compareMarks()
	}
	return nil
}

// compareMarks turns added and removed markers into marks of the user. The first time, all are added.
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

// inMarks returns the entries that have a marker. A marker without an entry waits, because the entry may still
// arrive.
func (f *files) inMarks() map[mail.ID]bool {
	now := make(map[mail.ID]bool, len(f.marks.read))
	for _, m := range f.marks.read {
		if id := mail.ID(m.Name); f.ids[id] {
			now[id] = true
		}
	}
	return now
}

// edit is a change to a marker.
type edit struct {
	id   mail.ID
	read bool
	at   mail.Time
}

// editMarks changes markers in read-state.json. It keeps others' changes, and the next Read reports them.
func (f *files) editMarks(edits []edit) error {
	if len(edits) == 0 {
		return nil
	}
	if _, err := f.dir.Lstat(readsFile); errors.Is(err, fs.ErrNotExist) &&
		!slices.ContainsFunc(edits, func(e edit) bool { return e.read }) {
		return nil // no file is needed when nothing is read
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
		f.marks = nil // read it again
		return err
	}
	f.markText = text
	return nil
}
