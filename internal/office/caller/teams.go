package caller

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pennypost/internal/base/kept"
	"pennypost/internal/base/pause"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/claudeteams"
	"pennypost/internal/office/reach"
	"pennypost/internal/office/rooms"
	"pennypost/internal/office/wake/sessions"
)

// teamsPause is how often we look for teams. Reading a few small files costs nothing; without a session of Claude Code
// nothing is read.
const teamsPause = time.Second

// teamBridge is a bridge that was added for a team. If the person has removed it, the entry stays until the team ends,
// so that it is not added again.
type teamBridge struct {
	Room mail.RoomName `json:"room"`
	ID   string        `json:"id"`
}

// TendTeams bridges the directories of Claude Code's teams, until ctx ends, and ends those bridges with the teams. It
// trusts the user's own ~/.claude/teams, and in it the teams whose lead is a session on this machine that was reported
// by hooks, which the person has installed. Their mail enters the room of that session.
func (o *Rooms) TendTeams(ctx context.Context) {
	t := teamTender{rooms: o, top: reach.ClaudeDir(), file: o.Set.Config.Home.Teams(),
		known: make(map[string]teamBridge), told: make(map[string]bool)}
	if err := kept.Load(t.file, &t.known); err != nil {
		o.Set.Log.Error("team bridges not "+
			"updated", "err", err) // bridges that the person has ended would be added again
		return
	}
	for pause.For(ctx, teamsPause) {
		t.endGone(ctx)
		if o.Set.Config.ClaudeTeams != config.TeamsLeft {
			t.addNew(ctx)
		}
	}
}

// teamTender is the state of TendTeams.
type teamTender struct {
	rooms *Rooms
	top   string // Claude Code's own directory
	file  string
	known map[string]teamBridge // by the team's directory, as stored in file
	told  map[string]bool       // directories with a logged fault
}

// addNew bridges new teams.
func (t *teamTender) addNew(ctx context.Context) {
	live := slices.DeleteFunc(t.rooms.Set.Reach.Sessions.Live("claude"),
		func(s sessions.Session) bool { return s.Joined != "" }) // known only from a connection
	dir := filepath.Join(t.top, "teams")
	if len(live) == 0 || !private(dir) {
		return
	}
	for _, team := range claudeteams.Teams(dir) {
		i := slices.IndexFunc(live, func(s sessions.Session) bool { return team.LedBy(s.ID) })
		if _, known := t.known[team.Dir]; known || i < 0 || !private(team.Dir) || t.bridged(team.Dir) {
			continue
		}
		t.note(team.Dir, "bridged", t.add(ctx, live[i].Room, team.Dir))
	}
}

// private reports whether a path is a directory, not a link, to which no other user of the machine can write.
func private(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir() && info.Mode().Perm()&0o002 == 0
}

// bridged reports whether an open room has a bridge to a directory. Rooms with bridges are open.
func (t *teamTender) bridged(dir string) (found bool) {
	t.rooms.Set.Each(func(e *rooms.Entry) {
		for _, b := range e.Bridges.Statuses() {
			found = found || b.Dir == dir
		}
	})
	return found
}

func (t *teamTender) add(ctx context.Context, room mail.RoomName, dir string) error {
	b := mail.Bridge{Dialect: claudeteams.Dialect().Name, Dir: dir, Mode: mail.BridgeBoth}
	st, err := t.rooms.Own(ctx, room, mail.User).AddBridge(ctx, b)
	if err != nil {
		return err
	}
	t.known[dir] = teamBridge{Room: room, ID: st.ID}
	return kept.Save(t.file, t.known)
}

// endGone ends the bridges of teams whose directories are gone. If Claude Code's own directory is missing too, as on
// an unmounted disk, nothing has ended.
func (t *teamTender) endGone(ctx context.Context) {
	if _, err := os.Lstat(t.top); err != nil {
		return
	}
	for _, dir := range slices.Sorted(maps.Keys(t.known)) {
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			t.note(dir, "ended", t.end(ctx, dir))
		}
	}
}

// end ends a bridge, after telling the room that members and inboxes are gone.
func (t *teamTender) end(ctx context.Context, dir string) error {
	b := t.known[dir]
	if t.rooms.Set.Exists(b.Room) {
		user := t.rooms.Own(ctx, b.Room, mail.User)
		_, err := user.SyncBridge(ctx, b.ID)
		if err == nil {
			err = user.RemoveBridge(ctx, b.ID)
		}
		if err != nil && mail.CodeOf(err) != mail.NotFound { // the person has removed it
			return err
		}
	}
	delete(t.known, dir)
	return kept.Save(t.file, t.known)
}

// note logs the result for a team's bridge; it logs a persistent fault once.
func (t *teamTender) note(dir, what string, err error) {
	switch {
	case err == nil:
		delete(t.told, dir)
		t.rooms.Set.Log.Info("team of Claude Code "+what, "dir", dir)
	case !t.told[dir]:
		t.told[dir] = true
		t.rooms.Set.Log.Warn("team of Claude Code not "+what, "dir", dir, "err", err)
	}
}
