package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// How often somebody hears of claims, whoever takes and gives up again and again: once for each of these spans, and
// not before what it was told was shown to it.
const (
	freeEvery   = time.Minute      // that something is free: who is told later is told of all that is free then
	writesEvery = time.Minute      // of another's writes to what was claimed in that time
	waitsEvery  = 10 * time.Minute // of another that waits for what was claimed in that time
)

// maxLooked is how much of an agent's newest unread mail is searched for what it was told.
const maxLooked = 100

// notice is by what a notice is known: what it says to whom, and of which span of time.
type notice struct {
	says string
	span int64
}

func noticeOf(at mail.Time, every time.Duration, kind string, words ...any) notice {
	return notice{fmt.Sprintf("%s %q ", kind, words), at.Std().UnixNano() / int64(every)}
}

func (n notice) key() string { return fmt.Sprint(n.says, n.span) }

// wasTold reports whether m needs not hear what a notice says: it was told in the notice's span, or was told
// before and has not been shown it.
func (v *View) wasTold(m *fold.Member, n notice) bool {
	if v.SentBefore(v.KeyOf(mail.FromSystem, n.key())) {
		return true
	}
	left := maxLooked
	for r := range m.Unread.Alive(true, v.Now) {
		if left--; left < 0 {
			break
		}
		if r.Msg.From == mail.FromSystem && strings.HasPrefix(r.Msg.Key, n.says) && !r.ToldIn(m) && !r.HandedIn(m) {
			return true
		}
	}
	return false
}

// tellOnce is tell, unless m was told.
func (v *View) tellOnce(m *fold.Member, n notice, subject, body string) []mail.Event {
	if v.wasTold(m, n) {
		return nil
	}
	return []mail.Event{v.tell(m, n.key(), subject, body)}
}

// circleNotice is the notice of those who wait for each other, whichever of them was the last to.
func circleNotice(since mail.Time, names []mail.Name) notice {
	names = slices.SortedFunc(slices.Values(names), mail.CompareNames)
	return noticeOf(since, waitsEvery, "circle", names)
}
