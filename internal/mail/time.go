package mail

import (
	"time"
)

// Time is an instant in milliseconds since the Unix epoch, the resolution of every record. The zero Time means "none".
// In JSON it is RFC 3339 in UTC with exactly three decimals, so that records line up and compare as text.
type Time int64

const timeLayout = "2006-01-02T15:04:05.000Z"

// TimeOf truncates t to a millisecond.
func TimeOf(t time.Time) Time { return Time(t.UnixMilli()) }

// ParseTime reads RFC 3339 with any offset and any number of decimals.
func ParseTime(s string) (Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return 0, Errorf(Invalid, "%q is not a time: use the form 2026-05-10T14:00:00Z", s)
	}
	if y := t.UTC().Year(); y < 1 || y > 9999 {
		return 0, Errorf(Invalid, "%q is outside the years 1 to 9999", s)
	}
	return TimeOf(t), nil
}

// Std returns t in UTC.
func (t Time) Std() time.Time { return time.UnixMilli(int64(t)).UTC() }

// Add returns t+d.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Milliseconds()) }

// Sub returns t-u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t-u) * time.Millisecond }

func (t Time) String() string {
	if t == 0 {
		return ""
	}
	return t.Std().Format(timeLayout)
}

// AppendText appends t in its JSON form, without quotes.
func (t Time) AppendText(b []byte) ([]byte, error) { return t.Std().AppendFormat(b, timeLayout), nil }

// MarshalText implements encoding.TextMarshaler.
func (t Time) MarshalText() ([]byte, error) { return t.AppendText(make([]byte, 0, len(timeLayout))) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Time) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*t = 0
		return nil
	}
	*t, err = ParseTime(string(b))
	return err
}
