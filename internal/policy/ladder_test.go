package policy

import (
	"testing"
	"time"

	"pennypost/internal/mail"
)

func TestLadder(t *testing.T) {
	l := Ladder{}.WithDefaults()
	if want := (Ladder{time.Second, 5 * time.Minute, 2 * time.Minute, 8, 5, 12, 12}); l != want {
		t.Errorf("the defaults are %+v, want %+v", l, want)
	}
	if own := (Ladder{Budget: 3}).WithDefaults(); own.Urgent != 3 {
		t.Errorf("with a budget of 3, urgent mail may use %d more, want as many", own.Urgent)
	}
	for n, want := range map[int]time.Duration{0: time.Second, 1: time.Second, 2: 2 * time.Second,
		9: 256 * time.Second, 10: 5 * time.Minute, 1 << 40: 5 * time.Minute} {
		if got := l.Retry(n); got != want {
			t.Errorf("Retry(%d) = %v, want %v", n, got, want)
		}
	}
	for n, want := range map[int]time.Duration{1: 2 * time.Minute, 2: 4 * time.Minute, 3: 5 * time.Minute} {
		if got := l.Patience(n); got != want {
			t.Errorf("Patience(%d) = %v, want %v", n, got, want)
		}
	}
}

func TestLadderAllowed(t *testing.T) {
	l := Ladder{Budget: 2, Urgent: 1}
	at := func(minutes int) mail.Time { return mail.Time(1).Add(time.Duration(minutes) * time.Minute) }
	for _, c := range []struct {
		rung   []mail.Time
		urgent bool
		now    int
		want   mail.Time
	}{
		{nil, false, 0, at(0)},
		{[]mail.Time{at(0)}, false, 1, at(1)},
		{[]mail.Time{at(0), at(10)}, false, 20, at(60)},
		{[]mail.Time{at(0), at(10)}, true, 20, at(20)},
		{[]mail.Time{at(0), at(10), at(20)}, true, 30, at(60)},
		{[]mail.Time{at(0), at(10), at(20)}, false, 30, at(70)},
		{[]mail.Time{at(0), at(10)}, false, 100, at(100)},
	} {
		if got := l.Allowed(c.rung, c.urgent, at(c.now)); got != c.want {
			t.Errorf("rung at %v, urgent %v: at minute %d allowed at %v, want %v", c.rung, c.urgent, c.now, got,
				c.want)
		}
	}
}

func TestMayRing(t *testing.T) {
	for s, want := range map[mail.State]bool{mail.Idle: true, mail.Gone: true, mail.Working: false,
		mail.Asking: false, mail.Frozen: false} {
		if got := MayRing(s); got != want {
			t.Errorf("MayRing(%s) = %v, want %v", s, got, want)
		}
	}
}
