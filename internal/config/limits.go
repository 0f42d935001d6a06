package config

import (
	"cmp"
	"time"

	"pennypost/internal/policy"
)

// Limits is policy.Limits in a configuration file. Negative numbers, and "forever" for spans of time, mean no limit.
type Limits struct {
	Exchanges      int      `toml:"exchanges"`
	ExchangeWindow Duration `toml:"exchange_window"`
	RepeatWindow   Duration `toml:"repeat_window"`
	PerMinute      int      `toml:"per_minute"`
	Burst          int      `toml:"burst"`
	Depth          int      `toml:"depth"`
	Children       int      `toml:"children"`
}

// Breakers returns r's limits in the types of the policy package.
func (r Room) Breakers() policy.Limits {
	l := r.Limits
	return policy.Limits{
		Exchanges: l.Exchanges, ExchangeWindow: time.Duration(l.ExchangeWindow),
		RepeatWindow: time.Duration(l.RepeatWindow),
		PerMinute:    l.PerMinute, Burst: l.Burst, Depth: l.Depth, Children: l.Children,
	}
}

func (l *Limits) rows() []row {
	return []row{
		{name: "exchanges", value: cmp.Or(l.Exchanges, policy.DefaultExchanges),
			about: "messages that two agents may exchange without a message from the person; -1 for no limit"},
		{name: "exchange_window", value: cmp.Or(l.ExchangeWindow, Duration(policy.DefaultExchangeWindow)),
			about: "the time over which they are counted"},
		{name: "repeat_window", value: cmp.Or(l.RepeatWindow, Duration(policy.DefaultRepeatWindow)),
			about: "the same text to the same agent is sent once in this time"},
		{name: "per_minute", value: cmp.Or(l.PerMinute, policy.DefaultPerMinute),
			about: "messages from one agent; -1 for no limit"},
		{name: "burst", value: cmp.Or(l.Burst, policy.DefaultBurst), about: "messages from one agent in a burst"},
		{name: "depth", value: cmp.Or(l.Depth, policy.DefaultDepth),
			about: "replies to replies without a message from the person; -1 for no limit"},
		{name: "children", value: cmp.Or(l.Children, policy.DefaultChildren),
			about: "live agents that one agent, and those it started, may register; -1 for no limit"},
	}
}
