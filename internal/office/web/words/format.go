package words

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
	render "pennypost/internal/office/markdown"
)

// Functions are the functions that templates can call.
func Functions() template.FuncMap {
	return template.FuncMap{
		"ago": Ago, "used": used, "lately": lately, "looked": mail.Looked, "settled": Settled, "moment": Moment,
		"clock": Clock, "day": Day, "iso": iso, "full": full,
		"initials": Initials, "who": Who,
		"from": Sender, "unproven": mail.Unproven, "cameBy": cameBy,
		"outside": func() string { return mail.Outside },
		"plural":  wording.Plural, "markdown": Markdown, "firstLine": FirstLine, "badge": Badge, "tagValue": TagValue,
		"exposed": Exposed, "dialogTitle": DialogTitle, "dialogGist": DialogGist, "cardHref": CardHref,
		"digit": DigitKey, "key": triage.Act.Key, "snoozes": Snoozes,
	}
}

// Ago formats the time since t as briefly as possible.
func Ago(now time.Time, t mail.Time) string {
	switch d := now.Sub(t.Std()); {
	case d < 7*24*time.Hour:
		return wording.Brief(wording.Span(d))
	case t.Std().In(now.Location()).Year() == now.Year():
		return t.Std().In(now.Location()).Format("2 Jan")
	default:
		return t.Std().In(now.Location()).Format("2 Jan 2006")
	}
}

// used formats when something happened.
func used(now time.Time, t mail.Time) string {
	return cmp.Or(lately(now, t), Moment(now, t))
}

// lately says how long ago something happened, "" after a day.
func lately(now time.Time, t mail.Time) string {
	switch d := now.Sub(t.Std()); {
	case d < time.Minute:
		return "just now"
	case d < 24*time.Hour:
		return wording.Span(d) + " ago"
	}
	return ""
}

// Clock is the time of day in the post office's time zone.
func Clock(t mail.Time) string { return t.Std().Local().Format("15:04") }

func full(t mail.Time) string { return t.Std().Local().Format("Monday, 2 January 2006, 15:04:05") }

func iso(t mail.Time) string { return t.String() }

// Day names the group of t in a list.
func Day(now time.Time, t mail.Time) string {
	at := t.Std().In(now.Location())
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	monday := midnight.AddDate(0, 0, -(int(now.Weekday())+6)%7)
	switch {
	case !at.Before(midnight):
		return "Today"
	case !at.Before(midnight.AddDate(0, 0, -1)):
		return "Yesterday"
	case !at.Before(monday):
		return "This week"
	default:
		return "Older"
	}
}

// Date names a day in a conversation.
func Date(now time.Time, t mail.Time) string {
	switch name := Day(now, t); name {
	case "Today", "Yesterday":
		return name
	}
	at := t.Std().In(now.Location())
	if at.Year() != now.Year() {
		return at.Format("2 January 2006")
	}
	return at.Format("Monday, 2 January")
}

// Moment formats a time briefly: with the day only if that is not today.
func Moment(now time.Time, t mail.Time) string {
	at := t.Std().In(now.Location())
	y, d := at.Year(), at.YearDay()
	switch {
	case y == now.Year() && d == now.YearDay():
		return at.Format("15:04")
	case t.Std().After(now) && t.Std().Before(now.Add(6*24*time.Hour)):
		return at.Format("Monday 15:04")
	case y == now.Year():
		return at.Format("2 Jan 15:04")
	}
	return at.Format("2 Jan 2006 15:04")
}

// LocalTime parses a time as browsers and people write it, in the time zone of now.
func LocalTime(text string, now time.Time) (mail.Time, bool) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return mail.TimeOf(t), true
		}
	}
	return 0, false
}

// Who is an address for people: the bare name of an agent, other addresses unchanged.
func Who(a any) string { return strings.TrimPrefix(fmt.Sprint(a), "agent:") }

// cameBy explains the sender of a message from outside.
func cameBy(via string) string {
	if via == mail.ViaGitHub {
		return "It came from GitHub, which names its author"
	}
	return "It came over the bridge " + via + "; its sender is not proven"
}

// Sender names the sender of a message, and any doubt about it.
func Sender(m mail.Message) string {
	if m.Doubt() != "" {
		return Who(m.From) + " (" + m.Doubt() + ")"
	}
	return Who(m.From)
}

// Names are addresses for people.
func Names(list []mail.Address) string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = Who(a)
	}
	return strings.Join(out, ", ")
}

// Settled says how a question was settled, by whom and when.
func Settled(now time.Time, st *mail.Settlement) string {
	text := string(st.As) + " by " + Who(st.By)
	if st.At != 0 {
		text += " " + Moment(now, st.At)
	}
	return text
}

// Badge is the CSS class of a type.
func Badge(t mail.Type) string { return "colour-" + t.Rule().Colour }

// FirstLine is the beginning of a text for a row, without Markdown.
func FirstLine(text string) string { return render.Preview(text, 160) }

// DigitKey is the key of the answer at an index, or "" after the ninth.
func DigitKey(i int) string {
	if i < 9 {
		return strconv.Itoa(i + 1)
	}
	return ""
}

// Lasting is a duration in words: "25 min", "3 h 10 min", "2 days".
func Lasting(d time.Duration) string {
	d = d.Round(time.Minute)
	hours, minutes := int(d/time.Hour), int(d%time.Hour/time.Minute)
	switch {
	case hours == 0:
		return strconv.Itoa(minutes) + " min"
	case hours >= 48:
		return strconv.Itoa(hours/24) + " days"
	case minutes == 0:
		return strconv.Itoa(hours) + " h"
	}
	return strconv.Itoa(hours) + " h " + strconv.Itoa(minutes) + " min"
}

// TagValue is a tag without its namespace.
func TagValue(tag string) string {
	_, value, _ := strings.Cut(tag, ":")
	return value
}

// Snoozes lists the times offered to snooze until: later today only if that is still today.
func Snoozes(now time.Time) []triage.Later {
	y, m, d := now.Date()
	midnight := time.Date(y, m, d+1, 0, 0, 0, 0, now.Location())
	return slices.DeleteFunc(triage.Laters(now), func(l triage.Later) bool {
		return l.Name == "later" && !l.At.Std().Before(midnight)
	})
}
