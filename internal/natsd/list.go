package natsd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/base/pause"
	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// Location of the list of machines.
const (
	listStream  = "members"
	listSubject = "members.list"
	// removedSubject, followed by the pin of a machine, is where that machine is told that it was removed.
	removedSubject = "cluster.removed."
)

const (
	// maxMembers is the largest number that still decides well together; rooms are on three of them.
	maxMembers = 9
	maxGone    = 1000
	// listEvery is how often the list is read without news of a change.
	listEvery = 5 * time.Second
	// comparePoll is the retry interval while the servers do not have the list, or do not decide.
	comparePoll = 100 * time.Millisecond
	// readPatience is the servers' time limit for reading. Without a leader they do not answer.
	readPatience = time.Second
	// listPatience is their time limit for a change.
	listPatience = 5 * time.Second
)

// list is the list of machines as the servers have it.
type list struct {
	ID       string          `json:"id"`
	Revision uint64          `json:"revision"` // incremented with each change
	Members  []config.Member `json:"members"`
	// Gone are the names of removed machines, which cannot be reused: the servers keep them out.
	Gone []mail.Machine `json:"gone,omitempty"`
}

// copied returns this machine's copy of the list.
func copied(c *config.Cluster) *list {
	return &list{ID: c.ID, Revision: c.Revision, Members: slices.Clone(c.Members), Gone: slices.Clone(c.Gone)}
}

// read returns the list, and its sequence number in the stream, from the leader. Nil: no server has it.
func (d *daemon) read(ctx context.Context) (*list, uint64, error) {
	s, err := d.js.Stream(ctx, listStream)
	var msg *jetstream.RawStreamMsg
	if err == nil {
		msg, err = s.GetLastMsgForSubject(ctx, listSubject)
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	l := new(list)
	if err := json.Unmarshal(msg.Data, l); err != nil {
		return nil, 0, err
	}
	for i := range l.Members {
		err = errors.Join(err, config.CheckMember(&l.Members[i]))
	}
	return l, msg.Sequence, err
}

// put writes the list after a sequence number of the stream; if that is 0, it creates the stream if necessary.
func (d *daemon) put(ctx context.Context, l *list, place uint64) error {
	if place == 0 {
		if _, err := d.js.CreateStream(ctx, jetstream.StreamConfig{Name: listStream,
			Subjects: []string{listSubject}, MaxMsgsPerSubject: 8, Storage: jetstream.FileStorage, Replicas: 1,
			Description: "the machines of a cluster of " +
				"Pennypost"}); err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return fmt.Errorf("create the list of machines: %w", err)
		}
	}
	text, err := json.Marshal(l)
	if err == nil {
		_, err = d.js.Publish(ctx, listSubject, text, jetstream.WithExpectLastSequencePerSubject(place))
	}
	return err
}

// update changes the current list, and makes this machine follow it. While this machine is alone, its copy is the
// list. A removed machine is told before it is cut off.
func (d *daemon) update(ctx context.Context, change func(*list) error) (*list, error) {
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	for {
		alone := len(d.cluster.Load().Members) == 1
		l, place := copied(d.cluster.Load()), uint64(0)
		var err error
		if !alone {
			if l, place, err = d.read(ctx); err == nil && l == nil {
				if pause.For(ctx, comparePoll) {
					continue // the second machine has just joined
				}
				err = ctx.Err()
			}
		}
		if err == nil {
			if err := change(l); err != nil {
				return nil, err
			}
			l.Revision++
			slices.SortFunc(l.Members, func(a, b config.Member) int {
				return strings.Compare(string(a.Machine), string(b.Machine))
			})
			if alone {
				return l, d.apply(l)
			}
			err = d.put(ctx, l, place)
		}
		if late(err) {
			continue // another machine was first
		}
		if err != nil {
			return nil, &mail.Error{Code: mail.Unavailable, Err: err, Msg: "the cluster's servers accept no " +
				"change: more than half of them must be running (" + err.Error() + "). Nothing was changed"}
		}
		d.tellRemoved(ctx, l)
		return l, d.apply(l)
	}
}

