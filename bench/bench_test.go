package main

import (
	"strings"
	"testing"
	"time"

	"pennypost/bench/drive"
)

// TestBench briefly runs each kind of work on each system that every machine has.
func TestBench(t *testing.T) {
	b := &bench{dir: t.TempDir(), offices: make(map[bool]*office)}
	t.Cleanup(b.stop)
	for _, s := range systems {
		if strings.HasPrefix(s.name, "three servers") {
			continue // they need a nats-server
		}
		switch s.name {
		case "SQLite FULL, in process", "Redis Streams, appendfsync always", "NATS JetStream, sync always",
			"amq, a process each":
			continue // not part of every machine
		}
		b.start(s)
	}
	for _, a := range b.absent {
		t.Error(a)
	}
	for _, r := range b.running {
		for kind, some := range jobs {
			j := some[0]
			r.do(j, 20*time.Millisecond)
			if err := r.failed[j]; err != nil && kind == drive.Send {
				t.Errorf("%s: %s: %v", r.name, kind, err)
			}
			took, ok := r.median(j, drive.Result.Rate)
			if ok != (r.failed[j] == nil) || ok && took <= 0 {
				t.Errorf("%s: %s: %v a second, %v", r.name, kind, took, r.failed[j])
			}
		}
	}
}
