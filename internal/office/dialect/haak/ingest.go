package haak

import (
	"context"
	"fmt"
	"io"
	"slices"

	"pennypost/internal/base/confined"
	"pennypost/internal/base/lines"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// row is a row of the entity graph.
type row struct {
	Subject  string `json:"subject"`
	Relation string `json:"relation"`
	Object   string `json:"object"`
	Quality  string `json:"quality"`
}

// entity is a message as a situation, as the document's ontological mapping defines it.
type entity struct {
	Entity string `json:"entity"`
	Type   string `json:"type"`
	Rows   []row  `json:"rows"`
}

func entityOf(m *mail.Message) entity {
	id := "situation:mailbox-msg-" + string(m.ID)
	actor := func(who string) row { return row{who, "belongs-to", id, "actor"} }
	e := entity{Entity: id, Type: "situation", Rows: []row{actor("agent:" + string(m.From.Signer()))}}
	for _, a := range m.To {
		who := string(a)
		if k := a.Kind(); k == mail.ToAgent || k == mail.ToPerson {
			who = "agent:" + a.Value()
		}
		e.Rows = append(e.Rows, actor(who))
	}
	e.Rows = append(e.Rows, row{"message-content", "belongs-to", id, "materialization"})
	return e
}

func entitiesVerb(limit dialect.Flag) dialect.Verb {
	return dialect.Verb{
		Path: "entities", Short: "Print the rows of messages for the entity graph", Args: "[ID…]", MaxArgs: -1,
		Run: speaking("", runEntities),
		Long: "With --new it prints the messages that it has not printed with --new before, oldest first, even " +
			"from the archive. After printing, it notes its position in data/agent-mailbox-ingested.jsonl. So a " +
			"librarian that runs it repeatedly registers each message once, and after an interruption gets the same " +
			"messages again.",
		Example: "pennypost haak entities --new --json",
		Flags: []dialect.Flag{limit,
			toggle("new", "only messages not printed with --new before, at most --limit")},
	}
}

func runEntities(ctx context.Context, v *dialect.Invocation, svc mail.Service, _ mail.Name) (err error) {
	if v.Switch("new") {
		return ingest(ctx, v, svc)
	}
	var items []mail.Item
	for _, id := range v.Args {
		it, err := svc.Message(ctx, mail.ID(id))
		if err != nil {
			return err
		}
		items = append(items, it)
	}
	if len(v.Args) == 0 {
		if items, err = dialect.History(ctx, svc, mail.HistoryQuery{}, v.Number("limit")); err != nil {
			return err
		}
	}
	return printEntities(v, items)
}

func printEntities(v *dialect.Invocation, items []mail.Item) error {
	all := make([]entity, len(items))
	for i := range items {
		all[i] = entityOf(&items[i].Message)
	}
	if v.JSON {
		return v.WriteJSON(all)
	}
	for _, e := range all {
		if err := e.print(v.Stdout); err != nil {
			return err
		}
	}
	return nil
}

func (e *entity) print(w io.Writer) error {
	fmt.Fprintf(w, "entity: %s\n  type: %s\n\n", e.Entity, e.Type)
	for _, r := range e.Rows {
		fmt.Fprintf(w, "%s  %s  %s  quality: %q\n", r.Subject, r.Relation, r.Object, r.Quality)
	}
	_, err := fmt.Fprintln(w)
	return err
}

// ingest prints the messages since the last time and records the last one.
func ingest(ctx context.Context, v *dialect.Invocation, svc mail.Service) error {
	if len(v.Args) > 0 {
		return mail.Errorf(mail.Invalid, "--new finds the new messages itself; omit the ids")
	}
	done := ingested(v.Project)
	after, err := place(ctx, svc, done)
	if err != nil {
		return err
	}
	items, err := dialect.Since(ctx, svc, mail.HistoryQuery{Archive: true}, after)
	if err != nil {
		return err
	}
	if n := v.Number("limit"); v.Given["limit"] && n > 0 {
		items = items[:min(n, len(items))]
	}
	if err := printEntities(v, items); err != nil || len(items) == 0 {
		return err
	}
	last := &items[len(items)-1]
	return done.Append(object{{Name: "message_id", Value: quote(string(last.ID))},
		{Name: "timestamp", Value: quote(stamp(mail.TimeOf(v.Now)))}}.Line())
}

// ingested is the file that records the graph's progress: the last message of each run. HAAK has no such file.
func ingested(project string) *lines.File {
	return lines.Open(confined.At(project), "data/agent-mailbox-ingested.jsonl", perm)
}

// place returns the sequence number of the graph's last message. If that message was erased, the one recorded before
// it counts, and the graph gets some messages again.
func place(ctx context.Context, svc mail.Service, done *lines.File) (mail.Seq, error) {
	text, _, err := done.Read()
	if err != nil {
		return 0, err
	}
	for _, l := range slices.Backward(text) {
		o, err := parseObject(l)
		if err != nil {
			continue
		}
		it, err := svc.Message(ctx, mail.ID(o.Text("message_id")))
		if err == nil {
			return it.Seq, nil
		}
		if mail.CodeOf(err) != mail.NotFound && mail.CodeOf(err) != mail.Invalid {
			return 0, err
		}
	}
	return 0, nil
}
