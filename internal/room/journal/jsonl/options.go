package jsonl

import (
	"cmp"
	"log/slog"
	"time"
)

// Options tune a journal. The zero value means defaults.
type Options struct {
	// Log receives notes of recovery and of unreadable lines, never their content. Nil discards.
	Log *slog.Logger
	// OnSync is called after each durable batch, with the time that write and sync took. Calls do not overlap and run
	// between batches, so OnSync must be quick and must not append.
	OnSync func(events, bytes int, took time.Duration)

	// Copy says that the journal is a copy: Place puts the events of the original into it. Events that a crash takes
	// from its end are placed again, and do not count as missing.
	Copy bool

	disk  disk          // nil: the real one
	watch time.Duration // how often to check the files; 0: every second; negative: never
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
