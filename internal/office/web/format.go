package web

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
	render "pennypost/internal/office/markdown"
)

// functions are what templates may call, beyond the methods of their data.
func functions() template.FuncMap {
	return template.FuncMap{
		"ago": ago, "used": used, "looked": mail.Looked, "settled": settled, "moment": moment,
		"stateWord": func(s string) string {
			return mail.DeliveryState(s).Word()
		}, "clock": clock, "day": day, "iso": iso, "full": full,
		"color": color, "initials": initials, "who": who,
		"from": from, "unproven": func() string { return mail.Unproven },
		"plural": wording.Plural, "markdown": markdown, "firstLine": firstLine, "badge": badge, "tagValue": tagValue,
		"digit": digitKey, "key": triage.Act.Key,
	}
}

// ago says how long before now t was, in the fewest letters.
func ago(now time.Time, t mail.Time) string {
	switch d := now.Sub(t.Std()); {
	case d < 7*24*time.Hour:
		return wording.Brief(wording.Span(d))
	case t.Std().In(now.Location()).Year() == now.Year():
		return t.Std().In(now.Location()).Format("2 Jan")
	default:
		return t.Std().In(now.Location()).Format("2 Jan 2006")
	}
}

// used says when something was, in words.
func used(now time.Time, t mail.Time) string {
	switch d := now.Sub(t.Std()); {
	case d < time.Minute:
		return "just now"
	case d < 24*time.Hour:
		return wording.Span(d) + " ago"
	}
	return moment(now, t)
}

// clock is the time of the day, where the post office is.
func clock(t mail.Time) string { return t.Std().Local().Format("15:04") }

func full(t mail.Time) string { return t.Std().Local().Format("Monday, 2 January 2006, 15:04:05") }

func iso(t mail.Time) string { return t.String() }

// day names the group of a list in which t stands.
func day(now time.Time, t mail.Time) string {
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

// date names a day in a conversation.
func date(now time.Time, t mail.Time) string {
	switch name := day(now, t); name {
	case "Today", "Yesterday":
		return name
	}
	at := t.Std().In(now.Location())
	if at.Year() != now.Year() {
		return at.Format("2 January 2006")
	}
	return at.Format("Monday, 2 January")
}

// moment says when something is, in the fewest words: the day only if it is another.
func moment(now time.Time, t mail.Time) string {
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

// localTime reads a time as browsers and people write it, in the zone of now.
func localTime(text string, now time.Time) (mail.Time, bool) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return mail.TimeOf(t), true
		}
	}
	return 0, false
}

// who is an address as a person reads it: an agent's bare name, anything else as it is written.
func who(a any) string { return strings.TrimPrefix(fmt.Sprint(a), "agent:") }

// from says who sent a message, and whether anybody has proven that.
func from(m mail.Message) string {
	if m.Via != "" {
		return who(m.From) + " (" + mail.Unproven + ")"
	}
	return who(m.From)
}

// names are addresses as a person reads them.
func names(list []mail.Address) string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = who(a)
	}
	return strings.Join(out, ", ")
}

// settled says how a question was settled, by whom and when.
func settled(now time.Time, st *mail.Settlement) string {
	text := string(st.As) + " by " + who(st.By)
	if st.At != 0 {
		text += " " + moment(now, st.At)
	}
	return text
}

// badge is how a type is drawn, as classes of the style sheet.
func badge(t mail.Type) string {
	r := t.Rule()
	return "colour-" + r.Colour + " line-" + string(r.Line)
}

// firstLine is what a row shows of a text: how it begins, without marks of Markdown.
func firstLine(text string) string { return render.Preview(text, 160) }

// digitKey is the key that presses the answer at a place, or "" if it is too far down.
func digitKey(i int) string {
	if i < 9 {
		return strconv.Itoa(i + 1)
	}
	return ""
}
