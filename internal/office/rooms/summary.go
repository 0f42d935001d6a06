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

// A summary is the status and state of a closed room, in a file of its directory, so that a restarted post office
// need not open a thousand rooms to report on them. It is a cache, never the truth: it is valid only while the
// journal is the one that it was made from. It is removed before its room is opened, so that there is none while
// mail is erased there. It contains the state for Kept: subjects, but no texts of mail.
type summary struct {
	Version int             `json:"version"`
	Size    int64           `json:"size"`    // of the journal, in bytes
	Changed int64           `json:"changed"` // when the journal was last written, in nanoseconds since 1970
	Status  mail.RoomStatus `json:"status"`
	Kept    mail.FleetRoom  `json:"kept"`
}

// summaryVersion changes with the content of a summary. Summaries of other versions are ignored.
const summaryVersion = 1

func (o *Set) summaryFile(name mail.RoomName) string {
	return filepath.Join(o.Dir(name), "index", "summary.json")
}

// summarize writes the summary of a room that has just been closed. It does not sync the file: an incomplete one
// after a power cut is ignored.
func (o *Set) summarize(name mail.RoomName, st mail.RoomStatus) {
	o.mu.Lock()
	all, known := o.kept[name]
	o.mu.Unlock()
	if !known || st.Trouble != "" { // the trouble may be over by then
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
		o.Log.Warn("summary of a room not saved", "room", name, "err", err)
	}
}

// dropSummary removes the summary of a room that is about to be opened, and any partial file that a crash left.
func (o *Set) dropSummary(name mail.RoomName) {
	path := o.summaryFile(name)
	err := os.Remove(path)
	if unwritten := os.Remove(path + durable.UnsyncedTemp); unwritten == nil || err == nil {
		err = durable.SyncDir(filepath.Dir(path)) // otherwise a power cut could bring it back
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.Log.Warn("summary of a room not removed", "room", name, "err", err)
	}
}

// recall reads the summary of a room that has not been open yet.
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

// readSummary returns the summary of a closed room, if a valid one exists. That of a room on NATS servers is not
// valid: others write there meanwhile.
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

// whole reports whether a summary has all parts and belongs to the room.
func (s *summary) whole(name mail.RoomName) bool {
	k := &s.Kept
	return s.Status.Name == name && k.Room == name && k.AsOf != 0 && k.Agents != nil && k.Stuck != nil &&
		k.Waiting != nil
}
