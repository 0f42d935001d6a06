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

// nap is an idle agent that looks only when its door is rung (P8).
type nap struct {
	*book
	door *door
	room mail.RoomName
	bell string // the file to which its door adds a line
}

// bellScript makes the command that is the door, and returns it.
func (n *nap) bellScript(root string) (string, error) {
	n.bell = filepath.Join(root, "bell")
	script := filepath.Join(root, "ring.sh")
	return script, os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\necho \"$PENNYPOST_UNREAD\" >>'%s'\n", n.bell),
		0o700)
}

// rings counts how often the door was rung.
func (n *nap) rings() int {
	text, _ := os.ReadFile(n.bell)
	return strings.Count(string(text), "\n")
}

func (n *nap) run(ctx context.Context) {
	for heard := 0; ctx.Err() == nil; pause(ctx, 100*time.Millisecond) {
		if rings := n.rings(); rings > heard && n.wake(ctx) {
			heard = rings
		}
	}
}

// wake reads what should wake it and marks that, and reports whether that worked.
func (n *nap) wake(ctx context.Context) bool {
	ctx = context.WithoutCancel(ctx)
	var page mail.Page
	if n.door.do(ctx, http.MethodGet, "/rooms/"+string(n.room)+"/inbox?type=question&limit=200", nil, &page) != nil {
		return false
	}
	if len(page.Messages) == 0 {
		return true
	}
	m := mail.Marking{Mark: mail.MarkRead}
	for _, it := range page.Messages {
		m.IDs = append(m.IDs, it.ID)
	}
	o := op{Kind: "wake", Call: n.now(), Room: n.room, Agent: sleeper}
	err := n.door.do(ctx, http.MethodPost, "/rooms/"+string(n.room)+"/marks", m, nil)
	n.add(o, err)
	return err == nil
}
