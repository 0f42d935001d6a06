package natsd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

const (
	// removePatience is the time limit for moving a machine's streams to others.
	removePatience = 10 * time.Minute
	// steadyPatience is how long a stream may be without a leader, which happens briefly when it moves.
	steadyPatience = 15 * time.Second
	// notAMember is the servers' error code for a server that is not a member.
	notAMember = 10044
)

// mayRemove returns an error if the removal of a machine could stop mail. The servers do not check that.
func (s *state) mayRemove(name mail.Machine) error {
	n, left := len(s.members), s.ups(name)
	refused := func(format string, args ...any) error {
		return mail.Errorf(mail.Conflict, "%s was not removed: "+format, append([]any{name}, args...)...)
	}
	switch {
	case !slices.ContainsFunc(s.members, func(m config.Member) bool { return m.Machine == name }):
		return mail.Errorf(mail.NotFound, "no machine of the cluster is called %s; to list them: pennypost "+
			"cluster status", name)
	case s.ups("") < majority(n):
		return refused("of the %d machines only %d are running, which is not a majority. Start the servers of "+
			"the others first", n, s.ups(""))
	case n <= config.DefaultReplicas && slices.ContainsFunc(s.streams, func(x stream) bool { return x.isRoom() }):
		return refused("fewer than three machines would be left, and none of them could be away. Add another one "+
			"first (pennypost cluster invite), and then remove %s. To give the cluster up, first move its rooms "+
			"to files: pennypost rooms move ROOM --to file", name)
	case n <= config.DefaultReplicas:
		return nil
	case left < majority(n-1):
		return refused("of the %d others only %d are running, and mail would stop. Start their servers "+
			"first", n-1, left)
	}
	for i := range s.streams {
		x := &s.streams[i]
		all, current := x.servers()
		others := len(slices.DeleteFunc(slices.Clone(current), func(c string) bool { return c == string(name) }))
		switch {
		case len(current) < majority(max(len(all), x.copies)):
			return refused("%s has no majority of its servers at present", x.title())
		case slices.Contains(all, string(name)) && left < x.copies:
			return refused("%s needs %d servers, and only %d others are running. Start their servers, or add "+
				"another machine first", x.title(), x.copies, left)
		case slices.Contains(all, string(name)) && others == 0 && x.copies > 1:
			return refused("no other server has all of %s", x.title())
		}
	}
	return nil
}

// title returns a stream's name for a person.
func (s *stream) title() string {
	if s.name == listStream {
		return "the list of machines"
	}
	return "the stream " + s.name
}

// isRoom reports whether a stream has a room, and not a table of the post offices.
func (s *stream) isRoom() bool { return s.name != listStream && !strings.HasPrefix(s.name, "KV_") }

// remove removes a machine from the cluster, after moving its data to others.
func (d *daemon) remove(ctx context.Context, q wire.ClusterRemove) (st wire.ClusterStatus, err error) {
	d.acting.Lock()
	defer d.acting.Unlock()
	c, err := d.inCluster()
	if err != nil {
		return st, err
	}
	name := q.Machine
	if name == "" {
		name = c.Machine
	}
	if len(c.Members) == 1 && name == c.Machine {
		d.stop()
		return st, nil
	}
	s, err := d.steady(ctx)
	if err != nil {
		return st, &mail.Error{Code: mail.Unavailable, Err: err, Msg: fmt.Sprintf("%s was not removed: the "+
			"servers do not report where their data is (%v). More than half of them must be running", name, err)}
	}
	if err := s.mayRemove(name); err != nil {
		return st, err
	}
	ctx, cancel := context.WithTimeout(ctx, removePatience)
	defer cancel()
	if err := d.takeOut(ctx, name, len(s.members)); err != nil {
		return st, err
	}
	if _, err = d.update(ctx, func(l *list) error {
		l.Members = slices.DeleteFunc(l.Members, func(m config.Member) bool { return m.Machine == name })
		l.Gone = append(l.Gone, name)
		l.Gone = l.Gone[max(0, len(l.Gone)-maxGone):]
		return nil
	}); err != nil {
		return st, fmt.Errorf("the server of %s is removed, but its key is not void yet: %w. Run the command "+
			"again", name, err)
	}
	if name == c.Machine {
		return st, nil
	}
	return d.status(ctx, wire.None{})
}

// takeOut removes the server of a machine from n servers. Of two, the other one starts anew.
func (d *daemon) takeOut(ctx context.Context, name mail.Machine, n int) error {
	if n == 2 {
		return nil
	}
	if n > config.DefaultReplicas {
		if err := d.evacuate(ctx, string(name)); err != nil {
			return fmt.Errorf("%s is still in the cluster, and part of its data may be on others: %w. Run the "+
				"command again", name,
				err)
		}
	}
	err := api(ctx, d.node.system, "SERVER.REMOVE", map[string]string{"peer": string(name)}, nil)
	if e, ok := errors.AsType[*apiError](err); ok && e.Code == notAMember {
		return nil // an earlier removal was interrupted here
	}
	if err != nil {
		return fmt.Errorf("%s has no rooms any more, but is still in the cluster: %w. Run the command "+
			"again", name, err)
	}
	return nil
}

// evacuate moves all of a server's data to others, and waits until it is there. If the server is away, only peers
// that have the data take over: an evacuation would wait for the consumers there, whose followers have created new
// ones by now.
func (d *daemon) evacuate(ctx context.Context, server string) error {
	asked := make(map[string]time.Time)
	for {
		s, err := d.steady(ctx)
		if err != nil {
			return err
		}
		how := "STREAM.PEER.EVACUATE."
		if _, up := s.up[server]; !up {
			how = "STREAM.PEER.REMOVE."
		}
		left := 0
		for i := range s.streams {
			x := &s.streams[i]
			servers, current := x.servers()
			if !slices.Contains(servers, server) {
				if len(current) < x.copies {
					left++
				}
				continue
			}
			left++
			if time.Since(asked[x.name]) < 10*time.Second {
				continue
			}
			asked[x.name] = time.Now()
			if err := api(ctx, x.conn, how+x.name, map[string]string{"peer": server}, nil); err != nil {
				return fmt.Errorf("%s: %w", x.title(), err)
			}
		}
		if left == 0 {
			return nil
		}
		if !pause.For(ctx, settlePoll) {
			return ctx.Err()
		}
	}
}
