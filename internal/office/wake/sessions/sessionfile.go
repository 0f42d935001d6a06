package sessions

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"pennypost/internal/base/kept"
	"pennypost/internal/mail"
)

const (
	// saveAfter is how long a change waits for more before the file is written: when a post office starts, the
	// sessions of many agents report at the same time.
	saveAfter = 200 * time.Millisecond
	// maxSessionFile is the limit of the file's size, in bytes.
	maxSessionFile = 16 << 20
)

// savedSession is a Session in the file. It includes the secrets: only the owner can read the file, and the secrets
// end with the session.
type savedSession struct {
	Room    mail.RoomName `json:"room"`
	Agent   mail.Name     `json:"agent"`
	Client  string        `json:"client"`
	ID      string        `json:"id"`
	Dir     string        `json:"dir,omitempty"`
	Version string        `json:"version,omitempty"`
	Process string        `json:"process,omitempty"`
	Window  string        `json:"window,omitempty"`
	Mode    string        `json:"mode,omitempty"`
	Socket  string        `json:"socket,omitempty"`
	Token   string        `json:"token,omitempty"`
	Tmux    string        `json:"tmux,omitempty"`
	Pane    string        `json:"pane,omitempty"`
	Working bool          `json:"working,omitzero"`
	Held    bool          `json:"held,omitzero"`
	Joined  string        `json:"joined,omitempty"`
	Home    string        `json:"home,omitempty"`
	Script  string        `json:"transcript,omitempty"`
	Broken  bool          `json:"broken,omitzero"`
	Over    bool          `json:"over,omitzero"`
}

// Keep loads the sessions that an earlier process of the post office left in a file, so that their doors survive a
// restart, and keeps the file up to date. Of a session whose program has ended it loads only the facts needed to
// resume it. A file that cannot be parsed is ignored and replaced; the error says why. Call Keep before all other
// methods, and Close at the end.
func (l *List) Keep(path string) error {
	l.file = path
	var saved []savedSession
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxSessionFile {
		err = fmt.Errorf("%s is not a sessions file", path)
	} else if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = kept.Load(path, &saved)
	}
	if err != nil {
		return fmt.Errorf("the doors of earlier sessions are not known until their next hook call: %w",
			err)
	}
	for _, v := range saved {
		s := Session{Room: v.Room, Agent: v.Agent, Client: v.Client, ID: v.ID, Dir: v.Dir, Version: v.Version,
			Process: v.Process, Window: v.Window, Mode: v.Mode, Socket: NewSecret(v.Socket), Token: NewSecret(v.Token),
			Tmux: v.Tmux, Pane: v.Pane, Held: v.Held, Joined: v.Joined, Home: v.Home, Transcript: v.Script,
			Broken: v.Broken, Working: v.Working, Heard: time.Now(), Over: v.Over}
		if s.Over || ended(s.Process) {
			s = s.remains()
		}
		if l.latest == nil {
			l.latest = make(map[Seat]Session)
		}
		l.latest[SeatOf(s.Room, s.Agent)] = s
	}
	return nil
}

// Close writes pending changes.
func (l *List) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.saving == nil {
		return nil
	}
	l.saving.Stop()
	return l.save()
}

// changed schedules a write of the file. The caller holds l.mu.
func (l *List) changed() {
	if l.file == "" || l.saving != nil {
		return
	}
	l.saving = time.AfterFunc(saveAfter, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.saving != nil {
			_ = l.save() // the next change tries again; the file is needed only after a restart
		}
	})
}

// save writes the file. The caller holds l.mu.
func (l *List) save() error {
	l.saving = nil
	saved := make([]savedSession, 0, len(l.latest))
	for _, s := range l.latest {
		saved = append(saved, savedSession{Room: s.Room, Agent: s.Agent, Client: s.Client, ID: s.ID, Dir: s.Dir,
			Version: s.Version, Process: s.Process, Window: s.Window, Mode: s.Mode, Socket: s.Socket.Reveal(),
			Token: s.Token.Reveal(), Tmux: s.Tmux, Pane: s.Pane, Held: s.Held, Joined: s.Joined, Home: s.Home,
			Script: s.Transcript, Broken: s.Broken, Working: s.Working, Over: s.Over})
	}
	return kept.Save(l.file, saved)
}
