package notify

import (
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// Word from the post office itself, such as that a server has stopped, may concern every room, and may be needed
// when no room takes mail. So it is not a message and belongs to no room.

// Announce tells the person of a condition once, however often it is called, until Over. about identifies the
// condition.
func (n *Notifier) Announce(about, subject, text string) {
	if len(n.lines) == 0 {
		return
	}
	n.offerLetter(Letter{ID: mail.ID(about), From: mail.FromSystem, Subject: shortened(subject, maxShown),
		Preview: text, Urgent: true, Office: true, Sent: mail.TimeOf(time.Now())})
}

// Announced returns the announced conditions that are not over.
func (n *Notifier) Announced() (about []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.lines {
		for key := range l.Told {
			if word, ours := strings.CutPrefix(key, "/"); ours && word != recovered {
				about = append(about, word)
			}
		}
		for _, w := range l.pending {
			if w.Office && w.ID != recovered {
				about = append(about, string(w.ID))
			}
		}
	}
	slices.Sort(about)
	return slices.Compact(about)
}

// recovered is the id of the announcement made by Over.
const recovered = "recovered"

// Over ends announced conditions, which may then begin again. If the person was told of any, they are told that it
// is over.
func (n *Notifier) Over(about []string, subject, text string) {
	n.mu.Lock()
	told := false
	for _, l := range n.lines {
		for _, a := range about {
			key := keyOf("", mail.ID(a))
			told = told || l.Told[key] != 0
			delete(l.Told, key)
			delete(l.pending, key)
		}
		delete(l.Told, keyOf("", recovered))
	}
	n.mu.Unlock()
	if told {
		n.Announce(recovered, subject, text)
	}
	n.save()
}
