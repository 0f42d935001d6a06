package mail

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Cron is a recurring time, given as a cron line: minute, hour, day of the month, month and day of the week.
//
// When clocks are put forward, times in the skipped hour fire as soon as it is over. When clocks are put back,
// times in the repeated hour fire only in its first pass. A line whose hour begins with * follows the actual hours:
// it fires in both passes, and not for the skipped hour.
type Cron struct {
	fields  [5]uint64 // the values of each, as bits
	anyDay  bool      // the day of the month is *
	anyWeek bool      // the day of the week is *
	hourly  bool      // the hour is * or */n
}

// cronFields are the names, least and greatest values of the fields.
var cronFields = [5]struct {
	name        string
	least, most int
}{{"minute", 0, 59}, {"hour", 0, 23}, {"day of the month", 1, 31}, {"month", 1, 12}, {"day of the week", 0, 7}}

// cronSearch bounds, in days, how far ahead Next searches: the 29th of February may be eight years away.
const cronSearch = 9 * 366

// ParseCron parses a cron line: * and numbers, lists (1,15), ranges (mon-fri), and steps (*/15). Months and days of
// the week may be named by their first three letters; 0 and 7 are both Sunday.
func ParseCron(line string) (*Cron, error) {
	words := strings.Fields(line)
	if len(words) != len(cronFields) {
		return nil, Errorf(Invalid, "%q is not a cron line: use five fields, minute, hour, day of the month, month "+
			"and day of the week, such as \"0 9 * * mon-fri\"", line)
	}
	c := &Cron{anyDay: words[2] == "*", anyWeek: words[4] == "*", hourly: strings.HasPrefix(words[1], "*")}
	for i, word := range words {
		for part := range strings.SplitSeq(word, ",") {
			bits, ok := cronPart(i, part)
			if !ok {
				return nil, Errorf(Invalid, "%q is not a valid %s in a cron line: use * or numbers from %d to %d, "+
					"lists (1,15), ranges (1-5) and steps (*/15)", part, cronFields[i].name, cronFields[i].least,
					cronFields[i].most)
			}
			c.fields[i] |= bits
		}
	}
	if c.has(4, 7) {
		c.fields[4] |= 1
	}
	if c.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, Errorf(Invalid, "%q names a day that does not exist", line)
	}
	return c, nil
}

// cronPart parses one part of a field.
func cronPart(field int, part string) (bits uint64, ok bool) {
	span, step, stepped := strings.Cut(part, "/")
	by := 1
	if stepped {
		var err error
		if by, err = strconv.Atoi(step); err != nil || by < 1 {
			return 0, false
		}
	}
	from, to := cronFields[field].least, cronFields[field].most
	if span != "*" {
		first, last, many := strings.Cut(span, "-")
		if from, ok = cronValue(field, first); !ok {
			return 0, false
		}
		switch {
		case many:
			if to, ok = cronValue(field, last); !ok || to < from {
				return 0, false
			}
		case !stepped:
			to = from
		}
	}
	for n := from; n <= to; n += by {
		bits |= 1 << n
	}
	return bits, true
}

// cronNames are the names of months and days of the week.
var cronNames = map[int][]string{
	3: {"", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"},
	4: {"sun", "mon", "tue", "wed", "thu", "fri", "sat"},
}

func cronValue(field int, word string) (n int, ok bool) {
	if n = slices.Index(cronNames[field], strings.ToLower(word)); n >= 0 && word != "" {
		return n, true
	}
	n, err := strconv.Atoi(word)
	return n, err == nil && n >= cronFields[field].least && n <= cronFields[field].most
}

func (c *Cron) has(field, n int) bool { return c.fields[field]&(1<<n) != 0 }

// Next returns the first time after t, in t's zone, that the line names; zero if there is none within cronSearch.
func (c *Cron) Next(t time.Time) time.Time {
	loc := t.Location()
	t = t.Truncate(time.Minute)
	for last := t.AddDate(0, 0, cronSearch); t.Before(last); {
		before := t
		if t = t.Add(time.Minute); c.fires(t, before) {
			return t
		}
		if midnight := time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, loc); !c.onDay(t) && t.Before(midnight) {
			t = midnight.Add(-time.Minute)
		}
	}
	return time.Time{}
}

// fires reports whether the line names t, or a minute skipped by clocks put forward just before t.
func (c *Cron) fires(t, before time.Time) bool {
	if !c.hourly {
		if left := wall(t).Sub(wall(before)); left > time.Minute {
			for w := wall(before).Add(time.Minute); w.Before(wall(t)); w = w.Add(time.Minute) {
				if c.matches(w) {
					return true
				}
			}
		}
		if again(t) {
			return false
		}
	}
	return c.matches(t)
}

func (c *Cron) matches(t time.Time) bool {
	return c.has(0, t.Minute()) && c.has(1, t.Hour()) && c.onDay(t)
}

// onDay reports whether the line names t's day. If it restricts both the day of the month and that of the week,
// either suffices.
func (c *Cron) onDay(t time.Time) bool {
	day, week := c.has(2, t.Day()), c.has(4, int(t.Weekday()))
	if c.anyDay || c.anyWeek {
		return c.has(3, int(t.Month())) && day && week
	}
	return c.has(3, int(t.Month())) && (day || week)
}

// wall returns the local clock time at t, as if it were UTC.
func wall(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.Add(time.Duration(offset) * time.Second).UTC()
}

// again reports whether t's clock time is repeated because clocks were put back.
func again(t time.Time) bool {
	_, now := t.Zone()
	_, before := t.Add(-3 * time.Hour).Zone()
	back := time.Duration(before-now) * time.Second
	return back > 0 && wall(t.Add(-back)).Equal(wall(t))
}
