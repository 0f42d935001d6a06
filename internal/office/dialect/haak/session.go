package haak

import (
	"context"
	"fmt"
	"slices"

	"pennypost/internal/base/confined"
	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

func sessionVerbs() []dialect.Verb {
	session := needed("session-id", "the `SESSION`")
	return []dialect.Verb{
		{
			Path:  "check-mailbox",
			Short: "Print a session's unread mail and mark it read; for a hook at session start", Run: runCheck,
			Long: "Prints nothing if there is no mail, and never fails. It works even without the post office, " +
				"from the files in data/.",
			Flags: []dialect.Flag{session},
		},
		{
			Path: "session-end", Short: "Note that a session has ended; for a hook at session end", Run: runEnd,
			Long: "Sends the mail that the session kept for later. Its unread mail stays unread, and mail for a " +
				"role waits for the other holders or the next one. A frozen session stays frozen. It never fails.",
			Flags: []dialect.Flag{session},
		},
		{
			Path: "bye", Short: "Send mail kept for later, print the last mail, and bury the session",
			Writes: true, Run: closing(bye),
			Flags: []dialect.Flag{session, text("summary", "its last report, one `LINE`")},
		},
		{
			Path: "checkpoint", Short: "Send mail kept for later, print the mail, and freeze the session",
			Writes: true, Run: closing(checkpoint),
			Flags: []dialect.Flag{session, toggle("keep-live", "do not freeze it")},
		},
	}
}

// runCheck never fails: an agent starts with or without its mail.
func runCheck(ctx context.Context, v *dialect.Invocation) error {
	err := speaking("session-id", check)(ctx, v)
	if unreachable(err) {
		err = offline(v)
	}
	if err != nil {
		fmt.Fprintln(v.Stderr, "check-mailbox:", err)
	}
	return nil
}

// runEnd never fails: the session ends anyway.
func runEnd(ctx context.Context, v *dialect.Invocation) error {
	if err := speaking("session-id", end)(ctx, v); err != nil && !unreachable(err) {
		fmt.Fprintln(v.Stderr, "session-end:", err)
	}
	return nil
}

// end marks a session as dead unless it was frozen, to be resumed. No one reads its mail any more, so it shows and
// marks none.
func end(ctx context.Context, v *dialect.Invocation, svc mail.Service, name mail.Name) error {
	r, err := readRoster(ctx, svc)
	if err != nil {
		return err
	}
	if a := r.find(name); a == nil || !a.State.Live() {
		return nil
	}
	if err := flush(ctx, v, svc, name); err != nil {
		return err
	}
	_, err = svc.Register(ctx, mail.Presence{Name: name, Update: true, State: mail.Gone})
	return err
}

// unreachable reports whether the post office could not be reached.
func unreachable(err error) bool {
	switch mail.CodeOf(err) {
	case mail.Unavailable, mail.Timeout, mail.Internal:
		return true
	}
	return false
}

func check(ctx context.Context, v *dialect.Invocation, svc mail.Service, name mail.Name) error {
	connected, err := connect(ctx, v, svc)
	if err == nil && !connected {
		err = offline(v)
	}
	if err == nil && isSessionID(string(name)) { // from the files, the room may now know it by its short or whole id
		svc, name, err = speaker(ctx, v, "session-id")
	}
	if err != nil {
		return err
	}
	if err := begin(ctx, svc, name, v.Program()); err != nil {
		return err
	}
	items, err := inbox(ctx, svc, false)
	if err != nil {
		return err
	}
	if len(items) > 0 {
		if !v.JSON {
			fmt.Fprintln(v.Stdout, greeting(len(items)))
		}
		if err := handOver(ctx, v, svc, items); err != nil {
			return err
		}
	}
	return vacancies(ctx, v, svc)
}

// connect adds a bridge to the project's files if they exist and the room has no bridge. Only the person may do
// that; an agent without a bridge works from the files.
func connect(ctx context.Context, v *dialect.Invocation, svc mail.Service) (connected bool, err error) {
	s := openStore(confined.At(v.Project))
	if _, err := s.mailbox.Stat(); err != nil {
		return true, nil // no files
	}
	bridges, err := svc.Bridges(ctx)
	if err != nil || slices.ContainsFunc(bridges, func(b mail.BridgeStatus) bool { return b.Dialect == "haak" }) {
		return true, err
	}
	_, err = v.Bridge(ctx, v.Project, mail.BridgeBoth)
	if unreachable(err) {
		return false, err
	}
	return err == nil, nil
}

func greeting(n int) string {
	noun := "messages"
	if n == 1 {
		noun = "message"
	}
	return fmt.Sprintf("%d unread %s.", n, noun)
}

// begin records that a session has started: it is on the roster, and lives as long as the client that runs the hook.
// A frozen session counts as resumed.
func begin(ctx context.Context, svc mail.Service, name mail.Name, program string) error {
	if name == mail.User {
		return nil
	}
	r, err := readRoster(ctx, svc)
	if err != nil {
		return err
	}
	p := mail.Presence{Update: true}
	if a := r.find(name); a == nil {
		p = mail.Presence{Client: client, State: mail.Idle, Roles: answersTo(ctx, svc, name, nil)}
	} else if !a.State.Live() {
		p.State = mail.Idle
	}
	p.Process, p.Join = program, program != ""
	_, err = svc.Register(ctx, p)
	return err
}

// vacancies prints the roles that have mail waiting and no live holder.
func vacancies(ctx context.Context, v *dialect.Invocation, svc mail.Service) error {
	r, err := readRoster(ctx, svc)
	if err != nil {
		return err
	}
	page, err := svc.History(ctx, mail.HistoryQuery{Limit: mail.MaxLimit})
	if err != nil {
		return err
	}
	done := make(map[mail.Address]bool)
	for i := range page.Messages {
		for _, a := range page.Messages[i].To {
			if a.Kind() != mail.ToRole || done[a] || len(r.holders(a)) > 0 {
				continue
			}
			done[a] = true
			n, err := heldFor(ctx, svc, a.Value())
			if err != nil {
				return err
			}
			if n > 0 && !v.JSON {
				fmt.Fprintf(v.Stdout, "vacant role %s: %s\n", fence.Text(fence.Visible(a.Value(), false)), waiting(n))
			}
		}
	}
	return nil
}

// closing returns a verb that sends the session's drafts, prints its mail, and then calls run.
func closing(run func(context.Context, *dialect.Invocation, mail.Service, mail.Name) error) func(context.Context,
	*dialect.Invocation) error {
	return speaking("session-id", func(ctx context.Context, v *dialect.Invocation, svc mail.Service,
		name mail.Name) error {
		if err := flush(ctx, v, svc, name); err != nil {
			return err
		}
		items, err := inbox(ctx, svc, false)
		if err == nil && len(items) > 0 {
			err = handOver(ctx, v, svc, items)
		}
		if err != nil {
			return err
		}
		return run(ctx, v, svc, name)
	})
}

func bye(ctx context.Context, v *dialect.Invocation, svc mail.Service, name mail.Name) error {
	r, err := readRoster(ctx, svc)
	if err != nil {
		return err
	}
	return bury(ctx, v, svc, name, r.find(name))
}

func checkpoint(ctx context.Context, v *dialect.Invocation, svc mail.Service, _ mail.Name) error {
	if v.Switch("keep-live") {
		return nil
	}
	return register(ctx, v, svc, mail.Presence{Update: true, State: mail.Frozen})
}
