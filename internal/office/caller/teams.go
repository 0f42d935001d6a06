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

// teamsPause is how often it is looked for teams. Reading a few small files costs nothing; without a session of Claude
// Code nothing is read.
const teamsPause = time.Second

// teamBridge is a bridge that was added for a team. When the person has removed it, it stays noted until the team
// ends, and is not added again.
type teamBridge struct {
	Room mail.RoomName `json:"room"`
	ID   string        `json:"id"`
}

// TendTeams bridges the directories of Claude Code's teams, until ctx ends, and ends those bridges with the teams. It
// trusts the user's own ~/.claude/teams, and there the teams whose lead is a session that runs on this
// machine and that hooks, which the person has installed, have told of. Their mail goes into the room of that session.
func (o *Rooms) TendTeams(ctx context.Context) {
	t := teamTender{rooms: o, top: reach.ClaudeDir(), file: o.Set.Config.Home.Teams(),
		known: make(map[string]teamBridge), told: make(map[string]bool)}
	if err := kept.Load(t.file, &t.known); err != nil {
		o.Set.Log.Error("teams not tended", "err", err) // what was ended by the person would be bridged again
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
	known map[string]teamBridge // by the team's directory, as file has them
	told  map[string]bool       // directories whose fault was logged
}

// addNew bridges the teams that are not known yet.
func (t *teamTender) addNew(ctx context.Context) {
	live := slices.DeleteFunc(t.rooms.Set.Reach.Sessions.Live("claude"),
		func(s sessions.Session) bool { return s.Joined != "" }) // known from a connection only
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

// private reports whether there is a directory, and no link to one, into which no other user of the machine can put
// anything.
func private(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir() && info.Mode().Perm()&0o002 == 0
}

// bridged reports whether an open room has a bridge to a directory. Rooms that have bridges are open.
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

// endGone ends the bridges of teams whose directories are gone. While Claude Code's own directory is away with them,
// as on a disk that is not mounted, nothing has ended.
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

// end ends a bridge, after it has told the room that members and inboxes are gone.
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

// note logs what became of a team's bridge; of a fault that lasts, once.
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
