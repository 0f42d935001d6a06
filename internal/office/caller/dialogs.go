package caller

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialog"
	"pennypost/internal/office/gate"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/rooms"
	"pennypost/internal/office/wake/door"
	"pennypost/internal/wire"
)

// hookKey is the context key that marks the call of a client's hook.
type hookKey struct{}

// Dialog implements mail.Turner. Only hooks and the post office itself may report dialogs held on this machine:
// otherwise an agent could hide one of its own from the person, and so could a script.
func (v *Room) Dialog(ctx context.Context, c mail.DialogChange) error {
	if ctx.Value(hookKey{}) == nil && !v.ID.Own() && v.office.Asked.Holds(c.ID) {
		return mail.Errorf(mail.Denied, "only the agent's client may report this dialog. Nothing was changed")
	}
	return v.opening(&c.Process, c.Session, "").Stub.Dialog(ctx, c)
}

// Dialogs implements mail.Office.
func (o *Rooms) Dialogs(ctx context.Context, q mail.DialogQuery) (mail.Cards, error) {
	id, err := gate.Identify(ctx, "", mail.User)
	if err == nil && id.Means() == mail.ByScript {
		err = mail.Errorf(mail.Denied, "a script cannot see the dialogs of agents' clients; list them yourself")
	}
	if err != nil {
		return mail.Cards{}, err
	}
	cards, err := o.allCards(ctx, q)
	known := make(map[mail.ID]bool)
	out := mail.Cards{Cards: slices.DeleteFunc(cards, func(c mail.Card) bool {
		again := known[c.ID]
		known[c.ID] = true
		return again || len(q.Rooms) > 0 && !slices.Contains(q.Rooms, c.Room) ||
			!strings.HasPrefix(string(c.ID), string(q.ID)) || !gate.PassOf(ctx).Enters(c.Room)
	})}
	slices.SortStableFunc(out.Cards, func(a, b mail.Card) int { return cmp.Compare(a.Since, b.Since) })
	waiting := make(map[mail.RoomName][]mail.Waiting)
	for i := range out.Cards {
		c := &out.Cards[i]
		if q.ID == "" {
			c.Ask = c.Ask.Short()
		}
		if _, asked := waiting[c.Room]; !asked {
			waiting[c.Room] = o.waiting(ctx, c.Room)
		}
		c.Waiters = waitersFor(waiting[c.Room], c.Agent)
	}
	return out, err
}

// allCards returns the dialogs held here with their questions, followed by all known ones without.
func (o *Rooms) allCards(ctx context.Context, q mail.DialogQuery) (cards []mail.Card, err error) {
	held := o.Asked.All()
	known, err := o.knownCards(ctx, q)
	cards = []mail.Card{}
	for _, h := range held {
		// A dialog that is being ended disappears once its room knows of the end, not when the desk forgets it a
		// moment later: a page that asks in between was told by the room, and gets no further event.
		if o.Asked.IsOpen(h.ID) || slices.ContainsFunc(known, func(c mail.Card) bool { return c.ID == h.ID }) {
			cards = append(cards, o.cardOf(&h))
		}
	}
	return append(cards, known...), err
}

// ownCards returns the dialogs for the post office's own messages to the user.
func (o *Rooms) ownCards(ctx context.Context) (mail.Cards, error) {
	cards, err := o.allCards(ctx, mail.DialogQuery{})
	slices.SortFunc(cards, func(a, b mail.Card) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.ID, b.ID))
	})
	return mail.Cards{Cards: slices.CompactFunc(cards, func(a, b mail.Card) bool { return a.ID == b.ID })}, err
}

// knownCards returns the dialogs known in the rooms, without their questions.
func (o *Rooms) knownCards(ctx context.Context, q mail.DialogQuery) (cards []mail.Card, err error) {
	if o.Far != nil {
		there, err := o.Far.There.Dialogs(ctx, q)
		return there.Cards, err
	}
	o.Set.Each(func(e *rooms.Entry) {
		for _, a := range e.Room.Asking() {
			for _, d := range a.Dialogs {
				cards = append(cards, mail.Card{Room: e.Room.Name(), Agent: a.Name, Client: a.Client, Dialog: d,
					Ask: mail.Ask{Cut: true}, Why: elsewhere(d.Machine)})
			}
		}
	})
	return cards, nil
}

