package policy

import (
	"slices"
	"time"

	"pennypost/internal/mail"
)

// Next returns whose turn it is among the holders of a role, which are in order of their names: the one behind last,
// in a circle. With steady holders each gets the same number. It returns "" if there is none.
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

// Descendants returns the agents below root, leaves first, so that a parent is cancelled after its children. A circle
// in the tree is cut where it closes.
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

// SessionLapse is how long a session that says nothing still holds its agent's name. Sessions say something every 30
// seconds, which the journal records once a minute, so that two records may be missed.
const SessionLapse = 3 * time.Minute

// Heartbeat is how often at most a sign of life is journalled for an agent.
const Heartbeat = time.Minute

// SessionHeard reports whether a session was heard of so lately that it is too early to ask whether it still runs. It
// is a heartbeat short of the lapse, because it is asked once a heartbeat.
func SessionHeard(state mail.State, seen, now mail.Time) bool {
	return state != mail.Gone && now.Sub(seen) < SessionLapse-Heartbeat
}

// SessionLive reports whether a session last heard of at seen still holds its agent's name.
func SessionLive(state mail.State, session string, seen, now mail.Time) bool {
	return session != "" && state != mail.Gone && now.Sub(seen) < SessionLapse
}
