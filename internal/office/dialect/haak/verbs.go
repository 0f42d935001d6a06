package haak

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pennypost/internal/base/confined"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

func text(name, usage string) dialect.Flag { return dialect.Flag{Name: name, Usage: usage} }

func needed(name, usage string) dialect.Flag {
	return dialect.Flag{Name: name, Usage: usage, Required: true}
}

func number(name, usage string) dialect.Flag {
	return dialect.Flag{Name: name, Usage: usage, Kind: dialect.Number, Default: "0"}
}

func toggle(name, usage string) dialect.Flag {
	return dialect.Flag{Name: name, Usage: usage, Kind: dialect.Switch}
}

func mailboxVerbs() []dialect.Verb {
	limit := number("limit", "at most `N` of the newest messages")
	limit.Default = "50"
	return []dialect.Verb{
		{
			Path: "mailbox send", Short: "Send a message to a session, a role, a tag or all", Writes: true,
			Run: runSend,
			Long: "Without --ttl-hours mail to a session and to a tag expires after 24 hours, mail to all after 4, " +
				"mail to a role never.",
			Example: `pennypost haak mailbox send --from architect-new --to "project:inscription,` +
				`concern:governance" --subject Tags --body "One schema?"
pennypost haak mailbox send --from a1b2c3d4 --to architect --body - < note.md`,
			Flags: []dialect.Flag{
				text("from", "`SESSION` that sends"),
				needed("to", "`RECIPIENT`: session, role, tag, #channel, all or user; several with commas, or as a "+
					"JSON array"),
				text("subject", "one `LINE`"), needed("body", "the `TEXT`, in Markdown; - reads standard input"),
				text("thread", "`ID` of the message that this one answers"),
				number("ttl-hours", "`HOURS` until it expires"),
				toggle("strict", "refuse more than 500 words"),
				toggle("later", "keep it until the session says checkpoint or bye"),
			},
		},
		{
			Path: "mailbox read", Short: "Print a session's mail and mark it read", Writes: true,
			Run: speaking("session-id", runRead),
			Flags: []dialect.Flag{text("session-id", "`SESSION` that reads"),
				toggle("unread-only", "only what it has not read")},
		},
		{
			Path: "mailbox list", Short: "List the messages of all sessions", Run: inRoster(runList),
			Flags: []dialect.Flag{
				toggle("all", "even expired ones, without a limit"),
				text("session-id", "only mail from and for a `SESSION`"),
				text("channel", "only mail to a `TAG`: #inscription"),
				text("thread", "the conversation of message `ID`, as a tree"), limit,
			},
		},
		{
			Path: "mailbox query", Short: "Search messages", Args: "TEXT", MinArgs: 0, MaxArgs: 1,
			Run: inRoster(runQuery),
			Flags: []dialect.Flag{
				toggle("archive", "in the archive too"), text("from", "only mail from `SESSION`"),
				text("to", "only mail to `RECIPIENT`"),
				text("thread", "only the conversation of message `ID`"), limit,
			},
		},
		{
			Path: "mailbox archive", Short: "Move settled messages of an overfull mailbox to the archive",
			Writes: true, Run: dialect.ForUser(runArchive),
			Long: "The mailbox file is kept under 1,000 messages automatically; this checks it now and reports the " +
				"numbers of messages.",
		},
		{Path: "mailbox dead-letters", Short: "List mail whose reader died before reading it",
			Run: inRoster(runDeadLetters)},
		{Path: "channels", Short: "List the tags in use as channels", Run: inRoster(runChannels)},
		entitiesVerb(limit),
	}
}

func runRead(ctx context.Context, v *dialect.Invocation, svc mail.Service, name mail.Name) error {
	items, err := inbox(ctx, svc, !v.Switch("unread-only"))
	if mail.CodeOf(err) == mail.NotFound {
		return mail.Errorf(mail.NotFound,
			"%v. To put a session on the roster: pennypost haak roster register --session-id %s", err, name)
	}
	if err != nil {
		return err
	}
	return handOver(ctx, v, svc, items)
}

func runList(ctx context.Context, v *dialect.Invocation, svc mail.Service, r *roster) error {
	q := mail.HistoryQuery{Agent: mail.Name(v.Text("session-id")), Thread: mail.ID(v.Text("thread"))}
	if full, ok := r.typed()(string(q.Agent)); ok {
		q.Agent = full
	}
	if c := v.Text("channel"); c != "" {
		if err := r.addMailed(ctx, svc); err != nil {
			return err
		}
		var err error
		if q.To, err = r.channel(c); err != nil {
			return err
		}
	}
	limit := v.Number("limit")
	if v.Switch("all") {
		limit = 0
	}
	items, err := history(ctx, svc, q, limit)
	if err != nil {
		return err
	}
	if !v.Switch("all") {
		items = slices.DeleteFunc(items, func(it mail.Item) bool { return expired(&it) })
	}
	return list(v, items, r.known(), q.Thread != "")
}

