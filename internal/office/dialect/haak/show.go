package haak

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// speaker returns the room for the session that a flag names, or for the caller if the flag is empty.
func speaker(ctx context.Context, v *dialect.Invocation, flag string) (mail.Service, mail.Name, error) {
	word := strings.TrimSpace(v.Text(flag))
	if word == "" {
		return v.Room(ctx)
	}
	a, err := signer(word)
	if err != nil {
		return nil, "", err
	}
	svc, name, err := named(ctx, v, a.Signer(), word)
	if err != nil || name == a.Signer() {
		return svc, name, err
	}
	svc, err = v.As(ctx, name)
	return svc, name, err
}

// speaking returns a verb that runs for the session that a flag names.
func speaking(flag string, run func(context.Context, *dialect.Invocation, mail.Service, mail.Name) error) func(
	context.Context, *dialect.Invocation) error {
	return func(ctx context.Context, v *dialect.Invocation) error {
		svc, name, err := speaker(ctx, v, flag)
		if err != nil {
			return err
		}
		return run(ctx, v, svc, name)
	}
}

// inRoster returns a verb that needs the roster.
func inRoster(run func(context.Context, *dialect.Invocation, mail.Service, *roster) error) func(context.Context,
	*dialect.Invocation) error {
	return speaking("", func(ctx context.Context, v *dialect.Invocation, svc mail.Service, _ mail.Name) error {
		r, err := readRoster(ctx, svc)
		if err != nil {
			return err
		}
		return run(ctx, v, svc, r)
	})
}

// named returns the room for the agent as, and the session that a word names: one on the roster whose id begins with
// it, or the word itself.
func named(ctx context.Context, v *dialect.Invocation, as mail.Name, word string) (mail.Service, mail.Name, error) {
	a, err := signer(word)
	if err != nil {
		return nil, "", err
	}
	svc, err := v.As(ctx, as)
	if err != nil || a == mail.ToUser {
		return svc, a.Signer(), err
	}
	r, err := readRoster(ctx, svc)
	if err != nil {
		return nil, "", err
	}
	if full, ok := r.typed()(string(a.Signer())); ok {
		return svc, full, nil
	}
	return svc, a.Signer(), nil
}

// history returns messages with their deliveries, oldest first; limit 0 means all.
func history(ctx context.Context, svc mail.Service, q mail.HistoryQuery, limit int) ([]mail.Item, error) {
	q.Deliveries = true
	return dialect.History(ctx, svc, q, limit)
}

// readersOf returns the readers of a message in the order of reading.
func readersOf(it *mail.Item) []string {
	var read []mail.Delivery
	for _, d := range it.Deliveries {
		if d.State == mail.Read || d.State == mail.Archived {
			read = append(read, d)
		}
	}
	slices.SortStableFunc(read, func(a, b mail.Delivery) int { return cmp.Compare(a.At, b.At) })
	list := make([]string, len(read))
	for i, d := range read {
		list[i] = string(d.Agent)
	}
	return list
}

// seen returns a message in the file's form, with read_by filled in.
func seen(it *mail.Item, known sessions) jsonx.Value {
	o, err := parseObject(encodeMessage(&it.Message, known))
	if err != nil {
		return jsonx.Value(null)
	}
	o.Put("read_by", words(readersOf(it)))
	return o.Line()
}

func seenAll(items []mail.Item, known sessions) []jsonx.Value {
	list := make([]jsonx.Value, len(items))
	for i := range items {
		list[i] = seen(&items[i], known)
	}
	return list
}

// deliveryText describes a message's state in a few words.
func deliveryText(it *mail.Item) string {
	var waiting, held, gone int
	for _, d := range it.Deliveries {
		switch d.State {
		case mail.Held:
			held++
		case mail.Dead, mail.Expired:
			gone++
		case mail.Read, mail.Archived:
		default:
			waiting++
		}
	}
	readers := readersOf(it)
	switch {
	case len(readers) > 0 && waiting > 0:
		return fmt.Sprintf("read by %s, unread by %d", strings.Join(readers, ", "), waiting)
	case len(readers) > 0:
		return "read by " + strings.Join(readers, ", ")
	case held > 0:
		return "held"
	case gone > 0 && waiting == 0 && deadLetter(it, nil):
		return "dead letter"
	case gone > 0 && waiting == 0:
		return "expired"
	}
	return "unread"
}

