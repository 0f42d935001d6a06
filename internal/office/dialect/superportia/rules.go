package superportia

import (
	"time"

	"pennypost/internal/mail"
)

// Values from the document.
const (
	maxBody      = 4096 // bytes of UTF-8: the document says "~4KB"
	defaultLimit = 30
)

// Our own values.
const (
	// lifeSeconds is a century, the maximum for a draft: the document's mailbox is an endless log, while a room
	// expires direct mail after a week unless the sender says otherwise.
	lifeSeconds = 100 * 365 * 24 * 3600

	onlineFor  = 15 * time.Minute // time after an identity was last seen during which it counts as online
	staleAfter = 24 * time.Hour   // silence after which an identity's task is doubtful
)

// States in a heartbeat.
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