// list prints messages, a thread's as a tree.
func list(v *dialect.Invocation, items []mail.Item, known sessions, thread bool) error {
	if v.JSON {
		return v.WriteJSON(seenAll(items, known))
	}
	if !thread {
		return printList(v.Stdout, items, known, flat)
	}
	tree, depth := treeOf(items)
	return printList(v.Stdout, tree, known, func(it *mail.Item) int { return depth[it.ID] })
}

// treeOf orders messages so that each follows the one it answers, and returns their depths.
func treeOf(items []mail.Item) (tree []mail.Item, depth map[mail.ID]int) {
	depth = make(map[mail.ID]int)
	children := make(map[mail.ID][]int)
	here := make(map[mail.ID]bool)
	for i := range items {
		here[items[i].ID] = true
	}
	for i := range items {
		parent := items[i].ReplyTo
		if !here[parent] || parent == items[i].ID {
			parent = ""
		}
		children[parent] = append(children[parent], i)
	}
	placed := make(map[mail.ID]bool)
	var place func(i, d int)
	place = func(i, d int) {
		id := items[i].ID
		if placed[id] {
			return
		}
		placed[id], depth[id] = true, d
		tree = append(tree, items[i])
		for _, c := range children[id] {
			place(c, d+1)
		}
	}
	for _, i := range children[""] {
		place(i, 0)
	}
	for i := range items { // messages in foreign files may answer each other in a cycle
		place(i, 0)
	}
	return tree, depth
}

func runQuery(ctx context.Context, v *dialect.Invocation, svc mail.Service, r *roster) error {
	q := mail.HistoryQuery{Archive: v.Switch("archive"), From: v.Text("from"), Thread: mail.ID(v.Text("thread")),
		Search: strings.Join(v.Args, " ")}
	if full, ok := r.typed()(q.From); ok {
		q.From = string(full)
	}
	if to := v.Text("to"); to != "" {
		a, err := find(to, r)
		if err != nil {
			return err
		}
		if len(a.to) > 1 {
			return mail.Errorf(mail.Invalid, "--to names several recipients; search for one at a time")
		}
		q.To = a.to[0]
	}
	items, err := history(ctx, svc, q, v.Number("limit"))
	if err != nil {
		return err
	}
	return list(v, items, r.known(), q.Thread != "")
}

func runArchive(ctx context.Context, v *dialect.Invocation, svc mail.Service) error {
	bridges, err := svc.Bridges(ctx)
	if err != nil {
		return err
	}
	found := false
	for _, b := range bridges {
		if b.Dialect != "haak" {
			continue
		}
		found = true
		before, err := count(b.Dir)
		if err != nil {
			return err
		}
		st, err := svc.SyncBridge(ctx, b.ID)
		if err != nil {
			return err
		}
		after, err := count(b.Dir)
		if err != nil {
			return err
		}
		if st.Failing != "" {
			return mail.Errorf(mail.Unavailable, "the files in %s cannot be synced: %s", dataDir(b.Dir), st.Failing)
		}
		fmt.Fprintf(v.Stdout, "%s: %d messages before, %d now\n", openPath(b.Dir), before, after)
		if st.Notice != "" {
			fmt.Fprintln(v.Stdout, st.Notice)
		}
	}
	if !found {
		return mail.Errorf(mail.NotFound,
			"the room has no HAAK mailbox. Add one with: pennypost bridge add haak DIR")
	}
	return nil
}

func openPath(project string) string {
	s := openStore(confined.At(project))
	return s.mailbox.Path()
}

// count returns the number of lines in a project's mailbox.
func count(project string) (int, error) {
	s := openStore(confined.At(project))
	text, _, err := s.mailbox.Read()
	return len(text), err
}

func runDeadLetters(ctx context.Context, v *dialect.Invocation, svc mail.Service, r *roster) error {
	var items []mail.Item
	for it, err := range svc.Export(ctx) {
		if err != nil {
			return err
		}
		if deadLetter(&it, r) {
			items = append(items, it)
		}
	}
	return list(v, items, r.known(), false)
}

// deadLetter reports whether a message to a session was unread when the session died. It may have expired since.
func deadLetter(it *mail.Item, r *roster) bool {
	return slices.ContainsFunc(it.Deliveries, func(d mail.Delivery) bool {
		if d.State == mail.Dead || r == nil || d.State != mail.Expired || d.Address.Kind() != mail.ToAgent {
			return d.State == mail.Dead
		}
		a := r.find(d.Agent)
		return a == nil || a.State == mail.Gone
	})
}

func runChannels(ctx context.Context, v *dialect.Invocation, svc mail.Service, r *roster) error {
	if err := r.addMailed(ctx, svc); err != nil {
		return err
	}
	all := r.channels()
	if v.JSON {
		return v.WriteJSON(all)
	}
	for _, c := range all {
		if _, err := fmt.Fprintf(v.Stdout, "%s  %s  %s\n", c.Name, c.Tag, names(c.Members)); err != nil {
			return err
		}
	}
	return nil
}
