package policy

import (
	"slices"
	"time"

	"pennypost/internal/mail"
)

// Next returns the next holder of a role after last, in rotation. holders are sorted by name. With steady holders each
// gets the same share. It returns "" if there are none.
func Next(holders []mail.Name, last mail.Name) mail.Name {
	if len(holders) == 0 {
		return ""
	}
	i, found := slices.BinarySearch(holders, last)
	if found {
		i++
	}
	return holders[i%len(holders)]
}

// Descendants returns the agents below root, leaves first, so that a parent is cancelled after its children. It cuts a
// cycle in the tree where the cycle closes.
func Descendants(root mail.Name, children func(mail.Name) []mail.Name) []mail.Name {
	var out []mail.Name
	seen := map[mail.Name]bool{root: true}
	var walk func(mail.Name)
	walk = func(n mail.Name) {
		for _, c := range children(n) {
			if !seen[c] {
				seen[c] = true
				walk(c)
				out = append(out, c)
			}
		}
	}
	walk(root)
	return out
}

// MayCancel reports whether a sender may cancel an agent's work.
func MayCancel(sender mail.Name, orchestrator bool, parent mail.Name) bool {
	return sender == mail.User || sender == mail.System || orchestrator || (parent != "" && sender == parent)
}

// SessionLapse is how long a silent session keeps its agent's name. Sessions send a sign of life every 30 seconds,
// which the journal records once a minute, so that two records may be missed.
const SessionLapse = 3 * time.Minute

// Heartbeat is the minimum interval between journalled signs of life of an agent.
const Heartbeat = time.Minute

// SessionHeard reports whether a session was heard from too recently to ask whether it still runs. The limit is one
// heartbeat less than the lapse, because this is asked once a heartbeat.
func SessionHeard(state mail.State, seen, now mail.Time) bool {
	return state != mail.Gone && now.Sub(seen) < SessionLapse-Heartbeat
}

// SessionLive reports whether a session last heard from at seen still holds its agent's name.
func SessionLive(state mail.State, session string, seen, now mail.Time) bool {
	return session != "" && state != mail.Gone && now.Sub(seen) < SessionLapse
}
