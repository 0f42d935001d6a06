package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"pennypost/bench/drive"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// system is one of the systems compared.
type system struct {
	name  string
	most  int // most senders at the same time; 0: any number
	start func(b *bench, dir string) (worker, error)
}

// worker is a system started in a directory of its own.
type worker interface {
	do(drive.Job) (drive.Result, error)
	stop()
}

// errAbsent says that a system is not on this machine.
var errAbsent = errors.New("is not on this machine")

// systems are the rows, the yardsticks first.
var systems = []system{
	{name: "file, one fdatasync a line", start: startRawFile},
	{name: "lock, read and rewrite a JSON file", start: startRewrite},
	{name: "Maildir", start: startMaildir},
	{name: "amq, a process each", most: 16, start: startAMQ},
	{name: "SQLite FULL, in process", start: startRival("sqlite")},
	{name: "Redis Streams, appendfsync always", start: startRedis},
	{name: "NATS JetStream, sync always", start: startRival("jetstream")},
	{name: "Pennypost: journal, in process", start: startJournal},
	{name: "Pennypost: room, in process", start: startRoom},
	{name: "three servers: JetStream's publish", start: startPublish},
	{name: "three servers: journal", start: startStream},
	{name: "three servers: room", start: startStreamRoom},
	{name: "three servers: room, read on another machine", start: startTwoMachines},
	{name: "three servers: HTTP", start: startSharedHTTP},
	{name: "three servers: MCP over HTTP", start: startSharedMCP},
	{name: "three servers: a process each", most: 16, start: startSharedCLI},
	{name: "Pennypost: HTTP", start: startHTTP},
	{name: "Pennypost: MCP over HTTP", start: startMCPHTTP},
	{name: "Pennypost: MCP over stdio", most: 16, start: startMCPStdio},
	{name: "Pennypost: a process each", most: 16, start: startCLI},
}

// bench holds the started systems.
type bench struct {
	dir     string
	running []*row
	absent  []string
	offices map[bool]*office  // shared by the rows of Pennypost's doors, without NATS servers and with
	nats    *natstest.Cluster // shared by the rows on three servers
}

// row is a system and its results.
type row struct {
	system
	worker
	results map[drive.Job][]drive.Result
	failed  map[drive.Job]error
}

func (b *bench) start(s system) {
	dir, err := os.MkdirTemp(b.dir, "system")
	var w worker
	if err == nil {
		w, err = s.start(b, dir)
	}
	if err != nil {
		b.absent = append(b.absent, fmt.Sprintf("left out: %s: %v", s.name, err))
		return
	}
	b.running = append(b.running, &row{system: s, worker: w, results: make(map[drive.Job][]drive.Result),
		failed: make(map[drive.Job]error)})
}

func (b *bench) stop() {
	for _, r := range b.running {
		r.stop()
	}
	for _, o := range b.offices {
		o.stop()
	}
	if b.nats != nil {
		b.nats.Stop()
	}
}

// do runs a job on the system for a time, unless it failed at that job before.
func (r *row) do(j drive.Job, lasting time.Duration) {
	if r.failed[j] != nil || r.most > 0 && j.Senders > r.most {
		return
	}
	timed := j
	timed.Lasting = lasting
	result, err := r.worker.do(timed)
	if err != nil {
		if !errors.Is(err, errors.ErrUnsupported) {
			fmt.Fprintf(os.Stderr, "%s: %v\n", r.name, err)
		}
		r.failed[j] = err
		return
	}
	r.results[j] = append(r.results[j], result)
}

// median returns the median of a figure over all rounds; ok is false without results.
func (r *row) median(j drive.Job, figure func(drive.Result) float64) (m float64, ok bool) {
	var all []float64
	for _, result := range r.results[j] {
		all = append(all, figure(result))
	}
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	return all[len(all)/2], true
}

// inProcess is a worker whose clients are goroutines of this process.
type inProcess struct {
	open drive.Open
	end  func()
}

func (w inProcess) do(j drive.Job) (drive.Result, error) { return j.Do(w.open) }

func (w inProcess) stop() { w.end() }

// print prints the table of a kind of work.
func (b *bench) print(kind drive.Work) {
	if kind == drive.Send {
		b.printSends()
		return
	}
	about := map[drive.Work]string{drive.Handover: "send → a waiting reader has it",
		drive.Look: fmt.Sprintf("read %d waiting messages", drive.Waiting)}[kind]
	fmt.Printf("\n| %s | ms (p99) |\n|---|---|\n", about)
	for _, r := range b.running {
		if j := jobs[kind][0]; r.failed[j] == nil {
			fmt.Printf("| %s | %s (%s) |\n", r.name, r.cell(j, p50, 2), r.cell(j, p99, 2))
		}
	}
}

func (b *bench) printSends() {
	fmt.Println("\n| durable sends | 1 sender, ms (p99) | 1, a second | 16, a second | 64, a second |")
	fmt.Println("|---|---|---|---|---|")
	for _, r := range b.running {
		one := jobs[drive.Send][0]
		fmt.Printf("| %s | %s (%s) |", r.name, r.cell(one, p50, 2), r.cell(one, p99, 2))
		for _, j := range jobs[drive.Send] {
			fmt.Printf(" %s |", r.cell(j, drive.Result.Rate, 0))
		}
		fmt.Println()
	}
}

// cell is the median of a figure with a number of digits after the point.
func (r *row) cell(j drive.Job, figure func(drive.Result) float64, digits int) string {
	if m, ok := r.median(j, figure); ok {
		return strconv.FormatFloat(m, 'f', digits, 64)
	}
	return "–"
}

// p50 and p99 are figures in milliseconds.
func p50(r drive.Result) float64 { return r.P50.Seconds() * 1000 }
func p99(r drive.Result) float64 { return r.P99.Seconds() * 1000 }
