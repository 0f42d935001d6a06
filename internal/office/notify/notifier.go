package notify

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Room is a Notifier's view of a room. *mailroom.Room implements it.
type Room interface {
	Name() mail.RoomName
	// As returns the room as name sees it: the user to read, the system to write to the user.
	As(mail.Name) mail.Service
	// AsUser returns the room as the user sees it, known by the given means.
	AsUser(mail.Means) mail.Service
	// Shown returns the sequence number of the last event that a watch shows.
	Shown() mail.Seq
	Note(ctx context.Context, receipts []mail.Receipt) (int, error)
	// Tells reports whether this machine, and not another that has the room too, must tell the person.
	Tells() bool
}

// Options of a Notifier.
type Options struct {
	Config config.Notify
	// Use calls use with a room, which stays open until use returns.
	Use  func(ctx context.Context, room mail.RoomName, use func(Room) error) error
	Home string       // the data directory, where commands run
	File string       // the file for saved state; "": none
	Log  *slog.Logger // default: discard
	// Pages returns the address of the pages for other machines' browsers, for channels without one; "" if there is
	// none. Nil: "".
	Pages func() string
	// Card returns a dialog that this machine holds. Nil: it holds none.
	Card func(mail.ID) (mail.Card, bool)
	// Desk returns the user's desk across all rooms, and Dialogs the dialogs of agents' clients. Nil: chats cannot
	// ask for them.
	Desk    func(context.Context, mail.DeskQuery) (mail.Desk, error)
	Dialogs func(context.Context) (mail.Cards, error)
	// Login returns a link that logs in this machine's browser and opens a letter or a dialog. Nil: there are no
	// pages.
	Login func(room mail.RoomName, id mail.ID) (string, error)
}

// Notifier tells the person of mail. A Notifier without channels does nothing.
type Notifier struct {
	opts  Options
	lines []*line
	left  []mail.RoomName // rooms with waiting letters when the last process ended

	saving sync.Mutex // held while the file is written

	mu   sync.Mutex // guards the fields below and the changing part of lines
	kept *remembered
	said map[string]bool // questions for which a button's outcome was shown
}

// New returns a Notifier with the configured channels. Run runs it, once.
func New(opts Options) *Notifier {
	n := newNotifier(opts)
	n.addChannels()
	return n
}

func newNotifier(opts Options) *Notifier {
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	if opts.Pages == nil {
		opts.Pages = func() string { return "" }
	}
	n := &Notifier{opts: opts, said: make(map[string]bool)}
	var err error
	if n.kept, err = load(opts.File); err != nil {
		n.opts.Log.Error("notify", "err", err)
	}
	return n
}

// Run sends notes until ctx ends, which cancels one in progress.
func (n *Notifier) Run(ctx context.Context) {
	if len(n.lines) == 0 {
		return
	}
	n.save() // saves since when each channel sends
	var running sync.WaitGroup
	for _, l := range n.lines {
		running.Go(func() { n.serve(ctx, l) })
		if r, ok := l.channel.(replier); ok && l.answers {
			running.Go(func() { n.listen(ctx, l, r) })
		}
	}
	for _, c := range n.chatters() {
		running.Go(func() { c.run(ctx) })
	}
	running.Wait()
	for _, l := range n.lines {
		if d, ok := l.channel.(*Desktop); ok {
			d.Wait()
		}
	}
	n.save()
}

// Able reports whether there is any channel.
func (n *Notifier) Able() bool { return len(n.lines) > 0 }

// Rooms returns the rooms with waiting letters when the last process ended: the caller must open them.
func (n *Notifier) Rooms() []mail.RoomName {
	slices.Sort(n.left)
	return slices.Compact(n.left)
}

// Follow offers the lines the user's mail in an open room, first the mail that is there, then new mail, until ctx
// ends or the room is closed.
func (n *Notifier) Follow(ctx context.Context, room Room) error {
	if len(n.lines) == 0 {
		return nil
	}
	user := room.As(mail.User)
	w, err := room.As(mail.System).Watch(ctx, room.Shown())
	if err != nil {
		return err
	}
	defer w.Close()
	if err := n.offerSnoozed(ctx, room.Name(), user); err != nil {
		return err
	}
	if err := n.offerDialogs(ctx, room.Name(), user); err != nil {
		return err
	}
	seen, err := n.offerFrom(ctx, room.Name(), user, 0)
	if err != nil {
		return err
	}
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return nil
		}
		if n.take(ctx, room.Name(), user, events, seen) {
			if seen, err = n.offerFrom(ctx, room.Name(), user, seen); err != nil {
				return err
			}
		}
	}
}