func elsewhere(m mail.Machine) string {
	if m == "" {
		return "its question is not on this machine: answer in its terminal"
	}
	return "its question is on " + string(m) + ": answer there, or in its terminal"
}

// cardOf returns a dialog held here as the person sees it.
func (o *Rooms) cardOf(h *hook.Held) mail.Card {
	c := mail.Card{Room: h.Room, Agent: h.Agent, Client: h.Client, Dialog: h.Dialog, Ask: h.Ask, Beside: h.Beside}
	c.Sum, c.Since = h.Shown(), mail.TimeOf(h.Opened)
	waits, handed := o.Asked.Waits(h.ID)
	switch {
	case len(h.Offers) == 0 && h.Doubt:
		c.Why = "answer in its terminal, unless you already did; " + h.Client + " does not report that"
	case len(h.Offers) == 0:
		c.Why = "answer in its terminal: " + h.Client + " accepts answers only there"
	case handed:
		c.Why = "it is being answered"
	case !waits:
		c.Why = "answer in its terminal: its hook has ended, or the post office has restarted"
	default:
		c.Here = true
	}
	return c
}

// mostWaiters is how many waiting agents a card shows.
const mostWaiters = 20

// waiting returns who waits for whom in a room; nothing if the room cannot be read now.
func (o *Rooms) waiting(ctx context.Context, room mail.RoomName) []mail.Waiting {
	list, err := o.Own(ctx, room, mail.User).Waiting(ctx, mail.WaitingQuery{Limit: mail.MaxLimit})
	if err != nil {
		o.Set.Log.Debug("the agents that wait for an agent at a dialog are unknown", "room", room, "err", err)
	}
	return list.Waiting
}

// waitersFor returns the waits for an agent, including indirect ones.
func waitersFor(waiting []mail.Waiting, agent mail.Name) (list []mail.Waiting) {
	for _, w := range waiting {
		if w.Asker != agent && w.Asker != mail.User && slices.Contains(w.Chain, agent) && len(list) < mostWaiters {
			list = append(list, w)
		}
	}
	return list
}

// AnswerDialog implements mail.Office. Only the person's own act counts.
func (o *Rooms) AnswerDialog(ctx context.Context, a mail.DialogAnswer) error {
	h, held := o.Asked.Find(a.Dialog)
	if !held && o.Far != nil {
		return o.Far.There.AnswerDialog(ctx, a)
	}
	if !held {
		return mail.Errorf(mail.NotFound, "no dialog %s is open on this machine: it was answered, or its agent has "+
			"left. Nothing was done", a.Dialog)
	}
	id, err := gate.Identify(ctx, h.Room, mail.User)
	if err != nil {
		return err
	}
	if !id.Means().IsAct() {
		return mail.Errorf(mail.Denied, "only you can answer an agent's dialog: use the pages, your phone or your "+
			"own terminal. Nothing was done")
	}
	if o.Confirm != nil {
		if err := o.Confirm.Check(ctx); err != nil {
			return err
		}
	}
	how, err := o.Asked.Answer(&a, func() bool { return o.goes(ctx, &h) })
	svc := o.Own(ctx, h.Room, mail.User)
	switch {
	case err == nil:
		return o.Asked.Answered(ctx, svc, &h, &a, id.Means())
	case how != "":
		return errors.Join(err, o.Asked.Settle(ctx, svc, &h, how))
	}
	return err
}

// Away implements httpapi.Away.
func (o *Rooms) Away(_ context.Context) (wire.Aways, error) {
	return wire.Aways{Away: o.Asked.AwayFor()}, nil
}

