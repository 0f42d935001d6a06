package demoday

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

// The rooms of the day: the one in which it takes place, and a small one next door.
const (
	Lighthouse mail.RoomName = "lighthouse"
	Almanac    mail.RoomName = "almanac"
)

// The stories are journals of the days until toldOn. Times of that date itself are stretched or squeezed.
var (
	//go:embed story/lighthouse.jsonl
	lighthouse string
	//go:embed story/almanac.jsonl
	almanac string

	toldOn = time.Date(2026, 3, 11, 0, 0, 0, 0, time.UTC)
)

// Day is what was written.
type Day struct {
	Rooms     []mail.RoomName // the first is where the day takes place
	Workspace string          // the directory in which docs-writer works
	Began     time.Time       // this morning
	Ended     time.Time       // the time that Write was given
	Messages  int
}

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
	d := Day{Workspace: filepath.Join(string(home), "workspaces", string(Lighthouse)), Ended: now, Began: morning(now)}
	if err := writeWorkspace(d.Workspace); err != nil {
		return d, err
	}
	for _, story := range []struct {
		room    mail.RoomName
		journal string
	}{{Lighthouse, lighthouse}, {Almanac, almanac}} {
		if err := d.tell(ctx, home, story.room, story.journal); err != nil {
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

// time returns when something takes place that the stories tell of. The day itself is stretched or squeezed to what
// there is of it; the days before are as they were told.
func (d *Day) time(told mail.Time) mail.Time {
	date := midnight(told.Std())
	clock := told.Std().Sub(date)
	if date.Before(toldOn) {
		days := int(toldOn.Sub(date) / (24 * time.Hour))
		return mail.TimeOf(d.today().AddDate(0, 0, -days).Add(clock))
	}
	share := float64(clock-opens) / float64(closes-opens)
	return mail.TimeOf(d.Began.Add(time.Duration(share * float64(d.Ended.Sub(d.Began)))))
}

// tell puts a story on the disk.
func (d *Day) tell(ctx context.Context, home config.Home, room mail.RoomName, story string) error {
	dir := filepath.Join(home.Rooms(), string(room))
	if _, err := os.Stat(dir); err == nil {
		return mail.Errorf(mail.Conflict,
			"%s is there already, and was left as it is. Name a directory that does not exist", dir)
	}
	events, err := d.events(story)
	if err != nil {
		return err
	}
	j, err := jsonl.Open(dir, jsonl.Options{})
	if err != nil {
		return err
	}
	_, err = j.Append(ctx, events...)
	return errors.Join(err, j.Close())
}

// events reads a story, and moves it to where and when the day takes place.
func (d *Day) events(story string) ([]mail.Event, error) {
	var events []mail.Event
	for line := range strings.Lines(story) {
		var e mail.Event
		if err := jsonx.UnmarshalStrict([]byte(line), &e); err != nil {
			return nil, fmt.Errorf("line %d: %s", len(events)+1, jsonx.Explain(err))
		}
		told := e.At
		e.At = d.time(told)
		switch {
		case e.Message != nil:
			d.Messages++
		case e.Workspace != nil:
			e.Workspace.Dir, e.Workspace.Added = d.Workspace, e.At
		case e.Receipt != nil && e.Receipt.Until != 0:
			e.Receipt.Until = mail.TimeOf(e.At.Std().Add(e.Receipt.Until.Sub(told)))
		}
		events = append(events, e)
	}
	return events, nil
}
