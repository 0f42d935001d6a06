package notify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/base/webhook"
	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// Timing of a line.
const (
	gather     = 2 * time.Second  // how long a letter waits for others
	apart      = 30 * time.Second // between notes, so that a burst becomes one
	firstRetry = 10 * time.Second
	lastRetry  = 30 * time.Minute
	// tellAfter is after how many failures in a row the person is told. That is after five minutes: servers restart,
	// and machines wake up before their network does.
	tellAfter = 5
	// longest is how long a line waits without checking the clock: it may have been set, or the machine asleep.
	longest = time.Minute
)

// line is a channel and its waiting letters.
type line struct {
	name    string
	channel Channel
	tell    config.Telling
	text    bool // previews are included
	answers bool // questions have buttons
	buttons int  // maximum number of buttons

	nudge pause.Nudge // there is something to send
	asked pause.Nudge // there are valid buttons

	gather, apart time.Duration // shorter in tests

	// Guarded by Notifier.mu.
	*memory
	pending map[string]*waiting // by key
	fails   int                 // in a row
	retry   time.Time           // no attempt before
	deaf    string              // why answers are not received at present
}

// waiting is a letter to send.
type waiting struct {
	Letter
	came      time.Time
	notBefore time.Time // put off until then
}

func keyOf(room mail.RoomName, id mail.ID) string { return string(room) + "/" + string(id) }

func (l *Letter) key() string { return keyOf(l.Room, l.ID) }

// addLine adds a channel with the settings in tell.
func (n *Notifier) addLine(name string, c Channel, tell config.Telling, text, answers bool) {
	tell.What = cmp.Or(config.What(strings.ReplaceAll(string(tell.What), " ", "")), config.DefaultWhat)
	if tell.Text != nil {
		text = *tell.Text
	}
	m := n.kept.of(name, tell.What)
	n.left = append(n.left, m.Rooms...)
	n.lines = append(n.lines, &line{
		name: name, channel: c, tell: tell, text: text, answers: answers, buttons: maxButtons,
		nudge: pause.NewNudge(),
		asked: pause.NewNudge(), gather: gather, apart: apart,
		memory: m, pending: make(map[string]*waiting),
	})
}

// enqueue adds a letter if the line wants it. The caller holds Notifier.mu.
func (l *line) enqueue(letter Letter, notBefore time.Time) {
	if !l.tell.What.Wants(letter.Question, letter.Urgent) || letter.notice == l.name ||
		l.pending[letter.key()] != nil {
		return
	}
	w := &waiting{letter, time.Now(), notBefore}
	if letter.Office { // no others come with it
		w.came = w.came.Add(-l.gather)
	}
	l.pending[letter.key()] = w
	l.nudge.Give()
}

// rooms returns the rooms of waiting letters. The caller holds Notifier.mu.
func (l *line) rooms() []mail.RoomName {
	var out []mail.RoomName
	for _, w := range l.pending {
		if !w.Office && !slices.Contains(out, w.Room) {
			out = append(out, w.Room)
		}
	}
	slices.Sort(out)
	return out
}

// quiet reports whether letters of that kind must wait now, and until when.
func (l *line) quiet(urgent bool, now time.Time) (until time.Time, ok bool) {
	if urgent && l.tell.QuietUrgent != nil && *l.tell.QuietUrgent {
		return time.Time{}, false
	}
	return l.tell.Quiet.Ends(now)
}

