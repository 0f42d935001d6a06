package superportia

import (
	"time"

	"pennypost/internal/mail"
)

// What the document fixes.
const (
	maxBody      = 4096 // bytes of UTF-8: the document says "~4KB"
	defaultLimit = 30
)

// What it leaves open.
const (
	// lifeSeconds is a century, the longest that a draft may ask for: the document's mailbox is a log without end,
	// while a room lets direct mail expire after a week unless the sender says otherwise.
	lifeSeconds = 100 * 365 * 24 * 3600

	onlineFor  = 15 * time.Minute // how long an identity counts as online after it was last seen
	staleAfter = 24 * time.Hour   // from when on a task of somebody who was not seen is doubtful
)

// What a heartbeat says of an identity.
const (
	statusOnline  = "online"
	statusWorking = "working" // online, with a task
	statusOffline = "offline"
	statusStale   = "stale" // offline for so long that its task is doubtful
)

// statusOf returns the status of an identity at a time.
func statusOf(a mail.Agent, now mail.Time) string {
	silent := now.Sub(a.Seen)
	here := a.Seen != 0 && a.State.Live() && silent <= onlineFor
	switch {
	case here && a.Task != "":
		return statusWorking
	case here:
		return statusOnline
	case a.Seen != 0 && a.Task != "" && silent >= staleAfter:
		return statusStale
	}
	return statusOffline
}
