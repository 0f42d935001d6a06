package dialog

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"pennypost/internal/base/kept"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

func (d *Desk) awayPath() string { return filepath.Join(d.dir, "away") }

// SetAway lets agents whose clients hide their dialogs meanwhile ask the person here, until a time; a time in the past
// ends that. The setting is durable when it returns.
func (d *Desk) SetAway(a wire.Away) error {
	d.disk.Lock()
	defer d.disk.Unlock()
	now := mail.TimeOf(time.Now())
	list := slices.DeleteFunc(d.AwayFor(), func(o wire.Away) bool {
		all := a.Room == "" && a.Agent == "" && a.Until <= now
		return all || o.Room == a.Room && o.Agent == a.Agent
	})
	if a.Until > now {
		list = append(list, a)
	}
	if d.dir != "" {
		if err := os.MkdirAll(d.dir, 0o700); err != nil {
			return err
		}
		if err := kept.Save(d.awayPath(), list); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away = list
	return nil
}

// AwayFor returns for whom the switch is on, and until when.
func (d *Desk) AwayFor() (list []wire.Away) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := mail.TimeOf(time.Now())
	return slices.DeleteFunc(slices.Clone(d.away), func(a wire.Away) bool { return a.Until <= now })
}

// Away reports whether the switch is on for an agent.
func (d *Desk) Away(room mail.RoomName, agent mail.Name) bool {
	return slices.ContainsFunc(d.AwayFor(), func(a wire.Away) bool {
		return (a.Room == "" || a.Room == room) && (a.Agent == "" || a.Agent == agent)
	})
}
