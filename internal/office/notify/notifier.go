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

// Room is what a Notifier has to know of a room. *mailroom.Room is one.
type Room interface {
	Name() mail.RoomName
	// As returns the room as somebody sees it: the user to look, the system to write to the user.
	As(mail.Name) mail.Service
	// AsUser returns the room as the user sees it, who is known by these means.
	AsUser(mail.Means) mail.Service
	// Shown returns the place of the last event that a watch shows.
	Shown() mail.Seq
	// Note records receipts.
	Note(ctx context.Context, receipts []mail.Receipt) (int, error)
	// Tells reports whether it is for this machine to tell the person, and not for another that has the room too.
	Tells() bool
}

// Options of a Notifier.
type Options struct {
	Config config.Notify
	// Use calls use with a room, which is open until it returns.
	Use  func(ctx context.Context, room mail.RoomName, use func(Room) error) error
	Home string       // the data directory, where commands run
	File string       // where is kept what was told; "": nowhere
	Log  *slog.Logger // default: discard
	// Pages is where browsers of other machines find the pages, for channels that are not told; "": nowhere. Nil is
	// "".
	Pages func() string
	// Card returns what a dialog asks that is held on this machine. Nil: none is.
	Card func(mail.ID) (mail.Card, bool)
	// Desk returns what waits for the user in all rooms, and Dialogs what agents' clients ask. Nil: no chat can ask
	// for it.
	Desk    func(context.Context, mail.DeskQuery) (mail.Desk, error)
	Dialogs func(context.Context) (mail.Cards, error)
	// Login returns a link that logs the browser of this machine in and opens a letter, or a
	// dialog. Nil: there are no pages.
	Login func(room mail.RoomName, id mail.ID) (string, error)
}

// Notifier tells the person of mail. A Notifier without channels does nothing.
type Notifier struct {
	opts  Options
	lines []*line
	left  []mail.RoomName // where letters waited when the last process ended

	saving sync.Mutex // held while the file is written

	mu   sync.Mutex // guards what follows, and the changing part of lines
	kept *remembered
	said map[string]bool // questions of whose buttons the person was told what became of them
}

// New returns a Notifier with the channels of the configuration. Run runs it, once.
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

// Run tells until ctx ends. A note that is under way is broken off then.
func (n *Notifier) Run(ctx context.Context) {
	if len(n.lines) == 0 {
		return
	}
	n.save() // since when each channel tells
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

// Rooms are those in which letters waited to be told when the last process ended: they are to be opened.
func (n *Notifier) Rooms() []mail.RoomName {
	slices.Sort(n.left)
	return slices.Compact(n.left)
}

// Follow offers the lines what comes for the user in an open room, until ctx ends or the room is closed; first what
// waits there already.
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

// take takes in events, and reports whether there may be new letters behind seen.
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

// offerFrom offers the lines what stands unread in the user's inbox behind a place, and returns the place of the last.
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

// offerSnoozed has the lines wait for what the user has put off.
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

// since is when the oldest mail was sent that is told.
func (n *Notifier) since() mail.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	first := n.lines[0].Since
	for _, l := range n.lines {
		first = min(first, l.Since)
	}
	return max(first, mail.TimeOf(time.Now().Add(-tellable)))
}

// offer has those lines wait for a chance to tell of a message that are to.
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

// putOff has the lines tell of a message, again perhaps, when it has been put off long enough.
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

// settled notes that a question waits for no answer any more.
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

// Busy reports whether somebody waits: letters to be told within a day, or a button to be pressed. A channel that has
// failed for long, of which the person knows, is waited for no more.
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

// Wake says how the user will be told of mail that comes now: the names of channels or, if all of these are silent for
// the time being, mail.WakeDeferred and until when. "" means not at all. It does not block.
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

// Channels says how it stands with each channel.
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

// Troubles says what is wrong with channels.
func (n *Notifier) Troubles() []string {
	var out []string
	for _, c := range n.Channels() {
		if c.Failed != "" {
			out = append(out, "notify "+c.Name+": "+c.Failed)
		}
	}
	return out
}

// Test sends a note through a channel, or through all if name is "", and says what each answered.
func (n *Notifier) Test(ctx context.Context, name string) ([]wire.NotifyTested, error) {
	var names []string
	out := []wire.NotifyTested{}
	for _, l := range n.lines {
		names = append(names, l.name)
		if name != "" && name != l.name {
			continue
		}
		note := &Note{ID: noteID(l.name, "test", time.Now().String()), Subject: "Pennypost can reach you here",
			Text: "This is a test. You are told of " + inWords(l.tell.What) + ".", Letters: []Letter{}}
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
		return nil, mail.Errorf(mail.Invalid, "there is no channel to reach you by. Add a section [notify.desktop], "+
			"or of another channel, to the configuration (docs/notify.md), then: pennypost stop")
	case len(out) == 0:
		return nil, mail.Errorf(mail.Invalid, "there is no channel %q; those of the configuration are %s", name,
			strings.Join(names, ", "))
	}
	return out, nil
}

// reached has a line tell at once what it could not before.
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
