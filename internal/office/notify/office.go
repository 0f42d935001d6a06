package notify

import (
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// What the post office itself has to say, as that a server has stopped, may concern every room, and may have to be
// said when no room takes mail. So it is no message, and stands in no room.

// Announce has the person told of something that goes on, once however often it is called, until Over. about tells it
// from others.
func (n *Notifier) Announce(about, subject, text string) {
	if len(n.lines) == 0 {
		return
	}
	n.offerLetter(Letter{ID: mail.ID(about), From: mail.FromSystem, Subject: shortened(subject, maxShown),
		Preview: text, Urgent: true, Office: true, Sent: mail.TimeOf(time.Now())})
}

// Announced returns what was announced, and is not over.
func (n *Notifier) Announced() (about []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.lines {
		for key := range l.Told {
			if word, ours := strings.CutPrefix(key, "/"); ours && word != mended {
				about = append(about, word)
			}
		}
		for _, w := range l.pending {
			if w.Office && w.ID != mended {
				about = append(about, string(w.ID))
			}
		}
	}
	slices.Sort(about)
	return slices.Compact(about)
}

// mended is what Mended announces.
const mended = "mended"

// Over has what was announced forgotten, which may begin again. If the person was told of some of it, they are told
// that it is over.
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
		delete(l.Told, keyOf("", mended))
	}
	n.mu.Unlock()
	if told {
		n.Announce(mended, subject, text)
	}
	n.save()
}
