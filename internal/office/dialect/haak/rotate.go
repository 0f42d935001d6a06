package haak

import (
	"context"
	"fmt"
	"time"

	"pennypost/internal/mail"
)

// maxMailbox is how many messages the mailbox holds before settled ones move to the archive.
const maxMailbox = 1000

// again is how long rotation leaves alone a mailbox that it could not make small enough and that does not grow.
const again = time.Minute

// rotation is the time and the result of the last rotation.
type rotation struct {
	tried  time.Time
	size   int
	notice string
}

// settled reports whether a message may leave the mailbox: everyone whom it can reach has read it, it has expired,
// or its reader is dead. A message past the room's retention is settled too, except role mail, which stays until it
// is taken.
func settled(it *mail.Item, now mail.Time, retain time.Duration) bool {
	role := false
	for _, a := range it.To {
		role = role || a.Kind() == mail.ToRole && !isSessionID(a.Value()) // older versions took an id for a role
	}
	if !role && retain > 0 && now.Sub(it.Sent) > retain+24*time.Hour {
		return true
	}
	for _, d := range it.Deliveries {
		switch d.State {
		case mail.Read, mail.Archived, mail.Expired, mail.Dead:
		default:
			return false
		}
	}
	return true
}

// rotate moves settled messages from an overfull mailbox to the archive. The archive is durable before the mailbox
// is replaced, so a crash leaves at most messages in both, which their ids identify.
func (f *files) rotate(ctx context.Context) error {
	if f.o.Bridge.Mode == mail.BridgeFollow || len(f.box) <= maxMailbox {
		f.rotation = rotation{}
		return nil
	}
	if f.unconfirmed || len(f.pending.Items) > 0 {
		return nil // not settled until the room has them
	}
	if now := f.o.Now(); len(f.box) <= f.size && now.Sub(f.tried) < again {
		return nil
	}
	months, waiting, err := f.movable(ctx)
	if err != nil {
		return err
	}
	if err := f.archiveMessages(months); err != nil {
		return err
	}
	if err := f.archiveReads(months); err != nil {
		return err
	}
	if err := f.drop(months); err != nil {
		return err
	}
	f.rotation = rotation{tried: f.o.Now(), size: len(f.box)}
	if waiting > maxMailbox {
		f.notice = fmt.Sprintf("the mailbox holds %d messages: %d that still wait for a reader stay in it", len(f.box),
			waiting)
	}
	return nil
}

// movable returns the settled messages of the mailbox with their months, and the number of messages that still wait
// for a reader.
func (f *files) movable(ctx context.Context) (months map[mail.ID]string, waiting int, err error) {
	months = make(map[mail.ID]string)
	now := mail.TimeOf(f.o.Now())
	for it, err := range f.o.Service.Export(ctx) {
		if err != nil {
			return nil, 0, err
		}
		f.working()
		switch {
		case !f.box[it.ID]:
		case settled(&it, now, f.o.RetainAge):
			months[it.ID] = it.Sent.Std().Format(monthLayout)
		default:
			waiting++
		}
	}
	return months, waiting, nil
}

// archiveMessages appends the lines of these messages to their months' files.
func (f *files) archiveMessages(months map[mail.ID]string) error {
	text, _, err := f.mailbox.Again().Read()
	if err != nil {
		return err
	}
	byMonth := make(map[string][][]byte)
	for _, l := range text {
		f.working()
		if id := idOf(l); months[id] != "" && f.months[id] == "" {
			byMonth[months[id]] = append(byMonth[months[id]], l)
			f.months[id] = months[id]
		}
	}
	return f.append(byMonth, "")
}

// archiveReads appends the reads of archived messages to their months' files.
func (f *files) archiveReads(months map[mail.ID]string) error {
	text, _, err := f.reads.Again().Read()
	if err != nil {
		return err
	}
	byMonth := make(map[string][][]byte)
	for _, l := range text {
		f.working()
		r, err := decodeReading(l, f.known())
		if err != nil || f.stays(r.message, months) || f.moved[pair{r.message, r.reader}] {
			continue
		}
		byMonth[f.months[r.message]] = append(byMonth[f.months[r.message]], l)
		f.moved[pair{r.message, r.reader}] = true
	}
	return f.append(byMonth, readsSuffix)
}

// stays reports whether a message remains outside the archive after these messages have left the mailbox.
func (f *files) stays(id mail.ID, months map[mail.ID]string) bool {
	return f.months[id] == "" || f.box[id] && months[id] == ""
}

func (f *files) append(byMonth map[string][][]byte, suffix string) error {
	for month, text := range byMonth {
		if err := f.month(month + suffix).Append(text...); err != nil {
			return err
		}
	}
	return nil
}

// drop removes archived lines from mailbox and reads.
func (f *files) drop(months map[mail.ID]string) error {
	if err := f.mailbox.Drop(func(l []byte) bool {
		f.working()
		return months[idOf(l)] != ""
	}); err != nil {
		return err
	}
	for id := range months {
		delete(f.box, id)
	}
	return f.reads.Drop(func(l []byte) bool {
		f.working()
		r, err := decodeReading(l, f.known())
		return err == nil && !f.stays(r.message, nil) && f.moved[pair{r.message, r.reader}]
	})
}

// idOf returns the id in a message's line, or "".
func idOf(line []byte) mail.ID {
	o, err := parseObject(line)
	if err != nil {
		return ""
	}
	return mail.ID(o.Text("id"))
}

// erase removes a message from the mailbox and the archive.
func (f *files) erase(id mail.ID) error {
	if _, known := f.parents[id]; !known {
		return nil
	}
	gone := func(l []byte) bool { return idOf(l) == id }
	if err := f.mailbox.Drop(gone); err != nil {
		return err
	}
	if month := f.months[id]; month != "" {
		if err := f.month(month).Drop(gone); err != nil {
			return err
		}
	}
	delete(f.parents, id)
	delete(f.box, id)
	delete(f.months, id)
	return nil
}
