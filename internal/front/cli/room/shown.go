package room

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/process"
	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// shownFor is how long numbers refer to the list that a terminal was shown last: a day's work.
const shownFor = 12 * time.Hour

// shown is the list that this terminal was shown, by which "2" and "last" are resolved. It is a file in the data
// directory.
type shown struct {
	At       mail.Time      `json:"at"`
	Room     mail.RoomName  `json:"room,omitempty"` // of the whole list; "": several rooms
	Messages []shownMessage `json:"messages"`       // number 1 first
	// Last is the newest message shown from Reader's mailbox.
	Last   shownMessage `json:"last,omitzero"`
	Reader mail.Name    `json:"reader,omitempty"`
}

type shownMessage struct {
	Room mail.RoomName `json:"room"`
	ID   mail.ID       `json:"id"`
	Seq  mail.Seq      `json:"seq"`
}

// shownOf returns the messages of a room's list in the form of shown.
func shownOf(room mail.RoomName, items []mail.Item) []shownMessage {
	list := make([]shownMessage, len(items))
	for i := range items {
		list[i] = shownMessage{room, items[i].ID, items[i].Seq}
	}
	return list
}

// shownFile is the path of shown for this terminal's session.
func (a *app) shownFile() (string, error) {
	home, err := config.FindHome(a.Env.Getenv)
	if err != nil {
		return "", err
	}
	return filepath.Join(home.Shown(), process.Session()+".json"), nil
}

// lastShown returns this terminal's list, empty if that is too long ago.
func (a *app) lastShown() shown {
	var s shown
	path, err := a.shownFile()
	if err != nil {
		return s
	}
	text, err := durable.ReadFile(path)
	if err != nil || jsonx.Unmarshal(text, &s) != nil || a.Out.Now.Sub(s.At.Std()) > shownFor {
		return shown{}
	}
	return s
}

// forPerson reports whether a person at a terminal reads the answer.
func (a *app) forPerson() bool { return a.Out.Wide > 0 && !a.JSON && !a.Stdout.Reading }

// number records that a list is shown, and returns the number of each message in it: "" where none is recorded, as in
// a pipe. room is that of the whole list, "" for several.
func (a *app) number(room mail.RoomName, list []shownMessage) []string {
	words := make([]string, len(list))
	if !a.forPerson() || len(list) == 0 {
		return words
	}
	s := a.lastShown()
	s.Room, s.Messages = room, list
	if a.keepShown(s) != nil {
		return words
	}
	for i := range words {
		words[i] = strconv.Itoa(i + 1)
	}
	return words
}

// sawMail records that the reader was shown mail of their own mailbox.
func (a *app) sawMail(reader mail.Name, room mail.RoomName, items []mail.Item) {
	if !a.forPerson() {
		return
	}
	s := a.lastShown()
	before := s.Last
	if s.Reader != reader || before.Room != room {
		s.Last = shownMessage{}
	}
	for i := range items {
		if items[i].Seq > s.Last.Seq {
			s.Last = shownMessage{room, items[i].ID, items[i].Seq}
		}
	}
	if s.Last != before && s.Last.ID != "" {
		s.Reader = reader
		_ = a.keepShown(s) // without it "last" is the newest message
	}
}

// keepShown writes this terminal's list, and removes other terminals' expired ones.
func (a *app) keepShown(s shown) error {
	s.At = mail.TimeOf(a.Out.Now)
	path, err := a.shownFile()
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if entries, err := os.ReadDir(dir); err == nil {
		for _, e := range entries {
			if info, err := e.Info(); err == nil && a.Out.Now.Sub(info.ModTime()) > shownFor {
				_ = os.Remove(filepath.Join(dir, e.Name()))
			}
		}
	}
	text, err := jsonx.Marshal(s)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, "new-") // for its owner only
	if err != nil {
		return err
	}
	_, err = temp.Write(text)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}
