package inbox

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/undo"
	"pennypost/internal/office/web/words"
)

// eraseTimeout limits a deletion, which rewrites every file that holds the message.
const eraseTimeout = time.Minute

// undoMS is how long a toast offers to undo a pending action.
const undoMS = int(undo.Time / time.Millisecond)

// acted answers with a toast that says what was done.
func acted(v *page.View, d page.Toast) error { return v.Changed(v.Next(), "pp-done", "toast-done", d) }

// mark marks messages as read, unread, archived, unarchived or snoozed. Before it archives open questions, it asks
// the person once for all of them.
func mark(v *page.View) error {
	list, err := chosen(v)
	if err != nil {
		return err
	}
	q := mail.Marking{Mark: mail.Mark(v.R.PostForm.Get("mark"))}
	if q.Mark == mail.MarkSnoozed {
		if q.Until, err = snoozeUntil(v.R.PostForm, v.Now); err != nil {
			return err
		}
	}
	var declines []page.Post
	if open := slices.DeleteFunc(slices.Clone(list), func(f page.Post) bool { return !f.Asks() }); q.Mark ==
		mail.MarkArchived && len(open) > 0 {
		switch v.R.PostForm.Get("open") {
		case "archive":
		case "leave":
			list = slices.DeleteFunc(list, page.Post.Asks)
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
	d := page.Toast{View: v, Messages: asPosted(v, list), MS: 6000}
	d.Text, d.Done = markedText(list, q.Mark, words.Moment(v.Now, q.Until))
	act := &undo.Deed{Back: func(ctx context.Context) error { return takeMarksBack(ctx, changed, q.Mark) }}
	if len(declines) > 0 {
		d.Text += ", and declined " + wording.Plural(len(declines), "question")
		d.MS = undoMS
		decline(act, declines)
	}
	d.Undo = v.Site.Undo.Add(act)
	return acted(v, d)
}

// markedText describes the change, and names it for the script.
func markedText(list []page.Post, m mail.Mark, until string) (text, shows string) {
	count := ""
	if n := len(list); n > 1 {
		count = " " + strconv.Itoa(n) + " messages"
	}
	switch m {
	case mail.MarkArchived:
		return "Archived" + count, "gone"
	case mail.MarkSnoozed:
		if count == "" && len(list) == 1 {
			count = " “" + wording.ClipRunes(words.Subject(&list[0].Message), 40) + "”"
		}
		return "Snoozed" + count + " until " + until, "gone"
	case mail.MarkUnarchived:
		return "Back in the inbox", "back"
	}
	if slices.ContainsFunc(list, func(f page.Post) bool { return f.Snoozed != 0 || f.State == mail.Archived }) {
		return "Marked" + count + " " + string(m), "back"
	}
	return "Marked" + count + " " + string(m), string(m)
}

// markAll marks messages, and returns the changed ones in their former state.
func markAll(v *page.View, list []page.Post, q mail.Marking) (changed []page.Post, err error) {
	for _, in := range byRoom(list) {
		q.IDs = nil
		for _, f := range in {
			q.IDs = append(q.IDs, f.ID)
		}
		marked, err := in[0].Svc.Mark(v.Ctx(), q)
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

// takeMarksBack restores the state of messages before a mark.
func takeMarksBack(ctx context.Context, changed []page.Post, m mail.Mark) error {
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
			if _, err := in[0].Svc.Mark(ctx, q); err != nil {
				return err
			}
		}
	}
	return nil
}

// asksArchive asks what to do with open questions before archiving them.
type asksArchive struct {
	*page.View
	Messages string      // all those to archive
	Waiting  []page.Post // the open questions among them, or the first few
	Rest     int         // how many more are open
	Others   int         // how many are not open questions
}

// One reports whether there is one open question.
func (p asksArchive) One() bool { return len(p.Waiting) == 1 }

// AnswerHref is where the first question can be answered.
func (p asksArchive) AnswerHref() string { return p.Waiting[0].LetterHref(p.Waiting[0].ID) }

// askArchive asks what to do with the open questions among list before archiving.
func askArchive(v *page.View, list, open []page.Post) error {
	const shown = 5
	v.Title = "It is still waiting for an answer"
	if len(open) > 1 {
		v.Title = strconv.Itoa(len(open)) + " of them are still waiting for an answer"
	}
	p := asksArchive{View: v, Messages: asPosted(v, list), Waiting: open, Others: len(list) - len(open)}
	if len(open) > shown {
		p.Waiting, p.Rest = open[:shown], len(open)-shown
	}
	if v.Scripted() {
		v.Aim("#dialog", "innerHTML")
		return v.Part("archive", "dialog", p)
	}
	return v.Render("archive", p)
}

// remove deletes messages for good when the time to undo is over.
func remove(v *page.View) error {
	list, err := chosen(v)
	if err != nil {
		return err
	}
	var targets []undo.Target
	services := make(map[mail.RoomName]mail.Service)
	for _, f := range list {
		targets = append(targets, f.Target(f.ID))
		services[f.Room] = f.Svc
	}
	key := v.Site.Undo.Add(&undo.Deed{Targets: targets, Do: func(targets []undo.Target) {
		ctx, cancel := context.WithTimeout(context.Background(), eraseTimeout)
		defer cancel()
		for _, t := range targets {
			if err := services[t.Room].Erase(ctx, t.ID); err != nil && mail.CodeOf(err) != mail.NotFound {
				v.Site.Log.Error("message not deleted; back in its list", "room", t.Room, "id", t.ID,
					"err", err)
			}
		}
	}})
	text := "Deleted"
	if len(list) > 1 {
		text += " " + wording.Plural(len(list), "message")
	}
	return acted(v, page.Toast{View: v, Messages: asPosted(v, list), Text: text, Done: "gone", Undo: key,
		MS: undoMS})
}

// takeBack undoes the action of a toast.
func takeBack(v *page.View) error {
	d, ok := v.Site.Undo.TakeBack(v.R.PostForm.Get("key"))
	if !ok {
		return mail.Errorf(mail.NotFound, "it is too late to undo that: it is done")
	}
	if d.Back != nil {
		if err := d.Back(v.Ctx()); err != nil {
			return err
		}
	}
	out := page.Toast{View: v, Text: "Undone", Done: "back", MS: 2000}
	for t, a := range d.Answers {
		out.Text, out.Typed = "Not sent", a.Typed()
		out.Messages = messageLine(t.Room, t.ID)
	}
	return acted(v, out)
}

// chosen returns the messages named in the form: one of this room as id, or any as messages. Each has the view of its
// room.
func chosen(v *page.View) ([]page.Post, error) {
	lines := lines(v)
	if len(lines) == 0 {
		lines = []string{messageLine(v.Room, mail.ID(v.R.PostForm.Get("id")))}
	}
	var list []page.Post
	views := map[mail.RoomName]*page.View{v.Room: v}
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
			if views[name], err = v.Other(name); err != nil {
				return nil, err
			}
		}
		it, err := views[name].Svc.Message(v.Ctx(), id)
		if mail.CodeOf(err) == mail.NotFound && len(lines) > 1 {
			continue // deleted meanwhile
		} else if err != nil {
			return nil, err
		}
		list = append(list, page.Post{View: views[name], Item: it})
	}
	if len(list) == 0 {
		return nil, mail.Errorf(mail.NotFound, "these messages have been deleted")
	}
	return list, nil
}

