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

// Where the list of machines is.
const (
	listStream  = "members"
	listSubject = "members.list"
	// removedSubject, before the pin of a machine, is where it is told that it was removed.
	removedSubject = "cluster.removed."
)

const (
	// maxMembers is as many as decide together well; rooms are on three of them.
	maxMembers = 9
	maxGone    = 1000
	// listEvery is how often the list is read though nothing was heard of a change.
	listEvery = 5 * time.Second
	// comparePoll is how often it is tried while the servers do not have it, or do not decide.
	comparePoll = 100 * time.Millisecond
	// readPatience is how long the servers have for it. Without a leader they do not answer.
	readPatience = time.Second
	// listPatience is how long they have to change it.
	listPatience = 5 * time.Second
)

// list is the list of machines as the servers have it.
type list struct {
	ID       string          `json:"id"`
	Revision uint64          `json:"revision"` // one more with each change
	Members  []config.Member `json:"members"`
	// Gone are the names of machines that were removed, by which no other can come: the servers keep them out.
	Gone []mail.Machine `json:"gone,omitempty"`
}

// copied is what this machine knows of the list.
func copied(c *config.Cluster) *list {
	return &list{ID: c.ID, Revision: c.Revision, Members: slices.Clone(c.Members), Gone: slices.Clone(c.Gone)}
}

// read returns the list, and its place in the stream, as the server has it that leads. Nil: it is on no server.
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

// put writes the list behind a place in the stream, which is made if it is not there.
func (d *daemon) put(ctx context.Context, l *list, place uint64) error {
	if place == 0 {
		if _, err := d.js.CreateStream(ctx, jetstream.StreamConfig{Name: listStream,
			Subjects: []string{listSubject}, MaxMsgsPerSubject: 8, Storage: jetstream.FileStorage, Replicas: 1,
			Description: "the machines of a cluster of " +
				"Pennypost"}); err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return fmt.Errorf("make the list of machines: %w", err)
		}
	}
	text, err := json.Marshal(l)
	if err == nil {
		_, err = d.js.Publish(ctx, listSubject, text, jetstream.WithExpectLastSequencePerSubject(place))
	}
	return err
}

// update changes the list, as whatever it is by then, and has this machine follow it. As long as this machine is the
// only one, its copy is the list. A machine that is taken off it is told so before it is cut off.
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
					continue // the second machine has just come
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
			continue // somebody else was there first
		}
		if err != nil {
			return nil, &mail.Error{Code: mail.Unavailable, Err: err, Msg: "the servers of the cluster take no " +
				"change: more than half of them have to be there (" + err.Error() + "). Nothing was changed"}
		}
		d.tellRemoved(ctx, l)
		return l, d.apply(l)
	}
}

// tellRemoved sends a list to those who were on the one before, and to one that is alone on it: neither could read it.
// One that is away is not told.
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
			d.log.Info("a machine was not told that it is removed", "machine", m.Machine, "err", err)
		}
		cancel()
	}
}

// hearRemoved takes in that this machine was removed, or is alone.
func (d *daemon) hearRemoved(msg *natsMsg) {
	var l list
	if json.Unmarshal(msg.Data, &l) == nil {
		_ = msg.Respond(nil)
		_ = d.node.members.Flush()
		if err := d.apply(&l); err != nil {
			d.log.Error("not noted that this machine was removed", "err", err)
		}
	}
}

// late reports whether a write came after another one.
func late(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}

// apply has this machine follow a list that is newer than the one that it has.
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
		d.cluster.Store(old) // nobody else has it
		return &mail.Error{Code: mail.Unavailable, Err: err,
			Msg: "the list of machines cannot be written: " + err.Error()}
	case err != nil:
		d.log.Warn("list of machines not written", "err", err) // it is read from the servers again
	case len(c.Members) == 1:
		d.log.Info("this machine is the only one of its cluster; the server begins anew when it is needed")
		d.stop()
		return nil
	}
	if err := d.node.reload(&c); err != nil {
		return err
	}
	d.changed.Give()
	return nil
}

// follow keeps the list here like that on the servers until ctx ends.
func (d *daemon) follow(ctx context.Context) {
	heard := make(chan struct{}, 1)
	sub, err := d.node.members.Subscribe(listSubject, func(*natsMsg) {
		select {
		case heard <- struct{}{}:
		default:
		}
	})
	if err != nil {
		d.log.Error("changes of the list of machines are not heard", "err", err)
	} else {
		defer func() { _ = sub.Unsubscribe() }()
	}
	if _, err := d.node.members.Subscribe(removedSubject+d.pin().String(), d.hearRemoved); err != nil {
		d.log.Error("a removal of this machine is not heard", "err", err)
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

// compare takes over the list that is on the servers. If what is there is older, or nothing, as when the second
// machine has just come, it writes what this one has.
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
