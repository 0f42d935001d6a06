package config

import (
	"math"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// Duration is a span of time in a configuration: Go's notation, optionally preceded by weeks and days, which may also
// be alone ("2w", "7d", "1d12h"). "forever" and "never" are negative. Zero means unset.
type Duration time.Duration

// Forever is a Duration without end.
const Forever Duration = -1

// ParseDuration reads a Duration.
func ParseDuration(s string) (Duration, error) {
	switch s {
	case "forever", "never":
		return Forever, nil
	}
	var total time.Duration
	rest := s
	for _, u := range []struct {
		unit string
		size time.Duration
	}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}} {
		number, after, ok := strings.Cut(rest, u.unit)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil || time.Duration(n) > (math.MaxInt64-total)/u.size {
			return 0, notDuration(s)
		}
		total += time.Duration(n) * u.size
		rest = after
	}
	if rest == "" && s != "" {
		return Duration(total), nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || d > math.MaxInt64-total || strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "+") {
		return 0, notDuration(s)
	}
	return Duration(total + d), nil
}

func notDuration(s string) error {
	return mail.Errorf(mail.Invalid, "%q is not a duration: write it like 30s, 10m, 4h, 7d or 2w", s)
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(b []byte) (err error) {
	*d, err = ParseDuration(string(b))
	return err
}

func (d Duration) String() string {
	const day = Duration(24 * time.Hour)
	switch {
	case d < 0:
		return "forever"
	case d > 0 && d%day == 0:
		return strconv.Itoa(int(d/day)) + "d"
	}
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
