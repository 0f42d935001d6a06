package policy

import (
	"testing"
	"time"
)

func TestLimitsWithDefaults(t *testing.T) {
	got := Limits{Exchanges: -1, ExchangeWindow: time.Minute, Burst: 7}.WithDefaults()
	want := Limits{Exchanges: -1, ExchangeWindow: time.Minute, RepeatWindow: DefaultRepeatWindow,
		PerMinute: DefaultPerMinute, Burst: 7, Depth: DefaultDepth, Children: DefaultChildren}
	if got != want {
		t.Errorf("WithDefaults = %+v, want %+v", got, want)
	}
}

func TestAllowance(t *testing.T) {
	l := Limits{PerMinute: 60, Burst: 3}.WithDefaults()
	now := time.Unix(1000, 0)
	var a Allowance
	for i, c := range []struct {
		after time.Duration
		ok    bool
		wait  time.Duration
	}{{0, true, 0}, {0, true, 0}, {0, true, 0}, {0, false, time.Second},
		{400 * time.Millisecond, false, 600 * time.Millisecond}, {600 * time.Millisecond, true, 0},
		{time.Hour, true, 0}, {0, true, 0}, {0, true, 0}, {0, false, time.Second}} {
		now = now.Add(c.after)
		if ok, wait := a.Take(l, now); ok != c.ok || wait.Round(time.Millisecond) != c.wait {
			t.Errorf("%d: Take = %v, %v, want %v, %v", i, ok, wait, c.ok, c.wait)
		}
	}
	var free Allowance
	for range 2 * DefaultBurst {
		if ok, _ := free.Take(Limits{PerMinute: -1}.WithDefaults(), now); !ok {
			t.Fatal("no limit is one")
		}
	}
}

func TestExchange(t *testing.T) {
	l := Limits{Exchanges: 4}.WithDefaults()
	now := time.Unix(1000, 0)
	var x Exchange
	if !x.Old(l, now) {
		t.Error("what never was is not old")
	}
	say := func(from string, want bool) {
		t.Helper()
		if got := x.Turn(l, from, now); got != want {
			t.Errorf("%s speaks: %v, want %v", from, got, want)
		}
	}
	for range 100 { // messages of one agent in a row are no exchange
		say("a", true)
	}
	say("b", true)
	say("a", true)
	say("b", true)
	say("a", false)
	say("b", true)
	now = now.Add(l.ExchangeWindow) // to the very end of the window, all of them count
	say("a", false)
	if x.Old(l, now) {
		t.Error("it is old within the window")
	}
	now = now.Add(1)
	if !x.Old(l, now) {
		t.Error("it is not old")
	}
	say("a", true)
}
