package rooms

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// A summary is what a closed room said of itself and had, in a file of its directory, so that a post office that was
// restarted need not open a thousand rooms to tell of them. It is a help and never the truth: it counts only as long
// as the journal is the one that it was made of. It is removed before its room is opened, so that there is none while
// mail is erased there, and has what Kept has: subjects, but no texts of mail.
type summary struct {
	Version int             `json:"version"`
	Size    int64           `json:"size"`    // of the journal, in bytes
	Changed int64           `json:"changed"` // when the journal was last written, in nanoseconds since 1970
	Status  mail.RoomStatus `json:"status"`
	Kept    mail.FleetRoom  `json:"kept"`
}

// summaryVersion changes with what is in a summary. One of another version is ignored.
const summaryVersion = 1

func (o *Set) summaryFile(name mail.RoomName) string {
	return filepath.Join(o.Dir(name), "index", "summary.json")
}

// summarize writes the summary of a room that has just been closed. It is not synced: what a power cut leaves of it is
// ignored if it is not whole.
func (o *Set) summarize(name mail.RoomName, st mail.RoomStatus) {
	o.mu.Lock()
	all, known := o.kept[name]
	o.mu.Unlock()
	if !known || st.Trouble != "" { // which may be over by then
		return
	}
	info, err := os.Stat(o.journal(name))
	if err != nil {
		return
	}
	text, err := jsonx.Marshal(summary{summaryVersion, info.Size(), info.ModTime().UnixNano(), st, all})
	if err == nil {
		err = durable.MkdirAll(filepath.Dir(o.summaryFile(name)), 0o700)
	}
	if err == nil {
		err = durable.ReplaceUnsynced(o.summaryFile(name), text)
	}
	if err != nil {
		o.Log.Warn("what a room has will not be known after a restart", "room", name, "err", err)
	}
}

// dropSummary removes the summary of a room that is about to be opened, and what a crash left of writing it.
func (o *Set) dropSummary(name mail.RoomName) {
	path := o.summaryFile(name)
	err := os.Remove(path)
	if unwritten := os.Remove(path + durable.UnsyncedTemp); unwritten == nil || err == nil {
		err = durable.SyncDir(filepath.Dir(path)) // else it would be back after a power cut
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.Log.Warn("the summary of a room stays beside its journal", "room", name, "err", err)
	}
}

// recall reads the summary of a room of which nothing is known because it has not been open.
func (o *Set) recall(name mail.RoomName) {
	unknown := func() bool {
		_, known := o.known[name]
		return !known && o.rooms[name] == nil
	}
	o.mu.Lock()
	read := unknown()
	o.mu.Unlock()
	if !read {
		return
	}
	s, ok := o.readSummary(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	if ok && unknown() {
		o.known[name], o.kept[name] = s.Status, s.Kept
	}
}

// readSummary returns the summary of a closed room, if there is one that counts. One of a room on NATS servers does
// not: others write there meanwhile.
func (o *Set) readSummary(name mail.RoomName) (s summary, ok bool) {
	text, err := durable.ReadFile(o.summaryFile(name))
	if err != nil || jsonx.Unmarshal(text, &s) != nil || s.Version != summaryVersion || !s.whole(name) {
		return s, false
	}
	info, err := os.Stat(o.journal(name))
	if err != nil || info.Size() != s.Size || info.ModTime().UnixNano() != s.Changed {
		return s, false
	}
	k, err := o.KindOf(name)
	return s, err == nil && k.Kind == config.KindFile && k.Moved == ""
}

// whole reports whether a summary has all parts, and is that of a room.
func (s *summary) whole(name mail.RoomName) bool {
	k := &s.Kept
	return s.Status.Name == name && k.Room == name && k.AsOf != 0 && k.Agents != nil && k.Stuck != nil &&
		k.Waiting != nil
}
