package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/bench/drive"
)

// serveNATS runs a NATS server that syncs each message, on a port that it prints, until its input ends.
func serveNATS(dir string) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true,
		StoreDir: dir, SyncAlways: true, NoSigs: true, NoLog: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		os.Exit(1)
	}
	fmt.Println(s.ClientURL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
	s.WaitForShutdown()
}

// startJetStream starts a server in a process of its own and makes a stream of mailboxes.
func startJetStream(dir string) (drive.Open, func(), error) {
	cmd := exec.Command(os.Args[0], "nats-server", dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop := func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		err = makeStream(strings.TrimSpace(url))
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return func(name string) (drive.Client, error) { return connect(strings.TrimSpace(url), name) }, stop, nil
}

func makeStream(url string) error {
	c, err := connect(url, "maker")
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.js.CreateStream(context.Background(), jetstream.StreamConfig{Name: "MAIL", Subjects: []string{"mail.>"},
		Storage: jetstream.FileStorage})
	return err
}

type natsClient struct {
	name     string
	conn     *nats.Conn
	js       jetstream.JetStream
	messages jetstream.MessagesContext // set by the first Receive
}

func connect(url, name string) (*natsClient, error) {
	conn, err := nats.Connect(url)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn)
	return &natsClient{name: name, conn: conn, js: js}, err
}

func (c *natsClient) Send(to, body string) error {
	_, err := c.js.Publish(context.Background(), "mail."+to, []byte(body))
	return err
}

// Receive returns messages that arrive after its first call.
func (c *natsClient) Receive() error {
	if c.messages == nil {
		consumer, err := c.js.CreateConsumer(context.Background(), "MAIL", jetstream.ConsumerConfig{
			FilterSubject: "mail." + c.name, DeliverPolicy: jetstream.DeliverNewPolicy,
			AckPolicy: jetstream.AckExplicitPolicy})
		if err != nil {
			return err
		}
		if c.messages, err = consumer.Messages(); err != nil {
			return err
		}
	}
	m, err := c.messages.Next()
	if err != nil {
		return err
	}
	return m.Ack()
}

// Look creates a consumer and deletes it again: a permanent one would not get the same messages twice.
func (c *natsClient) Look() (n int, err error) {
	ctx := context.Background()
	waiting, err := c.js.CreateConsumer(ctx, "MAIL", jetstream.ConsumerConfig{FilterSubject: "mail." + c.name,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true})
	if err != nil {
		return 0, err
	}
	batch, err := waiting.FetchNoWait(drive.Waiting)
	if err != nil {
		return 0, err
	}
	for range batch.Messages() {
		n++
	}
	return n, errors.Join(batch.Error(), c.js.DeleteConsumer(ctx, "MAIL", waiting.CachedInfo().Name))
}

func (c *natsClient) Close() error {
	if c.messages != nil {
		c.messages.Stop()
	}
	c.conn.Close()
	return nil
}
