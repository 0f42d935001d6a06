// Rooms measures rooms on NATS servers as a post office keeps them: the cost of making one, of opening one that
// another machine has made, and of sending, compared with a plain publish to the same servers; the cost of all of
// them at rest; and the cost to others of a sender that floods a room. It starts three servers on this machine that
// sync each write. Both machines are in this process.
//
//	go run ./bench/rooms -rooms 300
//
// It reads /proc, so it needs Linux. The network traffic at rest is counted on the loopback interface, so run it
// where nothing else uses that interface:
//
//	unshare -rn sh -c 'ip link set lo up && go run ./bench/rooms -rooms 300'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"pennypost/internal/room/journal/jetstream/natstest"
)

func main() {
	var b bench
	flag.IntVar(&b.rooms, "rooms", 300, "how many are made")
	flag.IntVar(&b.shards, "shards", 4, "how many shards they are in")
	flag.IntVar(&b.open, "open", 1000, "rooms, at most, that are open on each machine at rest")
	flag.IntVar(&b.rounds, "rounds", 5, "how often each way of sending has its turn")
	flag.DurationVar(&b.turn, "turn", time.Second, "how long a turn takes")
	flag.DurationVar(&b.rest, "rest", 30*time.Second, "how long all is watched at rest")
	flag.BoolVar(&b.flooded, "flood", false, "measure also what a flood in one room costs others")
	dir := flag.String("dir", os.TempDir(), "where servers and rooms may write: on the disk that is to be measured")
	flag.Parse()
	if err := b.run(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "rooms:", err)
		os.Exit(1)
	}
}

func (b *bench) run(dir string) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if b.dir, err = os.MkdirTemp(dir, "pprooms"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.servers, err = natstest.New(filepath.Join(b.dir, "nats"), 3, natstest.Options{}); err != nil {
		return err
	}
	defer b.servers.Stop()
	defer b.close()
	if err := b.connect(ctx); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{{"make rooms", b.make}, {"open them elsewhere", b.openElsewhere}, {"send", b.send}, {"rest", b.atRest},
		{"flood", b.flood}} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	load, err := os.ReadFile("/proc/loadavg")
	fmt.Printf("load: %s", load)
	return errors.Join(err, ctx.Err())
}
