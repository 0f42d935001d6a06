package demoday

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

// The rooms of the day: the one in which it takes place, and a small one next door.
const (
	Lighthouse mail.RoomName = "lighthouse"
	Almanac    mail.RoomName = "almanac"
)

//go:embed story/lighthouse.txt
var lighthouse string

//go:embed story/almanac.txt
var almanac string

// Day is what was written.
type Day struct {
	Rooms     []mail.RoomName // the first is where the day takes place
	Workspace string          // the directory in which docs-writer works
	Began     time.Time       // this morning
	Ended     time.Time       // the time that Write was given
	Messages  int
	// IDs are those messages that the stories have names for, such as "question-duplicates": tests find them by these.
	IDs map[string]mail.ID
}

// seed makes the stories' chances.
const seed = 1855

// settings keep retention away from what is older than a week, which the newcomer shall see too.
const settings = "# The post office of a demonstration.\n[room.retention]\nage = \"60d\"\n"

// Write writes the day that has just come to its end at now into the data directory home, where no post office may
// run. The directory must not have the day's rooms yet. The same now and home make the same files.
func Write(ctx context.Context, home config.Home, now time.Time) (Day, error) {
	if err := home.Create(); err != nil {
		return Day{}, err
	}
	if _, err := os.Stat(home.File()); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(home.File(), []byte(settings), 0o600); err != nil {
			return Day{}, err
		}
	}
	d := Day{Workspace: filepath.Join(string(home), "workspaces", string(Lighthouse)), Ended: now, Began: morning(now),
		IDs: make(map[string]mail.ID)}
	if err := writeWorkspace(d.Workspace); err != nil {
		return d, err
	}
	for _, story := range []struct {
		room   mail.RoomName
		script string
	}{{Lighthouse, lighthouse}, {Almanac, almanac}} {
		if err := d.tell(ctx, home, story.room, story.script); err != nil {
			return d, fmt.Errorf("the day of room %s: %w", story.room, err)
		}
		d.Rooms = append(d.Rooms, story.room)
	}
	return d, nil
}

// The hours of the day as the stories tell it.
const (
	opens  = 8*time.Hour + 40*time.Minute
	closes = 17*time.Hour + 40*time.Minute
)

// morning is when the day begins that ends at now: at twenty to nine or, if that would be a short day, nine hours ago.
func morning(now time.Time) time.Time {
	if m := midnight(now).Add(opens); now.Sub(m) >= 4*time.Hour {
		return m
	}
	return now.Add(opens - closes)
}

// today is the date that the stories count from: that of the day's end or, if the day would begin before the one
// before it is over, an earlier one.
func (d *Day) today() time.Time {
	const evening = 18*time.Hour + 15*time.Minute // when everybody has left
	date := midnight(d.Ended)
	if d.Began.Before(date.AddDate(0, 0, -1).Add(evening)) {
		return date.AddDate(0, 0, -1)
	}
	return date
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

// time returns when a step takes place. The day itself is stretched or squeezed to what there is of it; the days
// before are as they were told.
func (d *Day) time(st *step) time.Time {
	if st.day < 0 {
		return d.today().AddDate(0, 0, st.day).Add(st.clock)
	}
	share := float64(st.clock-opens) / float64(closes-opens)
	return d.Began.Add(time.Duration(share * float64(d.Ended.Sub(d.Began))))
}

// tell plays a story and puts it on the disk.
func (d *Day) tell(ctx context.Context, home config.Home, room mail.RoomName, script string) error {
	dir := filepath.Join(home.Rooms(), string(room))
	if _, err := os.Stat(dir); err == nil {
		return mail.Errorf(mail.Conflict,
			"%s is there already, and was left as it is. Name a directory that does not exist", dir)
	}
	s, err := d.play(ctx, room, script)
	if err != nil {
		return err
	}
	defer s.room.Close()
	for label, id := range s.labels {
		d.IDs[label] = id
	}
	d.Messages += s.room.Status().Messages
	return keep(ctx, dir, s.ledger)
}

// play plays a story to its end. The room is the caller's to close.
func (d *Day) play(ctx context.Context, room mail.RoomName, script string) (*stage, error) {
	steps, err := parse(script)
	if err != nil {
		return nil, err
	}
	s, err := newStage(ctx, room, d.time(&steps[0]), seed)
	if err != nil {
		return nil, err
	}
	for _, st := range steps {
		s.at(d.time(&st), func(ctx context.Context) error { return s.perform(ctx, st) })
	}
	if room == Lighthouse {
		_, err = s.user.AddWorkspace(ctx, mail.Workspace{ID: "docs-writer", Label: "Lighthouse handbook",
			Dir: d.Workspace})
	}
	if err == nil {
		err = s.play(ctx, d.Ended)
	}
	if err != nil {
		return nil, errors.Join(err, s.room.Close())
	}
	return s, nil
}

// keep makes a journal on the disk of what was played.
func keep(ctx context.Context, dir string, l *ledger) error {
	j, err := jsonl.Open(dir, jsonl.Options{})
	if err != nil {
		return err
	}
	_, err = j.Append(ctx, l.events...)
	return errors.Join(err, j.Close())
}
