package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/policy"
)

// Limits is policy.Limits in a file. Negative numbers, and "forever" for spans of time, mean no limit.
type Limits struct {
	Exchanges      int      `toml:"exchanges"`
	ExchangeWindow Duration `toml:"exchange_window"`
	RepeatWindow   Duration `toml:"repeat_window"`
	PerMinute      int      `toml:"per_minute"`
	Burst          int      `toml:"burst"`
	Depth          int      `toml:"depth"`
	Children       int      `toml:"children"`
}

// over lays what a room says of itself over what all rooms are told.
func (l *Limits) over(own Limits) {
	for _, n := range []struct {
		into *int
		own  int
	}{
		{&l.Exchanges, own.Exchanges}, {&l.PerMinute, own.PerMinute}, {&l.Burst, own.Burst}, {&l.Depth, own.Depth},
		{&l.Children, own.Children},
	} {
		if n.own != 0 {
			*n.into = n.own
		}
	}
	for _, d := range []struct {
		into *Duration
		own  Duration
	}{{&l.ExchangeWindow, own.ExchangeWindow}, {&l.RepeatWindow, own.RepeatWindow}} {
		if d.own != 0 {
			*d.into = d.own
		}
	}
}

// Breakers returns r's limits as the policy package has them.
func (r Room) Breakers() policy.Limits {
	l := r.Limits
	return policy.Limits{
		Exchanges: l.Exchanges, ExchangeWindow: time.Duration(l.ExchangeWindow),
		RepeatWindow: time.Duration(l.RepeatWindow),
		PerMinute:    l.PerMinute, Burst: l.Burst, Depth: l.Depth, Children: l.Children,
	}
}

func (l *Limits) print(b *strings.Builder, section string) {
	fmt.Fprintf(b, "[%s.limits]\n", section)
	key(b, "exchanges", strconv.Itoa(orNumber(l.Exchanges, policy.DefaultExchanges)),
		"answers to and fro of two agents without a word of the person; -1 for no limit")
	key(b, "exchange_window", quoted(l.ExchangeWindow, Duration(policy.DefaultExchangeWindow)),
		"within which they are counted")
	key(b, "repeat_window", quoted(l.RepeatWindow, Duration(policy.DefaultRepeatWindow)),
		"the same text to the same agent is sent once")
	key(b, "per_minute", strconv.Itoa(orNumber(l.PerMinute, policy.DefaultPerMinute)),
		"messages of one agent; -1 for no limit")
	key(b, "burst", strconv.Itoa(orNumber(l.Burst, policy.DefaultBurst)), "messages of one agent at once")
	key(b, "depth", strconv.Itoa(orNumber(l.Depth, policy.DefaultDepth)),
		"replies to replies without a word of the person; -1 for no limit")
	key(b, "children", strconv.Itoa(orNumber(l.Children, policy.DefaultChildren)),
		"agents that one, and those below it, may register and that live; -1 for no limit")
}