// tellRemoved sends a list to the machines that were removed by it, and to one that is alone on it: neither could
// read it. A machine that is away is not told.
func (d *daemon) tellRemoved(ctx context.Context, l *list) {
	text, err := json.Marshal(l)
	if err != nil {
		return
	}
	now := config.Cluster{Members: l.Members}
	for _, m := range d.cluster.Load().Members {
		if now.Knows(m.Pin()) && len(l.Members) > 1 || m.Pin() == d.pin() {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		if _, err := d.node.members.RequestWithContext(ctx, removedSubject+m.Pin().String(), text); err != nil {
			d.log.Info("removed machine not told", "machine", m.Machine, "err", err)
		}
		cancel()
	}
}

// hearRemoved handles the news that this machine was removed, or is alone.
func (d *daemon) hearRemoved(msg *natsMsg) {
	var l list
	if json.Unmarshal(msg.Data, &l) == nil {
		_ = msg.Respond(nil)
		_ = d.node.members.Flush()
		if err := d.apply(&l); err != nil {
			d.log.Error("removal of this machine not recorded", "err", err)
		}
	}
}

// late reports whether another write came first.
func late(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}

// apply makes this machine follow a list that is newer than its own.
func (d *daemon) apply(l *list) error {
	d.applying.Lock()
	defer d.applying.Unlock()
	old := d.cluster.Load()
	if l.ID != old.ID || l.Revision <= old.Revision {
		return nil
	}
	c := *old
	c.Revision, c.Members, c.Gone = l.Revision, l.Members, l.Gone
	me := c.Member(c.Machine)
	c.Removed = me == nil || me.Pin() != d.pin()
	err := c.Write(d.home)
	d.cluster.Store(&c)
	switch {
	case c.Removed:
		d.log.Warn("this machine was removed from its cluster")
		d.stop()
		return err
	case err != nil && len(old.Members) == 1:
		d.cluster.Store(old) // no one else has it
		return &mail.Error{Code: mail.Unavailable, Err: err,
			Msg: "cannot write the list of machines: " + err.Error()}
	case err != nil:
		d.log.Warn("list of machines not written", "err", err) // it will be read from the servers again
	case len(c.Members) == 1:
		d.log.Info("this machine is the only one of its cluster; the server starts again when needed")
		d.stop()
		return nil
	}
	if err := d.node.reload(&c); err != nil {
		return err
	}
	d.changed.Give()
	return nil
}

// follow keeps the copy here equal to the list on the servers until ctx ends.
func (d *daemon) follow(ctx context.Context) {
	heard := make(chan struct{}, 1)
	sub, err := d.node.members.Subscribe(listSubject, func(*natsMsg) {
		select {
		case heard <- struct{}{}:
		default:
		}
	})
	if err != nil {
		d.log.Error("changes of the list of machines not heard", "err", err)
	} else {
		defer func() { _ = sub.Unsubscribe() }()
	}
	if _, err := d.node.members.Subscribe(removedSubject+d.pin().String(), d.hearRemoved); err != nil {
		d.log.Error("removal of this machine not heard", "err", err)
	}
	for {
		asked, cancel := context.WithTimeout(ctx, readPatience)
		wait := listEvery
		if err := d.compare(asked); err != nil && ctx.Err() == nil {
			d.log.Debug("list of machines not followed", "err", err)
			wait = comparePoll
		}
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		case <-heard:
		}
	}
}

// compare adopts the list on the servers. If that is older, or there is none because the second machine has just
// joined, it writes this machine's copy.
func (d *daemon) compare(ctx context.Context) error {
	if len(d.cluster.Load().Members) == 1 {
		return nil
	}
	l, place, err := d.read(ctx)
	if err != nil {
		return err
	}
	if mine := copied(d.cluster.Load()); l == nil || l.Revision < mine.Revision {
		if err := d.put(ctx, mine, place); !late(err) {
			return err
		}
		return nil
	}
	return d.apply(l)
}

// taken waits until the servers decide, and this machine is on their list.
func (d *daemon) taken(ctx context.Context) error {
	for {
		asked, cancel := context.WithTimeout(ctx, readPatience)
		l, _, err := d.read(asked)
		cancel()
		if err == nil && l != nil && d.node.server.JetStreamIsCurrent() && l.Revision >= d.cluster.Load().Revision {
			return nil
		}
		if !pause.For(ctx, comparePoll) {
			return errors.Join(err, ctx.Err())
		}
	}
}