// expired reports whether a message expired for every recipient.
func expired(it *mail.Item) bool {
	for _, d := range it.Deliveries {
		if d.State != mail.Expired {
			return false
		}
	}
	return len(it.Deliveries) > 0
}

// printList prints one line per message.
func printList(w io.Writer, items []mail.Item, known sessions, indent func(*mail.Item) int) error {
	for i := range items {
		it := &items[i]
		text := it.Subject
		if text == "" {
			text, _, _ = strings.Cut(content(&it.Message), "\n")
		}
		_, err := fmt.Fprintf(w, "%s%s  %s  %s to %s  [%s]  %s\n", strings.Repeat("  ", indent(it)), stamp(it.Sent),
			it.ID,
			it.From.Signer(), spellAll(it.To, known), deliveryText(it), oneLine(text))
		if err != nil {
			return err
		}
	}
	return nil
}

func flat(*mail.Item) int { return 0 }

// oneLine shortens a text to one line, without control characters that could move a terminal's cursor.
func oneLine(s string) string { return wording.ClipRunes(wording.OneLine(s, ' '), 100) }

// inject prints messages for the start of an agent's turn: each has the document's header and a fence, so that no
// text in it passes for another message.
func inject(w io.Writer, items []mail.Item, known sessions) error {
	f := fence.New()
	_, err := fmt.Fprintf(w, "%s\n\n", f.Notice(items))
	line := func(s string) string { return fence.Text(fence.Visible(s, false)) }
	for i := range items {
		if it := &items[i]; err == nil {
			head := strings.TrimSuffix(fmt.Sprintf("[mailbox from %s] %s", it.From.Signer(), it.Subject), " ")
			foot := fmt.Sprintf("(%s, to %s, %s)", it.ID, spellAll(it.To, known), stamp(it.Sent))
			_, err = fmt.Fprintf(w, "%s\n%s\n%s\n\n", line(head), f.Message(it), line(foot))
		}
	}
	return err
}

// inbox returns all unread mail of a session; with all set, read mail too.
func inbox(ctx context.Context, svc mail.Service, all bool) ([]mail.Item, error) {
	return dialect.Inbox(ctx, svc, mail.InboxQuery{All: all})
}

// handOver prints messages and then marks the unread ones as read.
func handOver(ctx context.Context, v *dialect.Invocation, svc mail.Service, items []mail.Item) error {
	r, err := readRoster(ctx, svc)
	if err != nil {
		return err
	}
	switch {
	case v.JSON:
		for i := range items { // the inbox does not list other readers
			it, err := svc.Message(ctx, items[i].ID)
			if err != nil {
				return err
			}
			items[i].Deliveries = it.Deliveries
		}
		err = v.WriteJSON(seenAll(items, r.known()))
	case len(items) > 0:
		err = inject(v.Fenced, items, r.known())
	}
	var ids []mail.ID
	for i := range items {
		if !items[i].Read {
			ids = append(ids, items[i].ID)
		}
	}
	if err != nil || len(ids) == 0 {
		return err
	}
	marked, err := svc.Mark(ctx, mail.Marking{IDs: ids, Mark: mail.MarkRead})
	if err != nil && len(marked.NotYours) != len(ids) {
		return err
	}
	for _, id := range marked.NotYours {
		fmt.Fprintln(v.Stderr, "note:", taken(ctx, svc, id))
	}
	return nil
}

// taken says which session read a role's message first, for another that was shown it at the same time.
func taken(ctx context.Context, svc mail.Service, id mail.ID) string {
	by := "another holder of the role"
	if it, err := svc.Message(ctx, id); err == nil && len(readersOf(&it)) > 0 {
		by = strings.Join(readersOf(&it), ", ")
	}
	return fmt.Sprintf("%s was taken by %s, who read it first: leave it to them", id, by)
}
