package web

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
	"pennypost/internal/office/web/undo"
	"pennypost/internal/office/web/words"
)

// eraseTimeout bounds a deletion, which rewrites every file that holds the message.
const eraseTimeout = time.Minute

// undoMS is how long a toast stays by which something can be taken back that has not been done yet.
const undoMS = int(undo.Time / time.Millisecond)

// acted answers with a toast that tells what was done.
func acted(v *view, d toast) error { return v.changed(v.next(), "pp-done", "toast-done", d) }

// mark carries out what a person does with messages: read, unread, archived, unarchived, snoozed. Before a question is
// archived that still waits for an answer, the person is asked, once for all of them.
func mark(v *view) error {
	list, err := chosen(v)
	if err != nil {
		return err
	}
	q := mail.Marking{Mark: mail.Mark(v.r.PostForm.Get("mark"))}
	if q.Mark == mail.MarkSnoozed {
		if q.Until, err = snoozeUntil(v.r.PostForm, v.Now); err != nil {
			return err
		}
	}
	var declines []post
	if open := slices.DeleteFunc(slices.Clone(list), func(f post) bool { return !f.Asks() }); q.Mark ==
		mail.MarkArchived && len(open) > 0 {
		switch v.r.PostForm.Get("open") {
		case "archive":
		case "leave":
			list = slices.DeleteFunc(list, post.Asks)
		case "decline":
			declines = open
		default:
			return askArchive(v, list, open)
		}
	}
	changed, err := markAll(v, list, q)
	if err != nil {
		return err
	}
	d := toast{view: v, Messages: asPosted(v, list), MS: 6000}
	d.Text, d.Done = markedText(list, q.Mark, words.Moment(v.Now, q.Until))
	act := &undo.Deed{Back: func(ctx context.Context) error { return takeMarksBack(ctx, changed, q.Mark) }}
	if len(declines) > 0 {
		d.Text += ", and declined " + wording.Plural(len(declines), "question")
		d.MS = undoMS
		decline(act, declines)
	}
	d.Undo = v.site.Undo.Add(act)
	return acted(v, d)
}

// markedText says what was done, and what our script is to make of it.
func markedText(list []post, m mail.Mark, until string) (text, shows string) {
	count := ""
	if n := len(list); n > 1 {
		count = " " + strconv.Itoa(n) + " messages"
	}
	switch m {
	case mail.MarkArchived:
		return "Archived" + count, "gone"
	case mail.MarkSnoozed:
		if count != "" {
			return "Snoozed" + count + " until " + until, "gone"
		}
		return "Back " + until, "gone"
	case mail.MarkUnarchived:
		return "Back in the inbox", "back"
	}
	if slices.ContainsFunc(list, func(f post) bool { return f.Snoozed != 0 || f.State == mail.Archived }) {
		return "Marked" + count + " " + string(m), "back"
	}
	return "Marked" + count + " " + string(m), string(m)
}

// markAll marks messages, and returns those that were otherwise, as they were.
func markAll(v *view, list []post, q mail.Marking) (changed []post, err error) {
	for _, in := range byRoom(list) {
		q.IDs = nil
		for _, f := range in {
			q.IDs = append(q.IDs, f.ID)
		}
		marked, err := in[0].svc.Mark(v.ctx(), q)
		if err != nil {
			return changed, err
		}
		for _, f := range in {
			if slices.Contains(marked.Marked, f.ID) {
				changed = append(changed, f)
			}
		}
	}
	return changed, nil
}

// takeMarksBack makes messages what they were before a mark.
func takeMarksBack(ctx context.Context, changed []post, m mail.Mark) error {
	type how struct {
		mark  mail.Mark
		until mail.Time
	}
	for _, in := range byRoom(changed) {
		ids := make(map[how][]mail.ID)
		for _, f := range in {
			mark, until := triage.Before(&f.Item, m)
			back := how{mark, until}
			ids[back] = append(ids[back], f.ID)
		}
		for back, list := range ids {
			q := mail.Marking{IDs: list, Mark: back.mark, Until: back.until}
			if _, err := in[0].svc.Mark(ctx, q); err != nil {
				return err
			}
		}
	}
	return nil
}

// asksArchive is the question before questions are archived that still wait for an answer.
type asksArchive struct {
	*view
	Messages string // all that is to be archived
	Waiting  []post // of these; they are few, or only the first
	Rest     int    // how many more wait
	Others   int    // that wait for nothing
}

// One reports whether one question waits.
func (p asksArchive) One() bool { return len(p.Waiting) == 1 }

// AnswerHref is where the first of the questions can be answered.
func (p asksArchive) AnswerHref() string { return p.Waiting[0].LetterHref(p.Waiting[0].ID) }

// askArchive asks what to do with open among list, which is to be archived.
func askArchive(v *view, list, open []post) error {
	const shown = 5
	v.Title = "It still waits for an answer"
	if len(open) > 1 {
		v.Title = strconv.Itoa(len(open)) + " of them still wait for an answer"
	}
	p := asksArchive{view: v, Messages: asPosted(v, list), Waiting: open, Others: len(list) - len(open)}
	if len(open) > shown {
		p.Waiting, p.Rest = open[:shown], len(open)-shown
	}
	if v.scripted() {
		v.aim("#dialog", "innerHTML")
		return v.part("archive", "dialog", p)
	}
	return v.render("archive", p)
}