// lines are the form's lines that name messages.
func lines(v *page.View) []string {
	return strings.FieldsFunc(v.R.PostForm.Get("messages"), func(r rune) bool { return r == '\n' || r == '\r' })
}

// asPosted names messages as the form did: a line that folds several stays one line.
func asPosted(v *page.View, list []page.Post) string {
	lines := slices.DeleteFunc(lines(v), func(line string) bool { return !strings.HasPrefix(line, reportsLine) })
	if len(lines) == 0 {
		return messageLines(list)
	}
	return strings.Join(append(lines, messageLines(list)), "\n")
}

// messageLine is how forms name a message.
func messageLine(room mail.RoomName, id mail.ID) string { return string(room) + "/" + string(id) }

func messageLines(list []page.Post) string {
	lines := make([]string, len(list))
	for i, f := range list {
		lines[i] = messageLine(f.Room, f.ID)
	}
	return strings.Join(lines, "\n")
}

// byRoom groups messages by room.
func byRoom(list []page.Post) map[mail.RoomName][]page.Post {
	out := make(map[mail.RoomName][]page.Post)
	for _, f := range list {
		out[f.Room] = append(out[f.Room], f)
	}
	return out
}

// snoozeUntil parses the time at which to show a message again: one of words.Snoozes, or a local time as browsers
// write it, in the post office's time zone.
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
		return 0, mail.Errorf(mail.Invalid, "%q is not a time to snooze until; choose one, or write it like "+
			"2026-05-10T09:00. Nothing was snoozed", at)
	}
	return t, nil
}
