// Machines measures slow operations with rooms on NATS servers: how long a post office takes to open a room of many
// messages, from its copy and from the servers alone, and for how long the room takes no mail when the server that
// leads its stream fails. bench compares sends. It starts three servers on this machine.
//
//	go run ./bench/machines
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"pennypost/bench/drive"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
	"pennypost/internal/room/mailroom"
)

func main() {
	messages := flag.Int("messages", 100_000, "in the room that is opened")
	rounds := flag.Int("rounds", 3, "how often a server fails")
	dir := flag.String("dir", os.TempDir(), "where servers and rooms may write: on the disk that is to be measured")
	flag.Parse()
	if err := run(*dir, *messages, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "machines:", err)
		os.Exit(1)
	}
}

func run(dir string, messages, rounds int) error {
	dir, err := os.MkdirTemp(dir, "ppmachines")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	servers, err := natstest.New(filepath.Join(dir, "nats"), 3, natstest.Options{})
	if err != nil {
		return err
	}
	defer servers.Stop()
	c, err := jetstream.Connect(context.Background(), jetstream.Config{URLs: servers.URLs()})
	if err != nil {
		return err
	}
	defer c.Close()
	b := &bench{servers: servers, cluster: c, dir: dir}
	if err := b.fill(messages); err != nil {
		return fmt.Errorf("fill a room: %w", err)
	}
	if err := b.opening(); err != nil {
		return fmt.Errorf("open it: %w", err)
	}
	for _, end := range []struct {
		how string
		do  func(*natstest.Server)
	}{{"kill -9", (*natstest.Server).Kill}, {"shut down in peace", (*natstest.Server).Shut}} {
		for range rounds {
			if err := b.failing(end.how, end.do); err != nil {
				return fmt.Errorf("%s: %w", end.how, err)
			}
		}
	}
	return nil
}

type bench struct {
	servers *natstest.Cluster
	cluster *jetstream.Cluster
	dir     string
}

// The room, and its sender and reader.
const (
	room   = "large"
	sender = mail.Name("sender")
	reader = mail.Name("reader")
)

// open opens the room with its copy in a directory, and returns the function that closes it.
func (b *bench) open(copy string) (*mailroom.Room, func() error, error) {
	j, err := b.cluster.Open(context.Background(), room, filepath.Join(b.dir, copy), jsonl.Options{})
	if err != nil {
		return nil, nil, err
	}
	r, err := mailroom.Open(context.Background(), room, j, mailroom.Options{Machine: mail.Machine(copy),
		Retention: policy.Retention{Age: -1, Count: -1},
		Limits:    policy.Limits{RepeatWindow: -1, PerMinute: -1, Exchanges: -1}})
	if err != nil {
		return nil, nil, errors.Join(err, j.Close())
	}
	return r, r.Close, nil
}

// fill fills the room from 64 senders.
func (b *bench) fill(messages int) error {
	r, end, err := b.open("first")
	if err != nil {
		return err
	}
	for _, name := range []mail.Name{sender, reader} {
		if _, err := r.As(mail.User).Register(context.Background(), mail.Presence{Name: name}); err != nil {
			return errors.Join(err, end())
		}
	}
	began := time.Now()
	var left atomic.Int64
	left.Store(int64(messages))
	var sending sync.WaitGroup
	failed := make([]error, 64)
	for i := range failed {
		sending.Go(func() {
			for left.Add(-1) >= 0 && failed[i] == nil {
				failed[i] = send(r)
			}
		})
	}
	sending.Wait()
	fmt.Printf("%d messages by 64 senders: %.1f s\n", messages, time.Since(began).Seconds())
	return errors.Join(errors.Join(failed...), end())
}

func send(r *mailroom.Room) error {
	_, err := r.As(sender).Send(context.Background(), mail.Draft{To: mail.Recipients{string(reader)},
		Body: drive.Body})
	return err
}

// opening opens the room three times with a copy, and three times without.
func (b *bench) opening() error {
	for i := range 3 {
		for _, from := range []struct{ what, dir string }{{"its copy", "first"},
			{"the servers alone", fmt.Sprint("new", i)}} {
			began := time.Now()
			_, end, err := b.open(from.dir)
			if err != nil {
				return err
			}
			fmt.Printf("opened from %s: %.2f s\n", from.what, time.Since(began).Seconds())
			if err := end(); err != nil {
				return err
			}
		}
	}
	return nil
}

// failing ends the server that leads the room's stream, and sends until that works again. It does not distinguish a
// send that may have been stored from one that was not: the next one is answered as soon as there is a leader.
func (b *bench) failing(how string, do func(*natstest.Server)) error {
	r, end, err := b.open("first")
	if err != nil {
		return err
	}
	defer end()
	if err := send(r); err != nil {
		return err
	}
	s, err := b.leader()
	if err != nil {
		return err
	}
	began, refused := time.Now(), 0
	do(s)
	for err := send(r); err != nil; err = send(r) {
		if refused++; time.Since(began) > time.Minute {
			return fmt.Errorf("no mail was taken for a minute: %w", err)
		}
	}
	fmt.Printf("%s: mail is taken again after %.2f s; %d sends were refused before\n", how,
		time.Since(began).Seconds(),
		refused)
	if err := s.Start(); err != nil {
		return err
	}
	return b.servers.Ready(time.Minute)
}

// leader returns the server that leads the room's stream.
func (b *bench) leader() (*natstest.Server, error) {
	conn, err := nats.Connect(strings.Join(b.servers.URLs(), ","))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	js, err := natsjs.New(conn)
	if err != nil {
		return nil, err
	}
	list := js.ListStreams(context.Background())
	largest := &natsjs.StreamInfo{}
	for s := range list.Info() {
		if s.State.Msgs > largest.State.Msgs {
			largest = s
		}
	}
	i := slices.IndexFunc(b.servers.Servers, func(s *natstest.Server) bool {
		return largest.Cluster != nil && s.Name == largest.Cluster.Leader
	})
	if i < 0 {
		return nil, errors.Join(errors.New("nobody leads the stream"), list.Err())
	}
	return b.servers.Servers[i], nil
}
