package check

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// longestNote limits the line before the text of a message that was due several times, in bytes.
const longestNote = 200

// Schedule decides that a checked draft waits until it is sent.
func (v *View) Schedule(p *Plan, d mail.Draft) ([]mail.Event, mail.Time, error) {
	due, err := v.dueAt(&d)
	if err != nil {
		return nil, 0, err
	}
	if err := cmp.Or(v.lastingRight(), v.mayWait(due, nil)); err != nil {
		return nil, 0, err
	}
	c := v.later(p, d, due)
	if m := v.Me(); m != nil && m.Session == "" {
		c.Token = m.TokenSum
	}
	if v.Pass != nil {
		c.Through, c.Pass = v.Pass.Machine, v.Pass.ID
	}
	return append(p.Pulse, mail.Event{At: v.Now, Schedule: c}), due, nil
}

// later returns the change that records a draft that is first due at a time.
func (v *View) later(p *Plan, d mail.Draft, due mail.Time) *mail.ScheduleChange {
	c := &mail.ScheduleChange{ID: p.Message.ID, From: p.Message.From.Signer(), Due: due,
		Every: d.Every, Until: d.Until, Right: mail.Right{Means: v.Means}}
	if d.Every != "" {
		c.Zone = cmp.Or(d.Zone, "UTC")
	}
	d.Later = mail.Later{}
	c.Draft = &d
	return c
}

// SameScheduled returns the message that the caller has scheduled with a key; nil: none.
func (v *View) SameScheduled(key string) *mail.Scheduling {
	for _, c := range v.Scheduled {
		if key != "" && c.Draft.Key == key && v.owns(c) {
			return c
		}
	}
	return nil
}

// dueAt returns when a draft is first sent.
func (v *View) dueAt(d *mail.Draft) (mail.Time, error) {
	if d.Every == "" {
		if d.Zone != "" || d.Until != 0 {
			return 0, mail.Errorf(mail.Invalid, "a time zone and an end need every: nothing was sent")
		}
		return mail.DueAt(d.At, d.In, v.Now)
	}
	if d.At != 0 || d.In != 0 {
		return 0, mail.Errorf(mail.Invalid, "every excludes at and in: give only one of them. Nothing was sent")
	}
	if !v.IsUser() {
		return 0, mail.Errorf(mail.Denied, "only the user may schedule recurring messages: nothing was sent. Use "+
			"at instead")
	}
	return v.firstOf(d)
}

// firstOf returns when a recurring draft is first sent.
func (v *View) firstOf(d *mail.Draft) (mail.Time, error) {
	if len(d.Body) > v.MaxBody-longestNote {
		return 0, mail.Errorf(mail.TooLarge, "the body has %d bytes; the limit for a recurring message is %d. "+
			"Nothing was sent", len(d.Body), v.MaxBody-longestNote)
	}
	due, _, err := nextOf(&mail.Scheduled{Every: d.Every, Zone: d.Zone, Until: d.Until}, v.Now)
	if err == nil && due == 0 {
		err = mail.Errorf(mail.Invalid, "the end is before the first time: give a later end. Nothing was sent")
	}
	return due, err
}

// lastingRight refuses a caller whose right could not be checked when the time comes.
func (v *View) lastingRight() error {
	switch {
	case v.Foreign || v.Across:
		return mail.Errorf(mail.Denied, "a scheduled message stays in the sender's own room: nothing was sent")
	case v.Means == mail.ByScript:
		return mail.Errorf(mail.Denied, "a script's credential cannot schedule messages, because it may have "+
			"expired by then: nothing was sent. Let the script wait, or schedule the message yourself")
	case v.Pass != nil && v.Machine != "":
		return mail.Errorf(mail.Denied, "several machines have room %s open, and one of them admitted this "+
			"machine; another could not check that when the message is due: nothing was sent", v.Room)
	}
	return nil
}

