//go:build linux

package proof

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"pennypost/internal/mail"
)

// faults lists every kind of harm to one post office. Their order matters to a seed.
func (n *nemesis) faults() []fault {
	return []fault{
		{"kill -9", nil, n.killed},
		{"stopped and started", nil, n.restarted},
		{"SIGSTOP", nil, n.suspended},
		{"disk full", n.needsMount, n.full},
		{"fdatasync fails", needsStrace, n.syncFails},
		{"write fails", needsStrace, n.writeFails},
		{"no room to write", needsStrace, n.noSpace},
		{"directory sync fails", needsStrace, n.dirSyncFails},
		{"clock steps", nil, n.clockSteps},
		{"file replaced", nil, n.replaced},
		{"file removed", nil, n.removed},
		{"damaged while stopped", nil, n.damaged},
		{"link in a bridged place", nil, n.linked},
		{"FIFO in a bridged place", nil, n.piped},
		{"out of descriptors", nil, n.starved},
	}
}

func (n *nemesis) needsMount() string {
	if n.mounted() {
		return ""
	}
	return "the home is no file system of its own, for that wants root"
}

// copied is a journal that was replaced by a copy of itself.
type copied struct {
	room         mail.RoomName
	read, placed time.Duration // since the run began: when the copy was made, and when it replaced the journal
}

// nemesis harms one post office; during the run only it starts and ends the process.
type nemesis struct {
	*wrecker
	*office
	stranger *foreign
	probe    *door

	annexes int      // rooms that were made to be damaged
	copies  []copied // that replaced journals
}

// recovered reports why some room does not accept mail, nil if all do.
func (n *nemesis) recovered() (err error) {
	for _, room := range []string{"main", "harbour", "cellar"} {
		in := map[string]any{"to": []string{"user"}, "body": "probe " + time.Now().String()}
		if e := n.probe.do(context.Background(), http.MethodPost, "/rooms/"+room+"/messages", in, nil); e != nil {
			err = fmt.Errorf("%s: %w", room, e)
		}
	}
	return err
}

// anew ends the post office and starts it again.
func (n *nemesis) anew() error {
	n.kill()
	return n.start()
}
