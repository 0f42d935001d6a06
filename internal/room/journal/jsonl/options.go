package jsonl

import (
	"cmp"
	"log/slog"
	"time"
)

// Options tune a journal. The zero value is fine.
type Options struct {
	// Log hears of what recovery did and of lines that cannot be read, never of what they say. Nil discards.
	Log *slog.Logger
	// OnSync is told of each batch that was made durable, and how long write and sync took. It runs between two
	// batches, never twice at once, so it must be quick and must not append.
	OnSync func(events, bytes int, took time.Duration)

	// Copy says that the journal is a copy of one that is kept elsewhere, from where Place puts events into it. What
	// a crash takes from its end comes again from there, and is not missing.
	Copy bool

	disk  disk          // nil: the real one
	watch time.Duration // how often the files are looked at; 0: each second; negative: never
}

func (o Options) withDefaults() Options {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.OnSync == nil {
		o.OnSync = func(int, int, time.Duration) {}
	}
	o.watch = cmp.Or(o.watch, time.Second)
	if o.disk == nil {
		o.disk = osDisk{}
	}
	return o
}
