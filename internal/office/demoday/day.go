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

// The rooms of the day: the main one and a small one beside it.
const (
	Lighthouse mail.RoomName = "lighthouse"
	Almanac    mail.RoomName = "almanac"
)

// The stories are journals of the days up to toldOn. Times on that date are stretched or compressed.
var (
	//go:embed story/lighthouse.jsonl
	lighthouse string
	//go:embed story/almanac.jsonl
	almanac string

	toldOn = time.Date(2026, 3, 11, 0, 0, 0, 0, time.UTC)
)

// Day is the result of Write.
type Day struct {
	Rooms     []mail.RoomName // the first is the main room
	Workspace string          // the directory of docs-writer
	Began     time.Time       // this morning
	Ended     time.Time       // the time passed to Write
	Messages  int
}

// settings keep retention from archiving mail older than a week, which a newcomer should see too.
const settings = "# The post office of a demonstration.\n[room.retention]\nage = \"60d\"\n"

// Write writes a day that ends at now into the data directory home. No post office may be running there, and the
// day's rooms must not exist. The same now and home give the same files.
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

// The hours of the day in the stories.
const (
	opens  = 8*time.Hour + 40*time.Minute
	closes = 17*time.Hour + 40*time.Minute
)

// morning is when the day that ends at now begins: at 8:40 or, if fewer than four hours remain, nine hours before
// now.
func morning(now time.Time) time.Time {
	if m := midnight(now).Add(opens); now.Sub(m) >= 4*time.Hour {
		return m
	}
	return now.Add(opens - closes)
}

// today is the date that the stories count back from: that of the day's end, or the date before if the day began
// before the previous evening was over.
func (d *Day) today() time.Time {
	const evening = 18*time.Hour + 15*time.Minute // when everyone has left
	date := midnight(d.Ended)
	if d.Began.Before(date.AddDate(0, 0, -1).Add(evening)) {
		return date.AddDate(0, 0, -1)
	}
	return date
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

// time returns when an event of the stories happens. The last day is stretched or compressed to fit; earlier days
// keep their times.
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

// tell writes a story to disk.
func (d *Day) tell(ctx context.Context, home config.Home, room mail.RoomName, story string) error {
	dir := filepath.Join(home.Rooms(), string(room))
	if _, err := os.Stat(dir); err == nil {
		return mail.Errorf(mail.Conflict,
			"%s already exists. Nothing was changed. Name a new directory", dir)
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

// events reads a story, and adapts its times and directory.
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