// mayWait refuses a message that the caller must not schedule for due. moved is the scheduled message that it
// replaces, if any.
func (v *View) mayWait(due mail.Time, moved *mail.Scheduling) error {
	mine := 0
	for _, c := range v.Scheduled {
		if !v.owns(c) || c == moved {
			continue
		}
		mine++
		if apart := c.At.Sub(due).Abs(); !v.IsUser() && apart < mail.ScheduledApart {
			return mail.Errorf(mail.Limited, "you already have %s scheduled at %s, and messages must be %d minutes "+
				"apart: give another time, or cancel that one. Nothing was changed", c.ID, c.At,
				int(mail.ScheduledApart.Minutes()))
		}
	}
	switch {
	case v.IsUser() && mine >= mail.MaxScheduled, !v.IsUser() && mine >= mail.MaxScheduledMine:
		return mail.Errorf(mail.Limited, "you already have %d scheduled messages, the maximum: cancel some "+
			"(pennypost scheduled cancel ID), or send this one now. Nothing was sent", mine)
	case !v.IsUser() && due > v.Now.Add(mail.MaxAheadMine):
		return mail.Errorf(mail.Invalid, "an agent may schedule at most %d days ahead: give an earlier time. "+
			"Nothing was changed", int(mail.MaxAheadMine/(24*time.Hour)))
	}
	return nil
}

// owns reports whether the caller has scheduled c, under any of its names.
func (v *View) owns(c *mail.Scheduling) bool {
	m := v.Me()
	return m != nil && v.Members[c.From] == m
}

// mine returns a scheduled message that the caller may see and change; the user may for all.
func (v *View) mine(id mail.ID) (*mail.Scheduling, error) {
	if c := v.Scheduled[id]; c != nil && (v.IsUser() || v.owns(c)) {
		return c, nil
	}
	return nil, mail.Errorf(mail.NotFound, "no scheduled message %q: nothing was changed. Scheduled messages: "+
		"pennypost scheduled", id)
}

// ListScheduled returns the scheduled messages that the caller may see.
func (v *View) ListScheduled() mail.ScheduledList {
	list := mail.ScheduledList{Scheduled: []mail.Scheduled{}}
	for _, c := range v.ToSend() {
		if v.IsUser() || v.owns(c) {
			list.Scheduled = append(list.Scheduled, c.Scheduled)
		}
	}
	return list
}

// Reschedule decides that a message is sent at another time.
func (v *View) Reschedule(r mail.Rescheduling) (events []mail.Event, now mail.Scheduled, err error) {
	c, err := v.mine(r.ID)
	if err != nil {
		return nil, now, err
	}
	if r.At == 0 && r.In == 0 {
		return nil, now, mail.Errorf(mail.Invalid, "give a time to send it: nothing was changed")
	}
	due, err := mail.DueAt(r.At, r.In, v.Now)
	if err != nil {
		return nil, now, err
	}
	if err := v.mayWait(due, c); err != nil {
		return nil, now, err
	}
	now = c.Scheduled
	now.At = due
	change := &mail.ScheduleChange{ID: c.ID, By: v.Who, Was: c.At, Due: due}
	return []mail.Event{{At: v.Now, Schedule: change}}, now, nil
}

// Unschedule decides that a message is not sent.
func (v *View) Unschedule(id mail.ID) ([]mail.Event, error) {
	c, err := v.mine(id)
	if err != nil {
		return nil, err
	}
	return []mail.Event{{At: v.Now, Schedule: &mail.ScheduleChange{ID: c.ID, By: v.Who, End: true}}}, nil
}

// nextOf returns when c is first sent after a time, 0: never again; and how often it was due from c.At until then.
func nextOf(c *mail.Scheduled, after mail.Time) (due mail.Time, times int, err error) {
	if c.Every == "" {
		return 0, 1, nil
	}
	cron, err := mail.ParseCron(c.Every)
	if err != nil {
		return 0, 0, err
	}
	zone, err := time.LoadLocation(c.Zone)
	if err != nil || c.Zone == "Local" {
		return 0, 0, mail.Errorf(mail.Invalid, "unknown time zone %q: use a name like Europe/Berlin, or UTC. "+
			"Nothing was sent", c.Zone)
	}
	at := c.At
	if at == 0 {
		at = after
	} else {
		times = 1
	}
	for ; times < maxMissed; times++ {
		next := mail.TimeOf(cron.Next(at.Std().In(zone)))
		if next > after {
			return until(next, c.Until), times, nil
		}
		if until(next, c.Until) == 0 {
			return 0, times, nil
		}
		at = next
	}
	return until(mail.TimeOf(cron.Next(after.Std().In(zone))), c.Until), times, nil
}

