package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"pennypost/bench/drive"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
	"pennypost/internal/room/mailroom"
)

// servers returns the three NATS servers on this machine that the systems needing them share.
func (b *bench) servers() (*natstest.Cluster, error) {
	if b.nats != nil {
		return b.nats, nil
	}
	if _, err := natstest.Program(); err != nil {
		return nil, fmt.Errorf("%w: %w", errAbsent, err)
	}
	var err error
	b.nats, err = natstest.New(filepath.Join(b.dir, "nats"), 3, natstest.Options{})
	return b.nats, err
}

// connect connects a post office to the servers.
func (b *bench) connect() (*jetstream.Cluster, error) {
	servers, err := b.servers()
	if err != nil {
		return nil, err
	}
	return jetstream.Connect(context.Background(), jetstream.Config{URLs: servers.URLs()})
}

// startPublish measures the servers alone: each message is published after the acknowledgement of the last, all over
// one connection, as a post office does it.
func startPublish(b *bench, _ string) (worker, error) {
	servers, err := b.servers()
	if err != nil {
		return nil, err
	}
	conn, err := nats.Connect(strings.Join(servers.URLs(), ","))
	if err != nil {
		return nil, err
	}
	js, err := natsjs.New(conn)
	if err == nil {
		_, err = js.CreateStream(context.Background(),
			natsjs.StreamConfig{Name: "publish", Subjects: []string{"publish"},
				Replicas: 3, AllowAtomicPublish: true})
	}
	open := func(string) (drive.Client, error) { return publisher{js: js}, nil }
	return inProcess{open, conn.Close}, err
}

type publisher struct {
	cannotRead
	js natsjs.JetStream
}

func (p publisher) Send(_, body string) error {
	// An event's other fields are about as long as the text.
	_, err := p.js.Publish(context.Background(), "publish", []byte(body+body[:200]), natsjs.WithMsgID(rand.Text()))
	return err
}

// startStream is the journal on the servers.
func startStream(b *bench, dir string) (worker, error) {
	c, err := b.connect()
	if err != nil {
		return nil, err
	}
	j, err := c.Open(context.Background(), "journal", dir, jsonl.Options{})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	open := func(name string) (drive.Client, error) { return journalClient{journal: j, from: name}, nil }
	return inProcess{open, func() { j.Close(); c.Close() }}, nil
}

// startStreamRoom is a room with that journal, on one machine.
func startStreamRoom(b *bench, dir string) (worker, error) {
	one, err := b.machine("one", "alone", dir)
	if err != nil {
		return nil, err
	}
	return inProcess{one.client, one.close}, nil
}

// startTwoMachines is a room that two post offices have open: the reader is at another than the sender.
func startTwoMachines(b *bench, dir string) (worker, error) {
	one, err := b.machine("one", "both", filepath.Join(dir, "one"))
	if err != nil {
		return nil, err
	}
	two, err := b.machine("two", "both", filepath.Join(dir, "two"))
	if err != nil {
		one.close()
		return nil, err
	}
	open := func(name string) (drive.Client, error) {
		if strings.HasPrefix(name, "sender") {
			return one.client(name)
		}
		return two.client(name)
	}
	return inProcess{open, func() { two.close(); one.close() }}, nil
}

// machine is one post office's part of a room on the servers.
type machine struct {
	room  *mailroom.Room
	close func()
}

func (b *bench) machine(name mail.Machine, room, dir string) (*machine, error) {
	c, err := b.connect()
	if err != nil {
		return nil, err
	}
	j, err := c.Open(context.Background(), room, dir, jsonl.Options{})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	r, err := mailroom.Open(context.Background(), mail.RoomName(room), j,
		mailroom.Options{Limits: unlimited, Machine: name})
	if err != nil {
		return nil, errors.Join(err, j.Close(), c.Close())
	}
	end := runRoom(r)
	m := &machine{r, func() { end(); c.Close() }}
	for _, box := range mailboxes {
		if _, err := m.client(box); err != nil {
			m.close()
			return nil, err
		}
	}
	return m, nil
}

// client registers an agent on the machine.
func (m *machine) client(name string) (drive.Client, error) {
	_, err := m.room.As(mail.User).Register(context.Background(), mail.Presence{Name: mail.Name(name)})
	return &roomClient{room: m.room.As(mail.Name(name))}, err
}
