package natsd

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/internal/base/pause"
	"pennypost/internal/config"
	"pennypost/internal/mail"
)

const (
	// tendEvery is how often streams are checked without news of a change.
	tendEvery = 30 * time.Second
	// apiPatience is the servers' time limit for one answer.
	apiPatience = 5 * time.Second
	settlePoll  = 100 * time.Millisecond
)

// stream is the relevant part of a stream: its current settings, and its servers.
type stream struct {
	conn   *nats.Conn
	Config json.RawMessage `json:"config"`
	name   string
	copies int

	Cluster struct {
		Leader   string    `json:"leader"`
		Replicas []replica `json:"replicas"`
	} `json:"cluster"`
}

// replica is a server that has a stream and does not lead it.
type replica struct {
	Name    string `json:"name"`
	Peer    string `json:"peer"` // see nodeOf
	Current bool   `json:"current"`
	Offline bool   `json:"offline"`
}

// servers returns the servers of the stream, and those of them that are up and as far as its leader.
func (s *stream) servers() (all, current []string) {
	if s.Cluster.Leader != "" {
		all, current = append(all, s.Cluster.Leader), append(current, s.Cluster.Leader)
	}
	for _, r := range s.Cluster.Replicas {
		all = append(all, r.Name)
		if r.Current && !r.Offline && s.Cluster.Leader != "" {
			current = append(current, r.Name)
		}
	}
	return all, current
}

// apiError is an error in the form of the servers' API.
type apiError struct {
	Code        int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *apiError) Error() string { return fmt.Sprintf("%s (%d)", e.Description, e.Code) }