// maxMissed limits the count of missed occasions: a week of minutes.
const maxMissed = 7 * 24 * 60

func until(next, end mail.Time) mail.Time {
	if next <= 0 || end != 0 && next > end {
		return 0
	}
	return next
}

// Occasion is a scheduled message that is due.
type Occasion struct {
	*mail.Scheduling
	Draft mail.Draft // what is sent now
	Once  bool
	Next  mail.Time // when it is due again; 0: never
	Void  string    // why it is not sent; "": it is
}

// DueNow returns the message that is due first, nil if none is; next is when to call it again, 0 if nothing waits.
func (v *View) DueNow() (o *Occasion, next mail.Time) {
	waiting := v.ToSend()
	if len(waiting) == 0 {
		return nil, 0
	}
	c := waiting[0]
	if c.At > v.Now {
		return nil, c.At
	}
	due, times, err := nextOf(&c.Scheduled, v.Now)
	o = &Occasion{Scheduling: c, Draft: c.Draft, Next: due, Once: c.Every == "", Void: v.void(c)}
	if err != nil {
		o.Void = err.Error()
	}
	if o.Draft.Key == "" || !o.Once {
		o.Draft.Key = fmt.Sprintf("later-%s-%d", c.ID, c.At)
		o.Draft.Again = true // the repeated text is intended
	}
	if times > 1 {
		o.Draft.Body = fmt.Sprintf("(This was due %d times since %s; it is sent once.)\n\n%s", times,
			inZone(c.At, c.Zone), o.Draft.Body)
	}
	return o, c.At
}

func inZone(at mail.Time, zone string) string {
	z, err := time.LoadLocation(zone)
	if err != nil {
		z = time.UTC
	}
	return at.Std().In(z).Format("2006-01-02 15:04 MST")
}

// void says why nothing is sent any more in the name of c's maker; "": it is sent.
func (v *View) void(c *mail.Scheduling) string {
	m := v.Members[c.From]
	switch {
	case c.Pass != "" && !v.LetIn(c.Through, c.Pass):
		return "the machine " + string(c.Through) + ", through which it was scheduled, was revoked"
	case c.From == mail.User:
		return ""
	case m == nil || !m.Listed():
		return string(c.From) + " is no longer an agent of the room"
	case c.Token != "" && m.TokenSum != c.Token:
		return "the token with which " + string(c.From) + " scheduled it is no longer valid"
	}
	return ""
}

// Sender returns the caller in whose name an occasion's message is sent.
func (o *Occasion) Sender() Caller {
	by := Caller{Who: o.From, Means: o.Means, Absent: true}
	if o.Once {
		by.Copies = o.ID
	}
	return by
}

// After returns the events that record the end of an occasion and, if it was refused or did not happen, the message
// that tells its maker, or the user if the maker has gone.
func (v *View) After(o *Occasion, refused string) []mail.Event {
	c := &mail.ScheduleChange{ID: o.ID, By: mail.System, Was: o.At, Due: o.Next, End: o.Next == 0 || o.Void != ""}
	events := []mail.Event{{At: v.Now, Schedule: c}}
	if refused == "" {
		return events
	}
	m := v.Members[o.From]
	if o.Void != "" || m == nil {
		m = v.Members[mail.User]
	}
	to := strings.Join(o.Draft.To, ", ")
	subject := "Not sent: " + cmp.Or(o.Draft.Subject, "a message to "+to)
	text := fmt.Sprintf("%s scheduled a message to %s for %s, but it was not sent: %s\n", o.From, to, o.At, refused)
	if !c.End {
		text += "\nIt is due again at " + o.Next.String() + ". To cancel it: pennypost scheduled cancel " +
			string(o.ID) + "\n"
	}
	return append(events, v.tell(m, fmt.Sprintf("unsent %s %d", o.ID, o.At), subject, text))
}
