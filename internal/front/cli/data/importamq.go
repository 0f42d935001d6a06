package data

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"pennypost/internal/base/wording"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/mail/amq"
)

// amqOutcome is the outcome for an AMQ root.
type amqOutcome struct {
	mail.Imported
	Messages int                `json:"messages"` // in the root
	Files    int                `json:"files"`    // files with these messages
	Dry      bool               `json:"dry_run,omitzero"`
	Skipped  []amq.Skipped      `json:"skipped_files"`
	Boxes    map[mail.Name]*box `json:"boxes"`
	Missing  []mail.ID          `json:"missing,omitempty"` // not in the room after the import
}

// box compares the inbox of an agent with the same messages in the room. A message unread there may have been read
// here since; one read there and unread here is wrong.
type box struct {
	amq.Box
	Room  *amq.Box `json:"room,omitempty"`
	wrong int
}

func (a *app) importAMQ(ctx context.Context, root string, dry bool) error {
	q, err := amq.Open(a.Absolute(root))
	if err != nil {
		return err
	}
	out := amqOutcome{Messages: q.Len(), Files: q.Files, Dry: dry, Boxes: make(map[mail.Name]*box)}
	for name, b := range q.Boxes {
		out.Boxes[name] = &box{Box: *b}
	}
	svc, err := a.Service(ctx)
	if err != nil {
		return err
	}
	switch {
	case dry:
		err = out.predict(ctx, svc, q)
	case q.Len() > 0:
		if out.Imported, err = a.importItems(ctx, svc, q.Items()); err == nil {
			err = out.compare(ctx, svc, q)
		}
	}
	out.Skipped = q.Skipped
	if err := cli.Answer(a.App, &out, err, a.showAMQ); err != nil {
		return err
	}
	return out.check()
}

// predict counts what an import would add.
func (o *amqOutcome) predict(ctx context.Context, svc mail.Service, q *amq.Queue) error {
	for it := range q.Headers() {
		switch _, err := svc.Message(ctx, it.ID); {
		case err == nil:
			o.Imported.Skipped++
		case mail.CodeOf(err) == mail.NotFound:
			o.Added++
		default:
			return err
		}
	}
	return nil
}

// compare looks up each message of the root in the room.
func (o *amqOutcome) compare(ctx context.Context, svc mail.Service, q *amq.Queue) error {
	for it := range q.Headers() {
		got, err := svc.Message(ctx, it.ID)
		if mail.CodeOf(err) == mail.NotFound {
			o.Missing = append(o.Missing, it.ID)
			continue
		}
		if err != nil {
			return err
		}
		for _, d := range it.Deliveries {
			if d.State != mail.Archived {
				o.Boxes[d.Agent].add(d, got.Deliveries)
			}
		}
	}
	return nil
}

func (b *box) add(there mail.Delivery, here []mail.Delivery) {
	if b.Room == nil {
		b.Room = new(amq.Box)
	}
	for _, d := range here {
		if d.Address != there.Address {
			continue
		}
		if d.State == mail.Read || d.State == mail.Archived {
			b.Room.Read++
			return
		}
	}
	b.Room.Unread++
	if there.State == mail.Read {
		b.wrong++
	}
}

// check is the comparison's verdict.
func (o *amqOutcome) check() error {
	wrong := 0
	for _, b := range o.Boxes {
		wrong += b.wrong
	}
	if len(o.Missing) == 0 && wrong == 0 {
		return nil
	}
	return mail.Errorf(mail.Conflict, "the counts differ: %s of AMQ are missing here, and %d read messages of "+
		"AMQ are unread here. Nothing was changed in AMQ", wording.Plural(len(o.Missing), "message"), wrong)
}

func (a *app) showAMQ(o *amqOutcome) error {
	for _, s := range o.Skipped {
		a.Out.Line("skipped: %s: %s", s.File, s.Why)
	}
	a.Out.Line("AMQ has %s in %s; %s skipped.", wording.Plural(o.Messages, "message"),
		wording.Plural(o.Files, "file"), wording.Plural(len(o.Skipped), "file"))
	rows := [][]string{{"inbox", "unread", "read", "unread here", "read here"}}
	for _, name := range slices.Sorted(maps.Keys(o.Boxes)) {
		b := o.Boxes[name]
		row := []string{string(name), strconv.Itoa(b.Unread), strconv.Itoa(b.Read)}
		if b.Room != nil {
			row = append(row, strconv.Itoa(b.Room.Unread), strconv.Itoa(b.Room.Read))
		}
		rows = append(rows, row)
	}
	if len(rows) > 1 {
		a.Out.Table(rows)
	}
	if o.Dry {
		a.Out.Line("%s would be added, %d already present. Nothing was written.",
			wording.Plural(o.Added, "message"), o.Imported.Skipped)
		return nil
	}
	a.Out.Line("%s added, %d already present.", wording.Plural(o.Added, "message"), o.Imported.Skipped)
	return nil
}