// take processes events, and reports whether there may be new letters after seen.
func (n *Notifier) take(ctx context.Context, room mail.RoomName, user mail.Service, events []mail.Event,
	seen mail.Seq) (fresh bool) {
	for i := range events {
		e := &events[i]
		switch {
		case e.Message != nil:
			fresh = fresh || e.Seq > seen && e.Message.From != mail.ToUser
			n.settled(room, e.Message.ReplyTo)
		case e.Settled != nil:
			n.settled(room, e.Settled.Message)
		case e.Dialog != nil:
			n.takeDialog(room, e.Dialog, e.At)
		case e.Receipt != nil && e.Receipt.Mark == mail.MarkSnoozed && e.Receipt.Reader == mail.ToUser:
			if it, err := user.Message(ctx, e.Receipt.Message); err == nil {
				n.putOff(room, &it)
			}
		}
	}
	return fresh
}

// offerFrom offers the lines the unread mail in the user's inbox after a sequence number, and returns that of the
// last.
func (n *Notifier) offerFrom(ctx context.Context, room mail.RoomName, user mail.Service, after mail.Seq) (mail.Seq,
	error) {
	q := mail.InboxQuery{After: after, Since: n.since()}
	for {
		page, err := user.Inbox(ctx, q)
		if err != nil {
			return q.After, err
		}
		for i := range page.Messages {
			n.offer(room, &page.Messages[i])
			q.After = max(q.After, page.Messages[i].Seq)
		}
		if !page.More {
			return q.After, nil
		}
	}
}

// offerSnoozed puts off the snoozed messages.
func (n *Notifier) offerSnoozed(ctx context.Context, room mail.RoomName, user mail.Service) error {
	page, err := user.Inbox(ctx, mail.InboxQuery{Place: mail.InSnoozed, Newest: true})
	if err != nil {
		return err
	}
	for i := range page.Messages {
		n.putOff(room, &page.Messages[i])
	}
	return nil
}

// since returns the sent time from which mail is offered.
func (n *Notifier) since() mail.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	first := n.lines[0].Since
	for _, l := range n.lines {
		first = min(first, l.Since)
	}
	return max(first, mail.TimeOf(time.Now().Add(-tellable)))
}

// offer offers a message to the lines.
func (n *Notifier) offer(room mail.RoomName, it *mail.Item) {
	if it.From == mail.ToUser {
		return
	}
	n.offerLetter(letterOf(room, it))
}

func (n *Notifier) offerLetter(l Letter) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, line := range n.lines {
		if l.Sent >= line.Since && line.Told[l.key()] == 0 {
			line.enqueue(l, time.Time{})
		}
	}
}

// putOff enqueues a snoozed message for its time, even if it was sent before.
func (n *Notifier) putOff(room mail.RoomName, it *mail.Item) {
	if it.Snoozed == 0 || it.Snoozed <= mail.TimeOf(time.Now()) {
		return
	}
	l := letterOf(room, it)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, line := range n.lines {
		delete(line.Told, l.key())
		delete(line.pending, l.key())
		line.enqueue(l, it.Snoozed.Std())
	}
}

// settled records that a question no longer waits for an answer.
func (n *Notifier) settled(room mail.RoomName, id mail.ID) {
	if id == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.lines {
		delete(l.Asked, keyOf(room, id))
		if c, ok := l.channel.(*chatter); ok {
			c.settles(keyOf(room, id))
		}
	}
}

// Busy reports whether something is pending: letters due within a day, or valid buttons. A channel that has failed
// for long, which the person knows, does not count.
func (n *Notifier) Busy() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for _, l := range n.lines {
		if c, ok := l.channel.(*chatter); ok && c.pairs(now) {
			return true
		}
		for _, w := range l.pending {
			if l.fails < tellAfter && w.notBefore.Sub(now) < 24*time.Hour {
				return true
			}
		}
		for _, until := range l.Asked {
			if until > mail.TimeOf(now) {
				return true
			}
		}
	}
	return false
}

