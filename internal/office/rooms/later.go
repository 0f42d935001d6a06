package rooms

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"pennypost/internal/base/durable"
	"pennypost/internal/mail"
)

// laterFile exists while something in a room waits to be sent, so that a start opens the room. It is empty.
func (o *Set) laterFile(name mail.RoomName) string { return filepath.Join(o.Dir(name), "later") }

func (o *Set) hasLater(name mail.RoomName) bool {
	_, err := os.Stat(o.laterFile(name))
	return err == nil
}

// noteLater notes whether something in a room waits to be sent.
func (o *Set) noteLater(name mail.RoomName, waits bool) {
	var err error
	if waits {
		err = durable.WriteFile(o.laterFile(name), nil, 0o600)
	} else if err = os.Remove(o.laterFile(name)); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		o.Log.Warn("scheduled mail not recorded for the next start", "room", name, "err", err)
	}
}
