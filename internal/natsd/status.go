package natsd

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"pennypost/internal/base/pause"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// pingPatience is how long servers have to report.
const pingPatience = time.Second

// there returns the servers that are up, and their versions.
func (n *node) there(ctx context.Context, expected int) (map[string]string, error) {
	inbox := n.system.NewInbox()
	answers, err := n.system.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answers.Unsubscribe() }()
	if err := n.system.PublishRequest("$SYS.REQ.SERVER.PING.STATSZ", inbox, nil); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pingPatience)
	defer cancel()
	up := make(map[string]string)
	for len(up) < expected {
		msg, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			break // the others are not up
		}
		var a struct {
			Server struct {
				Name    string `json:"name"`
				Version string `json:"ver"`
			} `json:"server"`
		}
		if json.Unmarshal(msg.Data, &a) == nil && a.Server.Name != "" {
			up[a.Server.Name] = a.Server.Version
		}
	}
	return up, nil
}

// state is the basis for decisions: the machines, which of them are up, and where the streams are.
type state struct {
	members []config.Member
	up      map[string]string // the servers that are up, and their versions
	streams []stream
}

func (d *daemon) state(ctx context.Context) (s state, err error) {
	s.members = d.cluster.Load().Members
	var asking sync.WaitGroup
	var deaf error
	asking.Go(func() { s.up, deaf = d.node.there(ctx, len(s.members)) })
	s.streams, err = d.node.streams(ctx, s.members)
	asking.Wait()
	return s, cmp.Or(deaf, err)
}

// steady returns the state once all streams have a leader that answers; it waits a while for that.
func (d *daemon) steady(ctx context.Context) (s state, err error) {
	for began := time.Now(); ; {
		asked, cancel := context.WithTimeout(ctx, pingPatience+readPatience)
		s, err = d.state(asked)
		cancel()
		if err == nil || time.Since(began) > steadyPatience || !pause.For(ctx, settlePoll) {
			return s, err
		}
	}
}

// ups counts the members that are up, except one.
func (s *state) ups(but mail.Machine) (n int) {
	for _, m := range s.members {
		if _, up := s.up[string(m.Machine)]; up && m.Machine != but {
			n++
		}
	}
	return n
}

// mayFail returns how many more servers may fail before mail stops somewhere.
func (s *state) mayFail() int {
	most := s.ups("") - majority(len(s.members))
	for i := range s.streams {
		all, current := s.streams[i].servers()
		most = min(most, len(current)-majority(max(len(all), 1)))
	}
	return most
}

func majority(n int) int { return n/2 + 1 }

// status returns the state of the cluster.
func (d *daemon) status(ctx context.Context, _ wire.None) (st wire.ClusterStatus, err error) {
	c, err := d.inCluster()
	if err != nil {
		return st, err
	}
	if len(c.Members) == 1 {
		m := &c.Members[0]
		return wire.ClusterStatus{Machine: c.Machine, Members: []wire.ClusterMember{{Machine: m.Machine,
			Address: m.Address, Up: true, Version: server.VERSION}}}, nil
	}
	s, err := d.state(ctx)
	st = wire.ClusterStatus{Machine: c.Machine, Replicas: config.Replicas(len(s.members)), Streams: len(s.streams),
		Lacking: s.lacking(), Members: []wire.ClusterMember{}}
	for _, m := range s.members {
		version, up := s.up[string(m.Machine)]
		st.Members = append(st.Members, wire.ClusterMember{Machine: m.Machine, Address: m.Address, Up: up,
			Version: version, Streams: on(s.streams, string(m.Machine))})
	}
	if err != nil {
		st.Trouble = "the servers cannot decide: more than half of them must be running, and this machine must " +
			"not have been removed while it was away (" + err.Error() + ")"
		return st, nil
	}
	may := s.mayFail()
	st.MayFail = &may
	return st, nil
}