// remove deletes messages for good once that can no longer be taken back.
func remove(v *view) error {
	list, err := chosen(v)
	if err != nil {
		return err
	}
	var targets []undo.Target
	services := make(map[mail.RoomName]mail.Service)
	for _, f := range list {
		targets = append(targets, f.target(f.ID))
		services[f.Room] = f.svc
	}
	key := v.site.Undo.Add(&undo.Deed{Targets: targets, Do: func(targets []undo.Target) {
		ctx, cancel := context.WithTimeout(context.Background(), eraseTimeout)
		defer cancel()
		for _, t := range targets {
			if err := services[t.Room].Erase(ctx, t.ID); err != nil && mail.CodeOf(err) != mail.NotFound {
				v.site.Log.Error("a message could not be deleted; it is back in its list", "room", t.Room, "id", t.ID,
					"err", err)
			}
		}
	}})
	text := "Deleted"
	if len(list) > 1 {
		text += " " + wording.Plural(len(list), "message")
	}
	return acted(v, toast{view: v, Messages: asPosted(v, list), Text: text, Done: "gone", Undo: key,
		MS: undoMS})
}

// takeBack takes back what a toast tells of.
func takeBack(v *view) error {
	d, ok := v.site.Undo.TakeBack(v.r.PostForm.Get("key"))
	if !ok {
		return mail.Errorf(mail.NotFound, "it is too late to take that back: it has been done")
	}
	if d.Back != nil {
		if err := d.Back(v.ctx()); err != nil {
			return err
		}
	}
	out := toast{view: v, Text: "It is back", Done: "back", MS: 2000}
	for t, a := range d.Answers {
		out.Text, out.Typed = "Not sent", a.Typed()
		out.Messages = messageLine(t.Room, t.ID)
	}
	return acted(v, out)
}

// chosen reads the messages that the form names: one of this room as id, or any as messages. Each comes with
// the view of its room.
func chosen(v *view) ([]post, error) {
	lines := lines(v)
	if len(lines) == 0 {
		lines = []string{messageLine(v.Room, mail.ID(v.r.PostForm.Get("id")))}
	}
	var list []post
	views := map[mail.RoomName]*view{v.Room: v}
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if strings.HasPrefix(line, reportsLine) {
			more, err := reported(v, line)
			if err != nil {
				return nil, err
			}
			lines = append(lines, more...)
			continue
		}
		room, text, _ := strings.Cut(line, "/")
		name := mail.RoomName(room)
		id, err := mail.ParseID(text)
		if err != nil {
			return nil, err
		}
		if views[name] == nil {
			if views[name], err = v.other(name); err != nil {
				return nil, err
			}
		}
		it, err := views[name].svc.Message(v.ctx(), id)
		if mail.CodeOf(err) == mail.NotFound && len(lines) > 1 {
			continue // it was deleted meanwhile
		} else if err != nil {
			return nil, err
		}
		list = append(list, post{view: views[name], Item: it})
	}
	if len(list) == 0 {
		return nil, mail.Errorf(mail.NotFound, "these messages have been deleted meanwhile")
	}
	return list, nil
}

// lines are what the form says of messages.
func lines(v *view) []string {
	return strings.FieldsFunc(v.r.PostForm.Get("messages"), func(r rune) bool { return r == '\n' || r == '\r' })
}

// asPosted names messages as the form did: what the page shows in one row has one line.
func asPosted(v *view, list []post) string {
	lines := slices.DeleteFunc(lines(v), func(line string) bool { return !strings.HasPrefix(line, reportsLine) })
	if len(lines) == 0 {
		return messageLines(list)
	}
	return strings.Join(append(lines, messageLines(list)), "\n")
}

// messageLine is how forms name a message, and messageLines how they name several.
func messageLine(room mail.RoomName, id mail.ID) string { return string(room) + "/" + string(id) }

func messageLines(list []post) string {
	lines := make([]string, len(list))
	for i, f := range list {
		lines[i] = messageLine(f.Room, f.ID)
	}
	return strings.Join(lines, "\n")
}

// byRoom parts messages by their rooms, in the order in which these come first.
func byRoom(list []post) (out [][]post) {
	at := make(map[mail.RoomName]int)
	for _, f := range list {
		i, known := at[f.Room]
		if !known {
			i, at[f.Room], out = len(out), len(out), append(out, nil)
		}
		out[i] = append(out[i], f)
	}
	return out
}

// snoozeUntil reads when the person wants to see a message again: one of words.Snoozes, or a time as browsers write it,
// which is that of the place where the post office is.
func snoozeUntil(form interface{ Get(string) string }, now time.Time) (mail.Time, error) {
	name := form.Get("until")
	for _, s := range words.Snoozes(now) {
		if s.Name == name {
			return s.At, nil
		}
	}
	at := form.Get("at")
	t, ok := words.LocalTime(at, now)
	if !ok {
		return 0, mail.Errorf(mail.Invalid, "%q is not a time to come back at; choose one, or write it like "+
			"2026-05-10T09:00. The message is where it was", at)
	}
	return t, nil
}
