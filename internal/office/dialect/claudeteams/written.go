package claudeteams

import (
	"pennypost/internal/base/confined"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/lines"
	"pennypost/internal/mail"
)

// written records which inbox entries are messages of the room, because the format has no field for the room's ids.
// Its file announces an entry before the write and confirms it afterwards.
type written struct {
	file    *lines.File
	byEntry map[mail.ID]line
	byRoom  map[place]line
}

// place is a message in an inbox.
type place struct {
	inbox   string
	message mail.ID
}

// line is a line of the file. The last line for an entry counts.
type line struct {
	Entry   mail.ID `json:"entry"`
	Inbox   string  `json:"inbox"`
	Message mail.ID `json:"message"`
	Done    bool    `json:"done,omitzero"` // it is, or was, in the inbox
	Gone    bool    `json:"gone,omitzero"` // the message was erased
}

// maxWritten is how many lines the file may have when it is opened; if there are more, the older half is dropped.
// After a crash, and only then, a dropped entry would be taken for a stranger's.
const maxWritten = 20_000

func openWritten(dir string) (*written, error) {
	w := &written{
		file:    lines.Open(confined.At(dir), "written.jsonl", 0o600),
		byEntry: make(map[mail.ID]line), byRoom: make(map[place]line),
	}
	all, _, err := w.file.Read()
	if err != nil {
		return nil, err
	}
	if drop := len(all) - maxWritten/2; len(all) > maxWritten {
		n := 0
		err = w.file.Drop(func([]byte) bool {
			n++
			return n <= drop
		})
		all = all[drop:]
	}
	for _, text := range all {
		var l line
		if jsonx.UnmarshalLenient(text, &l) == nil {
			w.know(l)
		}
	}
	return w, err
}

func (w *written) know(l line) {
	if l.Gone {
		delete(w.byEntry, l.Entry)
		delete(w.byRoom, place{l.Inbox, l.Message})
		return
	}
	w.byEntry[l.Entry] = l
	w.byRoom[place{l.Inbox, l.Message}] = l
}

// note appends lines durably.
func (w *written) note(all ...line) error {
	texts := make([][]byte, len(all))
	for i, l := range all {
		text, err := jsonx.Marshal(l)
		if err != nil {
			return err
		}
		texts[i] = text
	}
	if err := w.file.Append(texts...); err != nil {
		return err
	}
	for _, l := range all {
		w.know(l)
	}
	return nil
}