// SetAway implements httpapi.Away.
func (o *Rooms) SetAway(ctx context.Context, a wire.Away) (wire.Aways, error) {
	id, err := gate.Identify(ctx, a.Room, mail.User)
	switch {
	case err != nil:
		return wire.Aways{}, err
	case !id.Means().IsAct():
		return wire.Aways{}, mail.Errorf(mail.Denied,
			"only you can set that you are away. Nothing was changed")
	case time.Until(a.Until.Std()) > mostAway:
		return wire.Aways{}, mail.Errorf(mail.Invalid, "you can be away for at most %d hours. Nothing was changed",
			int(mostAway.Hours()))
	}
	if err := o.Asked.SetAway(a); err != nil {
		return wire.Aways{}, err
	}
	return o.Away(ctx)
}

// goesTime is how long a client may take to close its dialog.
const goesTime = 2 * time.Second

// goes waits until a client that records its state has closed a dialog. With other clients, and with several dialogs
// in a session, that is not known. The Copilot CLI itself reports that it has taken an answer.
func (o *Rooms) goes(ctx context.Context, h *hook.Held) bool {
	if h.Client == "copilot" {
		return true
	}
	for until := time.Now().Add(goesTime); time.Now().Before(until); {
		if open, known := o.atDialog(h); !known || !open || len(o.Asked.Of(h.Client, h.Session)) > 1 {
			return true
		}
		if !pause.For(ctx, 20*time.Millisecond) {
			break
		}
	}
	return false
}

// mostAway limits an absence of the person: agents stand still that long at dialogs that no person sees.
const mostAway = 24 * time.Hour

// clientDialogs are the dialogs in the form that hooks use.
type clientDialogs struct {
	*dialog.Desk
	office *Rooms
}

// Settle does not trust a hook that reports the end of a dialog while the client's record says that it is open: a
// command of the agent may have run it. TendDialogs checks again. With several open, the record does not say which.
func (d clientDialogs) Settle(ctx context.Context, svc hook.Service, h *hook.Held, how mail.DialogOutcome) error {
	if open, known := d.office.atDialog(h); known && open && len(d.Of(h.Client, h.Session)) == 1 {
		d.Believe(h.ID, how)
		return nil
	}
	if n, ok := d.office.noted(h, h.Opened); ok && how == mail.DialogEnded {
		how = n.How
	}
	return d.Desk.Settle(ctx, svc, h, how)
}

// atDialog reports whether a client's record says that a session is at a dialog; known is false if there is no record.
func (o *Rooms) atDialog(h *hook.Held) (open, known bool) {
	s, lives := o.Set.Reach.Sessions.Find(h.Client, h.Session)
	switch {
	case !lives:
		return false, false
	case h.Client == "claude":
		return o.Set.Reach.Claude.Waits(&s)
	case h.Client == "copilot":
		d, known := o.Set.Reach.Copilot.Asks(&s)
		return d.Open, known
	}
	return false, false
}

// noted returns the Copilot CLI's record of a session's last ended dialog; ok is false for other clients, and if that
// dialog ended before since.
func (o *Rooms) noted(h *hook.Held, since time.Time) (d door.CopilotDialog, ok bool) {
	s, lives := o.Set.Reach.Sessions.Find(h.Client, h.Session)
	if h.Client != "copilot" || !lives {
		return d, false
	}
	d, known := o.Set.Reach.Copilot.Asks(&s)
	return d, known && !d.Open && d.At.After(since)
}

// atOnce is how soon Copilot answers by itself when there is no person to ask.
const atOnce = 2 * time.Second

// Open omits a dialog that was already answered because no person attends a headless run.
func (d clientDialogs) Open(ctx context.Context, svc hook.Service, h hook.Held) (mail.ID, error) {
	if n, ok := d.office.noted(&h, time.Now().Add(-atOnce)); ok && n.Nobody && len(h.Offers) == 0 {
		return "", nil
	}
	return d.Desk.Open(ctx, svc, h)
}

