// Streams measures how to distribute rooms on a JetStream cluster: a stream for each room, or a subject for each room
// in a few shared streams. It starts three servers on this machine that sync each write, and prints the time of each
// step.
//
//	go run ./bench/streams -layout room -rooms 1000
//	go run ./bench/streams -layout shard -shards 16 -rooms 20000
//
// A step that takes longer than -patience, or makes the servers use more memory than -memory, is aborted and named.
// It reads /proc, so it needs Linux.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"pennypost/internal/room/journal/jetstream/natstest"
)

func main() {
	var r run
	kind := flag.String("layout", "room", "a stream for each room (room) or streams that rooms share (shard)")
	flag.IntVar(&r.shards, "shards", 16, "streams that share the rooms, with -layout shard")
	flag.IntVar(&r.rooms, "rooms", 1000, "how many")
	flag.IntVar(&r.open, "open", 1000, "rooms, at most, that are followed at the same time")
	flag.DurationVar(&r.lasting, "time", 3*time.Second, "how long senders send")
	flag.DurationVar(&r.rest, "rest", 20*time.Second, "how long the servers are watched at rest")
	flag.DurationVar(&r.patience, "patience", 10*time.Minute, "the longest that one step may take")
	flag.Float64Var(&r.memory, "memory", 6000, "the most `MB` that the servers may have together")
	dir := flag.String("dir", os.TempDir(), "where the servers may write: on the disk that is to be measured")
	flag.Parse()
	if *kind == "room" {
		r.shards = 0
	}
	if err := r.onServers(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "streams:", err)
		os.Exit(1)
	}
}

// onServers starts the servers, does all steps and ends them.
func (r *run) onServers(dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp(dir, "ppstreams")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if r.cluster, err = natstest.New(dir, 3, natstest.Options{}); err != nil {
		return err
	}
	defer r.cluster.Stop()
	if err := r.connect(); err != nil {
		return err
	}
	defer r.conn.Close()
	for _, step := range r.steps() {
		if err := r.step(ctx, step); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", step.name, err), r.usage())
		}
	}
	return nil
}
