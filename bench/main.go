// Bench puts the same work on Pennypost and on the alternatives that people would otherwise use, in turn and several
// times, and prints the medians. It needs only the loopback network and, the first time, the module proxy.
//
//	go run ./bench                      # all of it: about five minutes
//	go run ./bench -only 'redis|http'   # systems by a regular expression
//	go run ./bench -work handover       # one kind of work
//
// Each send is durable when it is answered: every system is set to sync before that. Systems that are not on this
// machine (redis-server, amq) are named and left out.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"time"

	"pennypost/bench/drive"
)

// jobs are the columns of the tables, by kind of work. The command line sets their duration.
var jobs = map[drive.Work][]drive.Job{
	drive.Send: {{Work: drive.Send, Senders: 1}, {Work: drive.Send, Senders: 16},
		{Work: drive.Send, Senders: 64}},
	drive.Handover: {{Work: drive.Handover}},
	drive.Look:     {{Work: drive.Look}},
}

func main() {
	only := flag.String("only", "", "systems whose names match this `regexp`")
	work := flag.String("work", "send,handover,look", "kinds of work")
	rounds := flag.Int("rounds", 5, "how often each system gets each job")
	lasting := flag.Duration("time", time.Second, "how long one job takes")
	dir := flag.String("dir", os.TempDir(), "where the systems may write: on the disk that is to be measured")
	flag.Parse()
	if err := run(*only, *work, *rounds, *lasting, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(only, work string, rounds int, lasting time.Duration, dir string) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	if dir, err = os.MkdirTemp(dir, "ppbench"); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, offices: make(map[bool]*office)}
	defer b.stop()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	for _, s := range systems {
		if wanted.MatchString(s.name) {
			b.start(s)
		}
	}
	for _, kind := range strings.Split(work, ",") {
		kind := drive.Work(strings.TrimSpace(kind))
		if jobs[kind] == nil {
			return fmt.Errorf("%q is no work: use send, handover or look", kind)
		}
		for round := range rounds {
			fmt.Fprintf(os.Stderr, "%s, round %d of %d\n", kind, round+1, rounds)
			for _, r := range b.running {
				for _, j := range jobs[kind] {
					select {
					case <-interrupted:
						return errors.New("interrupted")
					default:
					}
					r.do(j, lasting)
				}
			}
		}
		b.print(kind)
	}
	for _, a := range b.absent {
		fmt.Println(a)
	}
	return nil
}
