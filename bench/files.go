package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"pennypost/bench/drive"
	"pennypost/internal/base/durable"
)

// letter is a message as the simplest programs write it.
type letter struct {
	From string    `json:"from"`
	To   string    `json:"to"`
	Sent time.Time `json:"sent"`
	Body string    `json:"body"`
}

// startRawFile measures the disk: lines of one file, each written and synced by itself.
func startRawFile(_ *bench, dir string) (worker, error) {
	f, err := os.OpenFile(filepath.Join(dir, "mail.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	open := func(name string) (drive.Client, error) { return &rawClient{name: name, mu: &mu, file: f}, nil }
	return inProcess{open, func() { f.Close() }}, nil
}

type rawClient struct {
	cannotRead
	name string
	mu   *sync.Mutex
	file *os.File
}

func (c *rawClient) Send(to, body string) error {
	line, err := json.Marshal(letter{c.name, to, time.Now(), body})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.file.Write(append(line, '\n')); err != nil {
		return err
	}
	return durable.SyncData(c.file)
}

// cannotRead is the reading half of a client for a yardstick of writing.
type cannotRead struct{}

func (cannotRead) Receive() error     { return errors.ErrUnsupported }
func (cannotRead) Look() (int, error) { return 0, errors.ErrUnsupported }
func (cannotRead) Close() error       { return nil }

// startRewrite does the same as agents' clients do with a team's inbox: take the lock, read the array, and write all
// of it to a new file that replaces the old one. Each mailbox already has a thousand messages, except the one for
// Look.
func startRewrite(_ *bench, dir string) (worker, error) {
	old := make([]letter, 1000)
	for i := range old {
		old[i] = letter{"before", "sink", time.Now(), drive.Body}
	}
	c := &rewriteClient{dir: dir, name: "before"}
	if err := c.write("sink", old); err != nil {
		return nil, err
	}
	open := func(name string) (drive.Client, error) { return &rewriteClient{dir: dir, name: name}, nil }
	return inProcess{open, func() {}}, nil
}

type rewriteClient struct{ dir, name string }

func (c *rewriteClient) path(name string) string { return filepath.Join(c.dir, name+".json") }

func (c *rewriteClient) read(name string) (all []letter, err error) {
	text, err := os.ReadFile(c.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	return all, err
}

func (c *rewriteClient) write(name string, all []letter) error {
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return durable.WriteFile(c.path(name), text, 0o600)
}

func (c *rewriteClient) Send(to, body string) error {
	lock := flock.New(c.path(to) + ".lock")
	if err := lock.Lock(); err != nil {
		return err
	}
	defer lock.Close()
	all, err := c.read(to)
	if err != nil {
		return err
	}
	return c.write(to, append(all, letter{c.name, to, time.Now(), body}))
}

// Receive is unsupported: it would need polling.
func (c *rewriteClient) Receive() error { return errors.ErrUnsupported }

func (c *rewriteClient) Look() (int, error) {
	all, err := c.read(c.name)
	return len(all), err
}

func (c *rewriteClient) Close() error { return nil }

// startMaildir writes one file per message.
func startMaildir(_ *bench, dir string) (worker, error) {
	var n atomic.Int64
	open := func(name string) (drive.Client, error) {
		return &maildirClient{dir: dir, name: name, n: &n}, nil
	}
	return inProcess{open, func() {}}, nil
}

type maildirClient struct {
	dir, name string
	n         *atomic.Int64
}

func (c *maildirClient) Send(to, body string) error {
	name := fmt.Sprintf("%d.%d", time.Now().UnixNano(), c.n.Add(1))
	for _, part := range []string{"tmp", "new"} {
		if err := os.MkdirAll(filepath.Join(c.dir, to, part), 0o700); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("From: %s\nTo: %s\nDate: %s\n\n%s", c.name, to, time.Now().Format(time.RFC1123Z), body)
	tmp := filepath.Join(c.dir, to, "tmp", name)
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.WriteString(text); err == nil {
		err = durable.SyncData(f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp, filepath.Join(c.dir, to, "new", name))
	}
	if err != nil {
		return err
	}
	return durable.SyncDir(filepath.Join(c.dir, to, "new"))
}

// Receive is unsupported: it needs a watch on the directory, which Maildir does not have.
func (c *maildirClient) Receive() error { return errors.ErrUnsupported }

func (c *maildirClient) Look() (n int, err error) {
	fresh := filepath.Join(c.dir, c.name, "new")
	files, err := os.ReadDir(fresh)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	for _, file := range files {
		if _, err := os.ReadFile(filepath.Join(fresh, file.Name())); err != nil {
			return n, err
		}
		n++
	}
	return n, err
}

func (c *maildirClient) Close() error { return nil }