// api asks the servers' API over a connection.
func api(ctx context.Context, nc *nats.Conn, subject string, question, answer any) error {
	var text []byte
	if question != nil {
		var err error
		if text, err = json.Marshal(question); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	msg, err := nc.RequestWithContext(ctx, "$JS.API."+subject, text)
	if err != nil {
		return err
	}
	var failed struct {
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(msg.Data, &failed); err != nil {
		return err
	}
	if failed.Error != nil {
		return failed.Error
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(msg.Data, answer)
}

// nodeOf returns the servers' internal name for a server: eight letters and digits derived from its name.
func nodeOf(name mail.Machine) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256([]byte(name))
	out := make([]byte, 8)
	for i := range out {
		out[i] = digits[int(sum[i])%len(digits)]
	}
	return string(out)
}

// streams lists the streams of the rooms and of the list of machines. An error means that some are unknown. Servers
// that have not heard another since they were started know only its node, not its name.
func (n *node) streams(ctx context.Context, members []config.Member) (all []stream, err error) {
	names := make(map[string]string)
	for _, m := range members {
		names[nodeOf(m.Machine)] = string(m.Machine)
	}
	for _, nc := range []*nats.Conn{n.rooms, n.members} {
		for offset, total := 0, 1; offset < total; {
			var page struct {
				Total   int      `json:"total"`
				Streams []stream `json:"streams"`
				Missing []string `json:"missing"`
			}
			if err := api(ctx, nc, "STREAM.LIST", map[string]int{"offset": offset}, &page); err != nil {
				return nil, fmt.Errorf("list the streams: %w", err)
			}
			for i := range page.Streams {
				s := page.Streams[i]
				for i := range s.Cluster.Replicas {
					r := &s.Cluster.Replicas[i]
					if r.Name = names[r.Peer]; r.Name == "" {
						r.Name = r.Peer // of a machine that was removed
					}
				}
				var c struct {
					Name     string `json:"name"`
					Replicas int    `json:"num_replicas"`
				}
				if err := json.Unmarshal(s.Config, &c); err != nil {
					return nil, err
				}
				s.conn, s.name, s.copies = nc, c.Name, c.Replicas
				all = append(all, s)
			}
			if len(page.Missing) > 0 {
				err = fmt.Errorf("no server leads %d streams, such as %s", len(page.Missing), page.Missing[0])
			}
			if total = page.Total; len(page.Streams)+len(page.Missing) == 0 {
				break
			}
			offset += len(page.Streams) + len(page.Missing)
		}
	}
	return all, err
}

// keepOn sets the number of servers that keep a stream.
func (s *stream) keepOn(ctx context.Context, copies int) error {
	var settings map[string]any
	if err := json.Unmarshal(s.Config, &settings); err != nil {
		return err
	}
	settings["num_replicas"] = copies
	return api(ctx, s.conn, "STREAM.UPDATE."+s.name, settings, nil)
}

// tend keeps each stream on the intended number of servers, until ctx ends. Only the machine whose server leads the
// others does so.
func (d *daemon) tend(ctx context.Context) {
	sub, err := d.node.rooms.Subscribe("$JS.EVENT.ADVISORY.STREAM.CREATED.>", func(*natsMsg) { d.changed.Give() })
	if err != nil {
		d.log.Error("new streams not heard", "err", err)
	} else {
		defer func() { _ = sub.Unsubscribe() }()
	}
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	for {
		if d.node.server.JetStreamIsLeader() {
			if err := d.raise(ctx); err != nil && ctx.Err() == nil {
				d.log.Warn("streams not on more servers yet", "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-d.changed:
		}
	}
}

// raise puts streams that are on too few servers on more, or on fewer if there are not that many.
func (d *daemon) raise(ctx context.Context) error {
	servers := len(d.cluster.Load().Members)
	want := config.Replicas(servers)
	if servers == 1 {
		return nil
	}
	// The deciding servers learn of a new server a moment later.
	for wait := 0; len(d.node.server.JetStreamClusterPeers()) < want; wait++ {
		if wait == 100 || !pause.For(ctx, settlePoll) {
			return fmt.Errorf("only %d servers are running", len(d.node.server.JetStreamClusterPeers()))
		}
	}
	all, err := d.node.streams(ctx, d.cluster.Load().Members)
	for i := range all {
		for _, r := range all[i].Cluster.Replicas {
			if d.cluster.Load().Member(mail.Machine(r.Name)) == nil && r.Offline {
				bad := api(ctx, all[i].conn, "STREAM.PEER.REMOVE."+all[i].name, map[string]string{"peer": r.Peer}, nil)
				d.log.Info("removed server taken from a stream", "stream", all[i].name, "node", r.Peer, "err", bad)
			}
		}
		// more copies than servers: one was on a removed server
		if s := &all[i]; s.copies > 0 && (s.copies < want || s.copies > servers) {
			if bad := s.keepOn(ctx, want); bad != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", s.name, bad))
			}
		}
	}
	return err
}

// settle waits until each stream is on the intended number of servers, and up to date on each that is up, or ctx
// ends.
func (d *daemon) settle(ctx context.Context) {
	for {
		// A list requested while a stream moves takes seconds, and the next one is immediate.
		asked, cancel := context.WithTimeout(ctx, pingPatience+readPatience)
		s, err := d.state(asked)
		cancel()
		if err == nil && s.lacking() == 0 || !pause.For(ctx, settlePoll) {
			return
		}
	}
}

// lacking counts the streams that are on too few servers, or not up to date on one that is up.
func (s *state) lacking() (n int) {
	want := config.Replicas(len(s.members))
	for i := range s.streams {
		all, current := s.streams[i].servers()
		behind := slices.ContainsFunc(all, func(server string) bool {
			_, up := s.up[server]
			return up && !slices.Contains(current, server)
		})
		if behind || len(all) < max(want, s.streams[i].copies) {
			n++
		}
	}
	return n
}

// on counts the streams on a server.
func on(all []stream, server string) (n int) {
	for i := range all {
		if servers, _ := all[i].servers(); slices.Contains(servers, server) {
			n++
		}
	}
	return n
}
