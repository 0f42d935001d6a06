package mail

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sense says what kind of time the caller wants. It resolves ambiguous texts: "2h", "monday", "14:30", and a day
// without a time of day.
type Sense int

// The senses.
const (
	Since   Sense = iota // a beginning, in the past: a day means its midnight
	Until                // an end, in the past: a day means the following midnight
	Ahead                // a time in the future: a day means nine in the morning
	Through              // an end in the future: a day means its last millisecond
)

func (s Sense) future() bool { return s == Ahead || s == Through }

// morning is the hour that Ahead uses for a day without a time of day.
const morning = 9

// ParseWhen parses a time as people write it, in the zone of now: "2026-05-10", "2026-05-10 14:00", "today",
// "yesterday 9:00", "tomorrow", "last week", "monday at 2pm", "14:30", "now", RFC 3339, and spans such as "2h",
// "1d12h", "3 days ago" and "in 20 minutes". Sense gives the direction of a span without "ago" or "in", of a time
// of day and of a weekday: back, a weekday to today at the latest; or ahead, a weekday from tomorrow. "" is no
// time; any other text is Invalid.
func ParseWhen(text string, now time.Time, sense Sense) (Time, error) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 0 {
		return 0, nil
	}
	if t, err := ParseTime(strings.ToUpper(strings.Join(words, ""))); err == nil {
		return t, nil
	}
	if !sense.future() && len(words) == 2 && words[0] == "last" && words[1] == "week" {
		monday := midnight(now, -int(now.Weekday()+6)%7)
		if sense == Since {
			monday = midnight(monday, -7)
		}
		return TimeOf(monday), nil
	}
	t, ok := dayAndClock(words, now, sense)
	if !ok {
		t, ok = span(words, now, sense)
	}
	if !ok || t.Year() < 1 || t.Year() > 9999 {
		example := `"2h ago"`
		if sense.future() {
			example = `"in 2h"`
		}
		return 0, Errorf(Invalid, "%q is not a time: use a form like \"2026-05-10\", \"2026-05-10 14:00\", "+
			"\"yesterday\", \"today 9:00\", \"monday\" or %s (units: min, h, d, w)", text, example)
	}
	return TimeOf(t), nil
}

// dayAndClock parses a day, a time of day, or both.
func dayAndClock(words []string, now time.Time, sense Sense) (time.Time, bool) {
	words = parted(words)
	if len(words) > 2 {
		return now, false
	}
	clock, timed := clockOf(words[len(words)-1])
	day, step := midnight(now, 0), 1 // a time of day recurs every day
	switch {
	case len(words) == 1 && words[0] == "now":
		return now, true
	case len(words) == 2 && !timed:
		return now, false
	case len(words) == 2 || !timed:
		var ok bool
		if day, step, ok = dayOf(words[0], now, sense); !ok {
			return now, false
		}
	}
	if !timed {
		return wholeDay(day, now, step, sense), true
	}
	return nearest(day, clock, now, step, sense), true
}

// parted splits words into day and time of day, which may be one word or have an "at" between them.
func parted(words []string) []string {
	if first := words[0]; len(words) == 1 && len(first) > len(time.DateOnly) && first[len(time.DateOnly)] == 't' {
		return []string{first[:len(time.DateOnly)], first[len(time.DateOnly)+1:]}
	}
	if len(words) == 3 && words[1] == "at" {
		return []string{words[0], words[2]}
	}
	return words
}

// wholeDay returns the moment that a day without a time of day denotes.
func wholeDay(day, now time.Time, step int, sense Sense) time.Time {
	switch sense {
	case Until:
		return midnight(day, 1)
	case Through:
		return midnight(day, 1).Add(-time.Millisecond)
	case Ahead:
		return time.Date(day.Year(), day.Month(), day.Day(), morning, 0, 0, 0, day.Location())
	}
	return nearest(day, time.Time{}, now, step, sense)
}

// nearest returns clock on day, moved by step days if it would lie in the wrong direction.
func nearest(day, clock, now time.Time, step int, sense Sense) time.Time {
	at := func(days int) time.Time {
		return time.Date(day.Year(), day.Month(), day.Day()+days, clock.Hour(), clock.Minute(), clock.Second(), 0,
			day.Location())
	}
	switch t := at(0); {
	case sense.future() && !t.After(now):
		return at(step)
	case !sense.future() && t.After(now):
		return at(-step)
	default:
		return t
	}
}

// midnight returns the beginning of the day that is this many days after t.
func midnight(t time.Time, days int) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()+days, 0, 0, 0, 0, t.Location())
}

// clockOf parses a time of day.
func clockOf(word string) (time.Time, bool) {
	for _, layout := range []string{"15:04", "15:04:05", "3pm", "3:04pm"} {
		if t, err := time.Parse(layout, word); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// dayOf parses a day, and returns after how many days its name recurs; 0 means never.
func dayOf(word string, now time.Time, sense Sense) (day time.Time, step int, ok bool) {
	if i := slices.Index([]string{"yesterday", "today", "tomorrow"}, word); i >= 0 {
		return midnight(now, i-1), 0, true
	}
	for w := time.Sunday; w <= time.Saturday && len(word) >= len("mon"); w++ {
		if !strings.HasPrefix(strings.ToLower(w.String()), word) {
			continue
		}
		if sense.future() {
			return midnight(now, 1+(int(w-now.Weekday())+6)%7), 7, true
		}
		return midnight(now, -(int(now.Weekday()-w)+7)%7), 7, true
	}
	day, err := time.ParseInLocation(time.DateOnly, word, now.Location())
	return day, 0, err == nil
}

// span parses a length of time before or after now. Days and weeks are calendar days and weeks.
func span(words []string, now time.Time, sense Sense) (time.Time, bool) {
	sign := -1
	if sense.future() {
		sign = 1
	}
	if words[0] == "in" {
		words, sign = words[1:], 1
	} else if last := len(words) - 1; words[last] == "ago" {
		words, sign = words[:last], -1
	}
	rest, days := strings.Join(words, ""), 0
	var total time.Duration
	for rest != "" {
		number := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789."))]
		unit := rest[len(number) : len(rest)-len(strings.TrimLeft(rest[len(number):], "abcdefghijklmnopqrstuvwxyz"))]
		rest = rest[len(number)+len(unit):]
		if letter := unitLetter(unit); letter == "d" || letter == "w" {
			n, err := strconv.ParseUint(number, 10, 16)
			if err != nil {
				return now, false
			}
			days += int(n) * map[string]int{"d": 1, "w": 7}[letter]
			continue
		}
		d, err := time.ParseDuration(number + unitLetter(unit))
		if total += d; err != nil || total < 0 {
			return now, false
		}
	}
	return now.AddDate(0, 0, sign*days).Add(time.Duration(sign) * total), days > 0 || total > 0
}

// unitLetter returns s, m, h, d or w for the name of a unit as people write it, "?" for any other word.
func unitLetter(name string) string {
	for _, unit := range [][]string{
		{"s", "sec", "secs", "second", "seconds"}, {"m", "min", "mins", "minute", "minutes"},
		{"h", "hr", "hrs", "hour", "hours"}, {"d", "day", "days"}, {"w", "week", "weeks"},
	} {
		if slices.Contains(unit, name) {
			return unit[0]
		}
	}
	return "?"
}