// Wake says how the user will be told of mail that arrives now: the names of channels or, if all of them are quiet,
// mail.WakeDeferred and until when. "" means not at all. It does not block.
func (n *Notifier) Wake(asks, urgent bool, now mail.Time) (how string, putOff mail.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var names []string
	for _, l := range n.lines {
		if c, ok := l.channel.(*chatter); ok && c.Chat == "" || !l.tell.What.Wants(asks, urgent) ||
			l.fails >= tellAfter {
			continue
		}
		if end, quiet := l.quiet(urgent, now.Std().Local()); quiet {
			if at := mail.TimeOf(end); putOff == 0 || at < putOff {
				putOff = at
			}
			continue
		}
		names = append(names, l.name)
	}
	switch {
	case len(names) > 0:
		return strings.Join(names, ", "), 0
	case putOff != 0:
		return mail.WakeDeferred, putOff
	}
	return "", 0
}

// Channels returns the status of each channel.
func (n *Notifier) Channels() []wire.NotifyChannel {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	out := []wire.NotifyChannel{}
	for _, l := range n.lines {
		c := wire.NotifyChannel{
			Name: l.name, What: string(l.What), Quiet: string(l.tell.Quiet), Waiting: len(l.pending),
			Last: l.Last, Answer: l.Answer, Failed: cmp.Or(l.Failed, l.deaf), Since: l.From, Answers: l.answers,
		}
		if chat, ok := l.channel.(*chatter); ok {
			if c.Pairs, c.Paired, c.PairedSince = true, chat.Name, chat.Since; chat.Chat == "" {
				c.Failed = cmp.Or(c.Failed, chat.unpaired())
			}
		}
		if begin, end, ok := l.tell.Quiet.Next(now); ok {
			c.QuietFrom, c.QuietUntil = mail.TimeOf(begin), mail.TimeOf(end)
		}
		out = append(out, c)
	}
	return out
}

// Troubles returns the channels' failures.
func (n *Notifier) Troubles() []string {
	var out []string
	for _, c := range n.Channels() {
		if c.Failed != "" {
			out = append(out, "notify "+c.Name+": "+c.Failed)
		}
	}
	return out
}

// Test sends a note through a channel, or through all if name is "", and returns each answer.
func (n *Notifier) Test(ctx context.Context, name string) ([]wire.NotifyTested, error) {
	var names []string
	out := []wire.NotifyTested{}
	for _, l := range n.lines {
		names = append(names, l.name)
		if name != "" && name != l.name {
			continue
		}
		note := &Note{ID: noteID(l.name, "test", time.Now().String()), Subject: "Pennypost can reach you here",
			Text: "This is a test. You are notified of " + inWords(l.tell.What) + ".", Letters: []Letter{}}
		if base := n.base(l); base != "" {
			note.URL = base + "/"
		}
		answer, err := l.channel.Send(ctx, note)
		t := wire.NotifyTested{Name: l.name, Answer: answer}
		if err != nil {
			t.Failed = err.Error()
		} else {
			n.reached(l)
		}
		out = append(out, t)
	}
	switch {
	case len(names) == 0:
		return nil, mail.Errorf(mail.Invalid, "no notification channel is configured. Add a section "+
			"[notify.desktop], or of another channel, to the configuration (docs/notify.md), then: pennypost stop")
	case len(out) == 0:
		return nil, mail.Errorf(mail.Invalid, "there is no channel %q; configured channels: %s", name,
			strings.Join(names, ", "))
	}
	return out, nil
}

// reached makes a line send its waiting letters immediately.
func (n *Notifier) reached(l *line) {
	n.mu.Lock()
	l.fails, l.retry, l.Failed, l.From = 0, time.Time{}, "", 0
	n.mu.Unlock()
	l.nudge.Give()
}

func inWords(w config.What) string {
	switch {
	case w.Wants(false, false):
		return "all mail to you"
	case !w.Wants(false, true):
		return "questions to you"
	case !w.Wants(true, false):
		return "urgent mail to you"
	}
	return "questions and urgent mail to you"
}
