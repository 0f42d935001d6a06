package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pennypost/bench/drive"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// use is the resources of all servers together.
type use struct {
	drive.Use
	files int
	disk  float64 // MB
}

func (u use) String() string {
	return fmt.Sprintf("%.0f MB resident, %d file descriptors", u.Memory, u.Files)
}

// used adds up /proc's figures for the running servers.
func (r *run) used() (u use, err error) {
	u.Use, err = drive.UseOf(r.cluster.PIDs()...)
	return u, err
}

// usage prints the servers' resources, including their files.
func (r *run) usage() error {
	u, err := r.used()
	if err != nil {
		return err
	}
	for _, s := range r.cluster.Servers {
		err = errors.Join(err, filepath.WalkDir(s.Dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // removed meanwhile
			}
			if info, err := d.Info(); err == nil {
				u.files++
				u.disk += float64(info.Size()) / 1e6
			}
			return nil
		}))
	}
	r.say("three servers: %s, %d files, %.0f MB of them", u, u.files, u.disk)
	return err
}

// follow starts n consumers, as a post office has them for its rooms in use: one of each room, or one of each shard,
// which then also brings the events of other rooms.
func (r *run) follow(ctx context.Context, n int, subject func(int) string) error {
	if n == 0 {
		return nil
	}
	before, err := r.used()
	if err != nil {
		return err
	}
	following := make([]jetstream.ConsumeContext, n)
	began := time.Now()
	err = drive.Each(ctx, makers, n, func(ctx context.Context, i int) error {
		c, err := r.js.OrderedConsumer(ctx, r.streamOf(i), jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{subject(i)}, DeliverPolicy: jetstream.DeliverNewPolicy})
		if err == nil {
			following[i], err = c.Consume(func(jetstream.Msg) {})
		}
		return err
	})
	r.say("follow: %d consumers of %s … in %.2f s", n, subject(0), time.Since(began).Seconds())
	err = errors.Join(err, r.atRest(ctx))
	after, _ := r.used()
	r.say("follow: %.0f MB more than without", after.Memory-before.Memory)
	if err == nil {
		err = r.publish(ctx, 64, r.rooms)
	}
	for _, f := range following {
		if f != nil {
			f.Stop()
			<-f.Closed()
		}
	}
	return err
}

// restart kills a server while events are sent to all rooms in turn, and starts it again.
func (r *run) restart(ctx context.Context) error {
	s := r.cluster.Servers[2]
	s.Kill()
	gap, err := r.gap(ctx)
	if err != nil {
		return err
	}
	r.say("restart: after a kill, one of 64 rooms waited up to %.2f s for its next acknowledgement", gap.Seconds())
	began := time.Now()
	if err := s.Start(); err != nil {
		return err
	}
	r.say("restart: it takes clients after %.2f s", time.Since(began).Seconds())
	for ; ; time.Sleep(100 * time.Millisecond) {
		err := healthy(ctx, s)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return err
		}
	}
	r.say("restart: it is current after %.2f s", time.Since(began).Seconds())
	return r.usage()
}

// gap sends an event to each of 64 rooms, retrying refusals, and returns the longest time that one took.
func (r *run) gap(ctx context.Context) (longest time.Duration, err error) {
	var mu sync.Mutex
	rooms := min(64, r.rooms)
	began := time.Now()
	err = drive.Each(ctx, rooms, rooms, func(ctx context.Context, room int) error {
		for {
			try, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			err := r.send(try, room)
			cancel()
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				longest = max(longest, time.Since(began))
				return nil
			}
			if ctx.Err() != nil {
				return err
			}
		}
	})
	return longest, err
}

// healthy returns an error if a server does not report itself current in all its streams.
func healthy(ctx context.Context, s *natstest.Server) error {
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+s.Monitor+"/healthz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(strings.ToLower(resp.Status))
	}
	return nil
}
