package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// How often a member hears of claims, however often they are taken and given up: once in each of these spans, and not
// before the previous notice was shown to it.
const (
	freeEvery   = time.Minute      // that something is free: a later notice names all that is free then
	writesEvery = time.Minute      // of another's writes to a target claimed in that time
	waitsEvery  = 10 * time.Minute // of another that waits for a target claimed in that time
)

// maxLooked is how much of an agent's newest unread mail is searched for an earlier notice.
const maxLooked = 100

// notice identifies a notice: its content and recipient, and its span of time.
type notice struct {
	says string
	span int64
}

func noticeOf(at mail.Time, every time.Duration, kind string, words ...any) notice {
	return notice{fmt.Sprintf("%s %q ", kind, words), at.Std().UnixNano() / int64(every)}
}

func (n notice) key() string { return fmt.Sprint(n.says, n.span) }

// wasTold reports whether m need not get a notice: it got it in the notice's span, or got it before and has not been
// shown it.
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

// circleNotice is the notice of those who wait for each other, whichever of them closed the circle.
func circleNotice(since mail.Time, names []mail.Name) notice {
	names = slices.SortedFunc(slices.Values(names), mail.CompareNames)
	return noticeOf(since, waitsEvery, "circle", names)
}
