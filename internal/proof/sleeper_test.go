//go:build linux

package proof

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// nap is an idle agent that reads only when its door is rung (P8).
type nap struct {
	*book
	agent   mail.Name
	offices []*office // those that may ring
	room    mail.RoomName
}

// ring is one ring at a door, by the clock of the machine.
type ring struct {
	office     string
	begin, end time.Time // end is zero if the bell was cut short
}

// bell is the file to which an agent's doors add lines.
func (n *nap) bell() string { return bellOf(n.offices[0], n.agent) }

func bellOf(first *office, agent mail.Name) string {
	return filepath.Join(first.root, "bell-"+string(agent))
}

// bellScript makes the command that is the door of all sleepers at a post office, and returns it. A ring takes a
// while, so that concurrent ones overlap.
func bellScript(first, o *office) (string, error) {
	script := filepath.Join(o.root, "ring.sh")
	return script, os.WriteFile(script, fmt.Appendf(nil, `#!/bin/sh
echo "$$ begin %[1]s $(date +%%s%%N)" >>'%[2]s'"$PENNYPOST_AGENT"
sleep 0.3
echo "$$ end %[1]s $(date +%%s%%N)" >>'%[2]s'"$PENNYPOST_AGENT"
`, o.name, bellOf(first, "")), 0o700)
}

// rings lists the rings of the door in order.
func (n *nap) rings() (all []ring) {
	text, _ := os.ReadFile(n.bell())
	open := make(map[string]int) // by office and process
	for line := range strings.Lines(string(text)) {
		var pid, what, office string
		var at int64
		if _, err := fmt.Sscan(line, &pid, &what, &office, &at); err != nil {
			continue
		}
		i, begun := open[office+pid]
		switch {
		case what == "begin":
			open[office+pid] = len(all)
			all = append(all, ring{office: office, begin: time.Unix(0, at)})
		case begun:
			all[i].end = time.Unix(0, at)
		}
	}
	return all
}

func (n *nap) run(ctx context.Context) {
	for heard := 0; ctx.Err() == nil; pause(ctx, 100*time.Millisecond) {
		if rings := n.rings(); len(rings) > heard && n.wake(ctx, rings[len(rings)-1].office) {
			heard = len(rings)
		}
	}
}

// wake lets the agent read mail that should wake it, at the post office that woke it or at any, and mark it, and
// reports whether that worked.
func (n *nap) wake(ctx context.Context, by string) bool {
	for _, o := range n.offices {
		if o.name == by && n.reads(ctx, o.socket(n.agent)) {
			return true
		}
	}
	for _, o := range n.offices {
		if o.name != by && n.reads(ctx, o.socket(n.agent)) {
			return true
		}
	}
	return false
}

func (n *nap) reads(ctx context.Context, d *door) bool {
	defer d.client.CloseIdleConnections()
	ctx = context.WithoutCancel(ctx)
	var page mail.Page
	if d.do(ctx, http.MethodGet, "/rooms/"+string(n.room)+"/inbox?type=question&limit=200", nil, &page) != nil {
		return false
	}
	if len(page.Messages) == 0 {
		return true
	}
	m := mail.Marking{Mark: mail.MarkRead}
	for _, it := range page.Messages {
		m.IDs = append(m.IDs, it.ID)
	}
	o := op{Kind: "wake", Call: n.now(), Room: n.room, Agent: n.agent}
	err := d.do(ctx, http.MethodPost, "/rooms/"+string(n.room)+"/marks", m, nil)
	n.add(o, err)
	return err == nil
}
