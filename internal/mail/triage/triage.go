// Package triage defines the acts on an item of the inbox: their keys, the possible answers to a question, and the
// mark that undoes another. The pages, the terminal and the commands all use it. It makes requests but does not
// send them; its callers do. Start at Act and Question.
package triage

import (
	"slices"
	"time"

	"pennypost/internal/mail"
)

// Act is an action on an item.
type Act string

// The acts.
const (
	Option  Act = "option"  // answer a question by one of its options
	Adopt   Act = "adopt"   // answer it in the words of a suggestion
	Decline Act = "decline" // refuse to answer it
	Reply   Act = "reply"
	Archive Act = "archive"
	Read    Act = "read" // or unread again
	Snooze  Act = "snooze"
	Delete  Act = "delete"
	Undo    Act = "undo"
	Compose Act = "compose"
)

// keys maps keys to acts, on the pages and in the terminal. Pages use x to select rows and a button to decline; the
// terminal cannot delete.
var keys = map[string]Act{
	"1": Option, "2": Option, "3": Option, "4": Option, "5": Option, "6": Option, "7": Option, "8": Option,
	"9": Option,
	"a": Adopt, "x": Decline, "r": Reply, "e": Archive, "u": Read, "s": Snooze, "Delete": Delete, "z": Undo,
	"c": Compose,
}

// Of returns the act of a key, "" if it has none.
func Of(key string) Act { return keys[key] }

// Key returns the key of an act; for Option, the first.
func (a Act) Key() string {
	best := ""
	for key, act := range keys {
		if act == a && (best == "" || key < best) {
			best = key
		}
	}
	return best
}

// Before returns the mark, and its time, that restores an item's state before another mark was set.
func Before(it *mail.Item, m mail.Mark) (mail.Mark, mail.Time) {
	switch {
	case it.Snoozed != 0:
		return mail.MarkSnoozed, it.Snoozed
	case m == mail.MarkArchived:
		return mail.MarkUnarchived, 0
	case it.State == mail.Archived:
		return mail.MarkArchived, 0
	case it.Read:
		return mail.MarkRead, 0
	}
	return mail.MarkUnread, 0
}

// Later is a time until which one key press snoozes an item.
type Later struct {
	Name  string // in forms
	Label string // on the pages
	Short string // in the terminal
	At    mail.Time
}

// Laters returns the choices as of now, in its zone.
func Laters(now time.Time) []Later {
	nine := func(days int) mail.Time {
		return mail.TimeOf(time.Date(now.Year(), now.Month(), now.Day()+days, 9, 0, 0, 0, now.Location()))
	}
	return []Later{
		{"later", "Later today", "in 3 hours", mail.TimeOf(now.Add(3 * time.Hour).Round(30 * time.Minute))},
		{"tomorrow", "Tomorrow morning", "tomorrow 9:00", nine(1)},
		{"week", "Next week", "Monday 9:00", nine(7 - (int(now.Weekday())+6)%7)},
	}
}

// ToUser reports whether m names the user as a recipient.
func ToUser(m *mail.Message) bool { return slices.Contains(m.To, mail.ToUser) }
