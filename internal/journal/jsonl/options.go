package jsonl

import (
	"log/slog"
	"time"
)

// Options tune a journal. The zero value is fine.
type Options struct {
	// Log hears of what recovery did and of lines that cannot be read, never of what they say. Nil discards.
	Log *slog.Logger
	// OnSync is told of each write that was made durable. It runs between two writes, so it must be quick.
	OnSync func(events, bytes int, took time.Duration)

	disk disk // nil: the real one
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.OnSync == nil {
		o.OnSync = func(int, int, time.Duration) {}
	}
	if o.disk == nil {
		o.disk = osDisk{}
	}
	return o
}
