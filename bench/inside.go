package main

import (
	"context"

	"pennypost/bench/drive"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/jsonl"
	"pennypost/internal/room/mailroom"
)

// startJournal is the journal alone, with its group commit.
func startJournal(_ *bench, dir string) (worker, error) {
	j, err := jsonl.Open(dir, jsonl.Options{})
	if err != nil {
		return nil, err
	}
	open := func(name string) (drive.Client, error) { return journalClient{journal: j, from: name}, nil }
	return inProcess{open, func() { j.Close() }}, nil
}

type journalClient struct {
	cannotRead
	journal journal.Journal
	from    string
}

func (c journalClient) Send(to, body string) error {
	_, err := c.journal.Append(context.Background(), mail.Event{At: 1, Message: &mail.Message{ID: mail.NewUUID(),
		Type: mail.Custom, From: mail.AgentAddress(mail.Name(c.from)),
		To: []mail.Address{mail.AgentAddress(mail.Name(to))}, Body: body}})
	return err
}

// unlimited removes the limits on agents' sends, which the jobs would reach immediately.
var unlimited = policy.Limits{RepeatWindow: -1, PerMinute: -1, Exchanges: -1}

// startRoom is a room as the post office opens it, without doors.
func startRoom(_ *bench, dir string) (worker, error) {
	j, err := jsonl.Open(dir, jsonl.Options{})
	if err != nil {
		return nil, err
	}
	room, err := mailroom.Open(context.Background(), "bench", j, mailroom.Options{Limits: unlimited})
	if err != nil {
		return nil, err
	}
	end := runRoom(room)
	open := func(name string) (drive.Client, error) {
		_, err := room.As(mail.User).Register(context.Background(), mail.Presence{Name: mail.Name(name)})
		return &roomClient{room: room.As(mail.Name(name))}, err
	}
	for _, name := range mailboxes {
		if _, err := open(name); err != nil {
			end()
			return nil, err
		}
	}
	return inProcess{open, end}, nil
}

// runRoom does a room's background work until end is called, which closes the room.
func runRoom(room *mailroom.Room) (end func()) {
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		_ = room.Run(ctx)
	}()
	return func() { stop(); <-ran; room.Close() }
}

// mailboxes are the mailboxes that the jobs write to.
var mailboxes = []string{"sink", "reader", "looker"}

type roomClient struct {
	room mail.Service
	last mail.Seq
}

func (c *roomClient) Send(to, body string) error {
	_, err := c.room.Send(context.Background(), mail.Draft{To: mail.Recipients{to}, Body: body})
	return err
}

func (c *roomClient) Receive() error {
	if c.last == 0 {
		st, err := c.room.Status(context.Background())
		if err != nil {
			return err
		}
		c.last = st.Seq
	}
	it, err := c.room.Wait(context.Background(), mail.WaitQuery{After: c.last})
	c.last = it.Seq
	return err
}

func (c *roomClient) Look() (int, error) {
	page, err := c.room.Inbox(context.Background(), mail.InboxQuery{})
	return len(page.Messages), err
}

func (c *roomClient) Close() error { return nil }