// plan returns the letters to send now or, if there are none, when the first is due. The caller holds Notifier.mu.
func (l *line) plan(now time.Time) (letters []Letter, next time.Time) {
	due := false
	for _, w := range l.pending {
		at := w.came.Add(l.gather)
		others := []time.Time{w.notBefore, l.retry}
		if last := l.Last.Std(); !last.After(now) && !w.Office { // else the clock was set back
			others = append(others, last.Add(l.apart))
		}
		for _, other := range others {
			if other.After(at) {
				at = other
			}
		}
		if until, quiet := l.quiet(w.Urgent, now); quiet && until.After(at) {
			at = until
		} else if !w.notBefore.After(now) {
			letters = append(letters, w.Letter) // together with the first that is due
		}
		due = due || !at.After(now)
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if !due {
		letters = nil
	}
	return letters, next
}

// serve sends a line's waiting letters until ctx ends.
func (n *Notifier) serve(ctx context.Context, l *line) {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	saved := 0
	for ctx.Err() == nil {
		now := time.Now()
		n.mu.Lock()
		letters, next := l.plan(now)
		waits := len(l.pending)
		n.mu.Unlock()
		if len(letters) > 0 {
			n.deliver(ctx, l, letters)
			saved = 0
			continue
		}
		var alarm <-chan time.Time
		if !next.IsZero() {
			in := next.Sub(now)
			if in > longest && waits != saved { // a restart must know of it
				n.save()
				saved = waits
			}
			timer.Reset(min(in, longest))
			alarm = timer.C
		}
		select {
		case <-ctx.Done():
		case <-l.nudge:
		case <-alarm:
		}
	}
}

// deliver sends the letters that still wait for the person.
func (n *Notifier) deliver(ctx context.Context, l *line, letters []Letter) {
	if letters = n.stillWaiting(ctx, l, letters); len(letters) == 0 {
		return
	}
	var keys []string
	for i := range letters {
		keys = append(keys, letters[i].key())
	}
	slices.Sort(keys)
	note := compose(noteID(l.name, keys...), letters, n.base(l), l.text)
	if len(letters) == 1 && l.answers {
		n.addButtons(note, l)
	}
	if login := n.opts.Login; login != nil {
		note.Open = func() {
			if err := openPages(login, note.Letters); err != nil {
				n.opts.Log.Warn("notification clicked, no browser opened", "err", err)
			}
		}
	}
	answer, err := l.channel.Send(ctx, note)
	switch {
	case err == nil:
		n.delivered(ctx, l, note, answer)
	case ctx.Err() == nil:
		n.failed(ctx, l, letters, err)
	}
}

// base returns the address of the pages that a line may give the person's browser.
func (n *Notifier) base(l *line) string { return cmp.Or(l.tell.URL, n.opts.Pages()) }

// noteID derives a note's id from its letters, so that a repeated note is recognised.
func noteID(channel string, keys ...string) string {
	sum := sha256.Sum256([]byte(channel + "\x00" + strings.Join(keys, "\x00")))
	return "note_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:15]))
}

// stillWaiting returns the letters that the person has not read, settled or snoozed since they arrived.
func (n *Notifier) stillWaiting(ctx context.Context, l *line, letters []Letter) []Letter {
	letters = n.dropDialogs(ctx, l, letters)
	return slices.DeleteFunc(letters, func(letter Letter) bool {
		if letter.Dialog || letter.Office {
			return false
		}
		var it mail.Item
		here := true
		err := n.opts.Use(ctx, letter.Room, func(r Room) (err error) {
			here = r.Tells()
			it, err = r.As(mail.User).Message(ctx, letter.ID)
			return err
		})
		n.mu.Lock()
		defer n.mu.Unlock()
		switch {
		case err == nil && it.Snoozed > mail.TimeOf(time.Now()):
			if w := l.pending[letter.key()]; w != nil {
				w.notBefore = it.Snoozed.Std()
			}
			return true
		case err == nil && !here && !told(&it) && !moot(&it, &letter):
			if w := l.pending[letter.key()]; w != nil {
				w.notBefore = time.Now().Add(elsewherePause) // this machine tells it if the other is away then
			}
			return true
		case mail.CodeOf(err) == mail.NotFound, err == nil && (moot(&it, &letter) || !here):
			delete(l.pending, letter.key())
			l.Told[letter.key()] = mail.TimeOf(time.Now())
			return true
		}
		return false // even if the room fails: telling once too often is better than not at all
	})
}

// elsewherePause is how long another machine has to tell the person.
const elsewherePause = 10 * time.Second

// told reports whether the person was told of a message, on any machine.
func told(it *mail.Item) bool {
	return slices.ContainsFunc(it.Deliveries, func(d mail.Delivery) bool {
		return d.Agent == mail.User && d.State == mail.Notified
	})
}

// moot reports whether the person knows of a message.
func moot(it *mail.Item, l *Letter) bool {
	return it.Read || it.State == mail.Archived || it.Settled != nil || l.Question && !it.Open
}

// delivered records that a note was sent.
func (n *Notifier) delivered(ctx context.Context, l *line, note *Note, answer string) {
	now := time.Now()
	n.mu.Lock()
	if l.fails > 0 {
		n.opts.Log.Info("person reached again", "channel", l.name, "after", l.fails)
	}
	l.fails, l.retry, l.Failed, l.From = 0, time.Time{}, "", 0
	l.Last, l.Answer = mail.TimeOf(now), answer
	receipts := make(map[mail.RoomName][]mail.Receipt)
	for i := range note.Letters {
		letter := &note.Letters[i]
		delete(l.pending, letter.key())
		l.Told[letter.key()] = mail.TimeOf(now)
		if len(note.Buttons) > 0 {
			l.Asked[letter.key()] = mail.TimeOf(now.Add(buttonTime))
		}
		if letter.Dialog || letter.Office {
			continue // these have no receipts
		}
		receipts[letter.Room] = append(receipts[letter.Room], mail.Receipt{Message: letter.ID, Reader: mail.ToUser,
			Mark: mail.MarkNotified, Door: l.name})
	}
	n.mu.Unlock()
	n.save()
	for room, list := range receipts {
		err := n.opts.Use(ctx, room, func(r Room) error {
			_, err := r.Note(ctx, list)
			return err
		})
		if err != nil {
			n.opts.Log.Warn("notification not recorded", "room", room, "channel", l.name, "err", err)
		}
	}
	l.asked.Give()
}

// failed records that a note failed, and tells the person if failures continue.
func (n *Notifier) failed(ctx context.Context, l *line, letters []Letter, err error) {
	now := time.Now()
	today := now.Format(time.DateOnly)
	n.mu.Lock()
	if l.fails++; l.Failed == "" {
		l.From = mail.TimeOf(now)
		n.opts.Log.Warn("person not reached", "channel", l.name, "err", err)
	}
	l.Failed = err.Error()
	pause := lastRetry
	if l.fails < 10 {
		pause = min(firstRetry<<(l.fails-1), lastRetry)
	}
	pause = max(pause, asksToWait(err))
	if errors.Is(err, webhook.ErrGone) { // the receiver does not want another request soon
		pause = 24 * time.Hour
	}
	l.retry = now.Add(pause)
	tell := l.fails >= tellAfter && l.Notice != today
	if tell {
		l.Notice = today
	}
	d := failure(l, len(l.pending), today)
	n.mu.Unlock()
	n.save()
	in := slices.IndexFunc(letters, func(l Letter) bool { return !l.Office })
	if !tell || in < 0 { // only in a letter's room
		return
	}
	err = n.opts.Use(ctx, letters[in].Room, func(r Room) error {
		_, err := r.As(mail.System).Send(ctx, d)
		return err
	})
	if err != nil && mail.CodeOf(err) != mail.Conflict {
		n.opts.Log.Error("user not told", "subject", d.Subject, "err", err)
	}
}

// failure drafts a message to the user that a channel fails. It is sent once a day.
func failure(l *line, waits int, day string) mail.Draft {
	return mail.Draft{
		To: mail.Recipients{string(mail.ToUser)}, Type: string(mail.Custom), Priority: string(mail.Urgent),
		Subject: "Notifications fail: " + l.name,
		Body: fmt.Sprintf(
			"No notification has got through %[2]s since %[1]s. Its answer: %[3]s\n\nPennypost retries at least "+
				"every %[4]s; %[5]d wait. After fixing the cause, test it with: pennypost notify test %[6]s\n",
			l.From.Std().Local().Format("2 January, 15:04"), l.name, l.Failed, "half hour", waits, l.name),
		Metadata: mail.Metadata(fmt.Sprintf(`{%q:%q}`, noticeKey, l.name)), Key: noticeKey + "-" + l.name + "-" + day,
	}
}