// Timing of checks for dialogs.
const (
	tendPause   = 400 * time.Millisecond
	orphanPause = 8 * time.Second  // for dialogs not held here, and while none is open
	drawnWithin = 10 * time.Second // after the start of its hook: 7 s were seen on a busy machine
	// hooksTime is how long a hook may take to report the outcome of a dialog that is no longer there.
	hooksTime = 700 * time.Millisecond
	// certainTime is how long a dialog counts as certainly open if its client does not report that its person closes
	// it. Attending people answer within that; whether others have is not known.
	certainTime = 30 * time.Second
)

// TendDialogs ends, until ctx ends, the dialogs of programs that have ended, and those that a client's record no
// longer shows; and it tells rooms which dialogs may have been answered without a report.
func (o *Rooms) TendDialogs(ctx context.Context) {
	var looked time.Time
	for long := time.Duration(0); o.Asked.Opened.Await(ctx, long); {
		if time.Since(looked) >= orphanPause {
			looked = time.Now()
			o.endOrphans(ctx, drawnWithin)
		}
		o.Asked.Back()
		open := o.Asked.All()
		for _, h := range open {
			if err := o.tend(ctx, &h); err != nil {
				o.Set.Log.Warn("dialog not reported to the room", "room", h.Room, "agent", h.Agent, "err", err)
			}
		}
		if long = tendPause; len(open) == 0 {
			long = orphanPause
		}
	}
}

// tend tells the room the outcome of a dialog, as far as it is visible.
func (o *Rooms) tend(ctx context.Context, h *hook.Held) error {
	svc := o.Own(ctx, h.Room, mail.User)
	if how, over := o.over(h); over {
		return o.Asked.Settle(ctx, svc, h, how)
	}
	if h.Unseen && !h.Doubt && time.Since(h.Opened) >= certainTime {
		return o.Asked.Doubt(ctx, svc, h)
	}
	return nil
}

// endOrphans ends dialogs that have been open in rooms for some time, for sessions on this machine, but are not held
// here: the file was lost, or the dialog ended while it opened. If it is still open, its client shows it.
func (o *Rooms) endOrphans(ctx context.Context, older time.Duration) {
	type orphan struct {
		room mail.RoomName
		mail.DialogChange
	}
	var all []orphan
	o.Set.Each(func(e *rooms.Entry) {
		for _, a := range e.Room.Asking() {
			if _, lives := o.Set.Reach.Sessions.Find(a.Client, a.Session); !lives {
				continue
			}
			for _, d := range a.Dialogs {
				if !o.Asked.Holds(d.ID) && time.Since(d.Since.Std()) >= older {
					all = append(all, orphan{e.Room.Name(), mail.DialogChange{Dialog: d, Agent: a.Name,
						Session: a.Session, Outcome: mail.DialogEnded, Where: mail.AtClient}})
				}
			}
		}
	})
	for _, d := range all {
		if err := o.Own(ctx, d.room, mail.User).Dialog(ctx, d.DialogChange); err != nil {
			o.Set.Log.Warn("dialog not ended", "room", d.room, "agent", d.Agent, "err", err)
		}
	}
}

// over reports whether a dialog is over as far as is visible without its hooks, and how it ended.
func (o *Rooms) over(h *hook.Held) (how mail.DialogOutcome, over bool) {
	if h.Process != "" && !o.Set.Alive(h.Process) {
		return mail.DialogEnded, true
	}
	open, known := o.atDialog(h)
	if !known {
		return "", false
	}
	if d, ok := o.noted(h, h.Opened); ok && time.Since(d.At) > hooksTime {
		return d.How, true
	}
	waits, handed := o.Asked.Waits(h.ID)
	if waits && !h.Beside {
		return "", false // it is drawn when its hook has ended
	}
	drawn, since, believed := o.Asked.Seen(h.ID, open)
	if open || time.Since(since) < hooksTime || !drawn && time.Since(h.Opened) < drawnWithin {
		return "", false
	}
	if drawn && waits && !handed {
		return hook.Used(h.Kind), true // a no ends the hook; a yes leaves it waiting
	}
	return cmp.Or(believed, mail.DialogEnded), true
}
