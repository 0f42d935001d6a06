// Package drive puts work on a messaging system and measures the time.
package drive

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Client is one user of a system, over its own connection. Unsupported methods return errors.ErrUnsupported.
type Client interface {
	// Send returns when the message is durable: after an fdatasync, or the system's equivalent.
	Send(to, body string) error
	// Receive waits for a message to the client that it has not returned yet.
	Receive() error
	// Look fetches all messages waiting for the client, leaves them there, and returns their number.
	Look() (int, error)
	Close() error
}

// Open connects a client under a name, which is also its mailbox.
type Open func(name string) (Client, error)

// Work is a kind of work.
type Work string

// The kinds of work.
const (
	Send     Work = "send"     // each of Senders sends its next message after the answer to the last
	Handover Work = "handover" // from the beginning of a send until a waiting reader has it
	Look     Work = "look"     // fetch Waiting messages
)

// Waiting is the number of messages that Look finds.
const Waiting = 20

// Body is the text of each message. With a system's other fields it makes a line of about 600 bytes.
var Body = strings.Repeat("The parser is done and tested. ", 13)

// Job is work for a limited time.
type Job struct {
	Work    Work
	Senders int // for Send
	Lasting time.Duration
}

// Result is a system's result for a job.
type Result struct {
	Times int           // number of operations
	Took  time.Duration // all of them together
	P50   time.Duration // median of one operation
	P99   time.Duration
}

// Rate returns the operations per second.
func (r Result) Rate() float64 { return float64(r.Times) / r.Took.Seconds() }

// Do does the job on a system.
func (j Job) Do(open Open) (Result, error) {
	switch j.Work {
	case Send:
		return j.send(open)
	case Handover:
		return j.handover(open)
	case Look:
		return j.look(open)
	}
	return Result{}, fmt.Errorf("%q is no work", j.Work)
}

func (j Job) send(open Open) (Result, error) {
	clients := make([]Client, j.Senders)
	for i := range clients {
		c, err := open(fmt.Sprint("sender", i))
		if err != nil {
			return Result{}, err
		}
		defer c.Close()
		clients[i] = c
	}
	took := make([][]time.Duration, j.Senders)
	failed := make([]error, j.Senders)
	var over atomic.Bool
	var running sync.WaitGroup
	began := time.Now()
	for i, c := range clients {
		running.Go(func() {
			for !over.Load() && failed[i] == nil {
				start := time.Now()
				failed[i] = c.Send("sink", Body)
				took[i] = append(took[i], time.Since(start))
			}
		})
	}
	time.Sleep(j.Lasting)
	over.Store(true)
	running.Wait()
	return result(slices.Concat(took...), time.Since(began)), errors.Join(failed...)
}

// settle is how long the reader waits before a message is sent.
const settle = 2 * time.Millisecond

func (j Job) handover(open Open) (Result, error) {
	reader, err := open("reader")
	if err != nil {
		return Result{}, err
	}
	defer reader.Close()
	writer, err := open("sender0")
	if err != nil {
		return Result{}, err
	}
	defer writer.Close()
	var took []time.Duration
	began := time.Now()
	for time.Since(began) < j.Lasting {
		type end struct {
			at  time.Time
			err error
		}
		received := make(chan end, 1)
		go func() {
			err := reader.Receive()
			received <- end{time.Now(), err}
		}()
		select {
		case e := <-received:
			return Result{}, fmt.Errorf("received before anything was sent: %w", e.err)
		case <-time.After(settle):
		}
		start := time.Now()
		if err := writer.Send("reader", Body); err != nil {
			return Result{}, err
		}
		e := <-received
		if e.err != nil {
			return Result{}, e.err
		}
		took = append(took, e.at.Sub(start))
	}
	return result(took, time.Since(began)), nil
}

func (j Job) look(open Open) (Result, error) {
	reader, err := open("looker")
	if err != nil {
		return Result{}, err
	}
	defer reader.Close()
	n, err := reader.Look()
	if err != nil {
		return Result{}, err
	}
	writer, err := open("sender0")
	if err != nil {
		return Result{}, err
	}
	defer writer.Close()
	for ; n < Waiting; n++ {
		if err := writer.Send("looker", Body); err != nil {
			return Result{}, err
		}
	}
	var took []time.Duration
	began := time.Now()
	for time.Since(began) < j.Lasting {
		start := time.Now()
		n, err := reader.Look()
		if err != nil {
			return Result{}, err
		}
		if n != Waiting {
			return Result{}, fmt.Errorf("found %d messages instead of %d", n, Waiting)
		}
		took = append(took, time.Since(start))
	}
	return result(took, time.Since(began)), nil
}

func result(took []time.Duration, all time.Duration) Result {
	slices.Sort(took)
	n := len(took)
	return Result{Times: n, Took: all, P50: took[n/2], P99: took[n*99/100]}
}

// Answer is a Result from another process.
type Answer struct {
	Result      Result
	Error       string
	Unsupported bool // the error is errors.ErrUnsupported
}
