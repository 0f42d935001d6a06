package haak

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

func rosterVerbs() []dialect.Verb {
	session := needed("session-id", "the `SESSION`")
	about := []dialect.Flag{
		session, text("role", "the `ROLE` that it holds"),
		text("tags", "its `TAGS`, separated by commas: project:inscription,concern:governance"),
		text("summary", "what it works on, one `LINE`"), text("parent-session", "the `SESSION` that started it"),
	}
	return []dialect.Verb{
		{Path: "roster register", Short: "Put a session on the roster", Writes: true, Flags: about,
			Run: registering(runRegister)},
		{
			Path: "roster update", Short: "Change a session's entry on the roster", Writes: true,
			Run:   registering(runUpdate),
			Flags: append(slices.Clone(about), text("state", "`STATE`: live, frozen or dead")),
		},
		{Path: "roster freeze", Short: "Pause a session: its mail waits and does not expire", Writes: true,
			Flags: []dialect.Flag{session}, Run: registering(freeze)},
		{
			Path: "roster bury", Short: "Note that a session is dead", Writes: true, Run: registering(bury),
			Flags: []dialect.Flag{session, text("summary", "its last report, one `LINE`")},
		},
		{
			Path: "roster clean", Short: "Take dead sessions off the roster", Writes: true, Run: inRoster(runClean),
			Flags: []dialect.Flag{toggle("all", "other agents that have gone, too; their tokens end")},
		},
		{Path: "roster show", Short: "Print the roster",
			Flags: []dialect.Flag{text("session-id", "only this `SESSION`")}, Run: inRoster(runShow)},
	}
}

// registering returns a verb that changes a session's entry: run gets the room for an agent that may do so, and the
// session's present entry. The user acts as the user, because acting as the session would make it alive.
func registering(run func(context.Context, *dialect.Invocation, mail.Service, mail.Name, *mail.Agent) error) func(
	context.Context, *dialect.Invocation) error {
	return func(ctx context.Context, v *dialect.Invocation) error {
		var svc mail.Service
		var name mail.Name
		caller, err := v.Caller(ctx)
		if err == nil && caller == mail.User {
			svc, name, err = named(ctx, v, caller, v.Text("session-id"))
		} else {
			svc, name, err = speaker(ctx, v, "session-id")
		}
		if err != nil {
			return err
		}
		r, err := readRoster(ctx, svc)
		if err != nil {
			return err
		}
		return run(ctx, v, svc, name, r.find(name))
	}
}

func runRegister(ctx context.Context, v *dialect.Invocation, svc mail.Service, name mail.Name, a *mail.Agent) error {
	if err := mayResume(ctx, v, a); err != nil {
		return err
	}
	p := aboutSession(v, a)
	p.Name, p.Update = name, a != nil
	if a == nil || !a.State.Live() {
		p.State = mail.Idle
	}
	if a == nil {
		p.Client = client
		p.Roles = answersTo(ctx, svc, name, p.Roles)
	}
	return register(ctx, v, svc, p)
}

func runUpdate(ctx context.Context, v *dialect.Invocation, svc mail.Service, name mail.Name, a *mail.Agent) error {
	p := aboutSession(v, a)
	p.Name, p.Update = name, true
	if v.Given["state"] {
		if p.State = stateOf(v.Text("state")); p.State == "" {
			return mail.Errorf(mail.Invalid, "%q is not a state of a session; use live, frozen or dead",
				v.Text("state"))
		}
		if p.State == mail.Idle {
			if err := mayResume(ctx, v, a); err != nil {
				return err
			}
		}
		if p.State == mail.Idle && a != nil && a.State.Live() {
			p.State = "" // it is alive, and may be working
		}
	}
	return register(ctx, v, svc, p)
}

// aboutSession returns the flags as changes to a, which may be nil.
func aboutSession(v *dialect.Invocation, a *mail.Agent) mail.Presence {
	var p mail.Presence
	if a == nil {
		a = &mail.Agent{}
	}
	if v.Given["role"] {
		p.Roles = append([]string{}, split(v.Text("role"))...)
	}
	if v.Given["tags"] {
		p.Tags = []string{}
		for _, t := range split(v.Text("tags")) {
			role, ok := strings.CutPrefix(t, "role:")
			if !ok {
				p.Tags = append(p.Tags, t)
				continue
			}
			if p.Roles == nil {
				p.Roles = slices.Clone(a.Roles)
			}
			if !slices.Contains(p.Roles, role) {
				p.Roles = append(p.Roles, role)
			}
		}
	}
	if own := string(a.Name); p.Roles != nil && slices.Contains(a.Roles, own) && !slices.Contains(p.Roles, own) {
		p.Roles = append(p.Roles, own)
	}
	if v.Given["summary"] {
		p.Task = new(summary(v.Text("summary")))
	}
	if v.Given["parent-session"] {
		p.Parent = new(mail.Name(v.Text("parent-session")))
	}
	return p
}

func split(list string) []string {
	var all []string
	for w := range strings.SplitSeq(list, ",") {
		if w = strings.TrimSpace(w); w != "" {
			all = append(all, w)
		}
	}
	return all
}

// mayResume lets only the person wake a frozen session.
func mayResume(ctx context.Context, v *dialect.Invocation, a *mail.Agent) error {
	if a == nil || a.State != mail.Frozen {
		return nil
	}
	if caller, err := v.Caller(ctx); err != nil || caller != mail.User {
		return mail.Errorf(mail.Denied,
			"%s is frozen, and only the person may wake a frozen session. Nothing was changed", a.Name)
	}
	return nil
}

func register(ctx context.Context, v *dialect.Invocation, svc mail.Service, p mail.Presence) error {
	a, err := svc.Register(ctx, p)
	if err != nil {
		return err
	}
	return printEntries(v, []mail.Agent{a})
}

func freeze(ctx context.Context, v *dialect.Invocation, svc mail.Service, name mail.Name, _ *mail.Agent) error {
	return register(ctx, v, svc, mail.Presence{Name: name, Update: true, State: mail.Frozen})
}

// bury marks a session as dead and prints the roles that then have no live holder. It checks them first, because
// looking makes a session alive.
func bury(ctx context.Context, v *dialect.Invocation, svc mail.Service, name mail.Name, a *mail.Agent) error {
	vacant, err := vacatedBy(ctx, svc, a)
	if err != nil {
		return err
	}
	p := mail.Presence{Name: name, Update: true, State: mail.Gone}
	if v.Given["summary"] {
		p.Task = new(summary(v.Text("summary")))
	}
	if err := register(ctx, v, svc, p); err != nil {
		return err
	}
	for _, notice := range vacant {
		fmt.Fprintln(v.Stderr, notice)
	}
	return nil
}

// vacatedBy returns notices about the roles that only this session holds.
func vacatedBy(ctx context.Context, svc mail.Service, a *mail.Agent) (notices []string, err error) {
	if a == nil || !a.State.Live() {
		return nil, nil
	}
	r, err := readRoster(ctx, svc)
	if err != nil {
		return nil, err
	}
	page, err := svc.Inbox(ctx, mail.InboxQuery{Agent: a.Name, Limit: mail.MaxLimit})
	if err != nil {
		return nil, err
	}
	for _, role := range given(a) {
		if len(r.holders(mail.RoleAddress(role))) > 1 {
			continue
		}
		n := 0
		for _, it := range page.Messages {
			if slices.Contains(it.To, mail.RoleAddress(role)) {
				n++
			}
		}
		notices = append(notices, fmt.Sprintf("vacancy: %s was the last to hold the role %s; %s", a.Name, role,
			waiting(n)))
	}
	return notices, nil
}

// maxHeld limits how many messages to a vacant role are counted.
const maxHeld = 100

// heldFor returns the number of messages that wait for a vacant role.
func heldFor(ctx context.Context, svc mail.Service, role string) (n int, err error) {
	page, err := svc.History(ctx, mail.HistoryQuery{To: string(mail.RoleAddress(role)), Limit: maxHeld,
		States: []mail.DeliveryState{mail.Held}})
	return len(page.Messages), err
}

func waiting(n int) string {
	switch n {
	case 0:
		return "no mail waits for it"
	case 1:
		return "1 message waits for it"
	}
	return fmt.Sprintf("%d messages wait for it", n)
}

func runClean(ctx context.Context, v *dialect.Invocation, svc mail.Service, r *roster) error {
	for _, a := range r.agents {
		if a.State != mail.Gone || a.Client != client && !v.Switch("all") {
			continue
		}
		if err := svc.Retire(ctx, a.Name); err != nil {
			return err
		}
		fmt.Fprintln(v.Stdout, "removed", a.Name)
	}
	return nil
}

func runShow(_ context.Context, v *dialect.Invocation, _ mail.Service, r *roster) error {
	agents := r.agents
	if one := v.Text("session-id"); one != "" {
		full, ok := r.typed()(one)
		if !ok {
			return mail.Errorf(mail.NotFound,
				"no session %q on the roster. To list the sessions: pennypost haak roster show", one)
		}
		agents = []mail.Agent{*r.find(full)}
		if v.JSON {
			return v.WriteJSON(entryJSON(&agents[0]))
		}
	}
	if v.JSON {
		list := make([]jsonx.Value, len(agents))
		for i := range agents {
			list[i] = entryJSON(&agents[i])
		}
		return v.WriteJSON(list)
	}
	return printEntries(v, agents)
}

func entryJSON(a *mail.Agent) jsonx.Value { return encodeEntry(nil, a, max(a.Seen, a.Since)) }

// printEntries prints a line for each session, or with --json its roster entry.
func printEntries(v *dialect.Invocation, agents []mail.Agent) error {
	for i := range agents {
		a := &agents[i]
		var err error
		if v.JSON {
			_, err = fmt.Fprintf(v.Stdout, "%s\n", entryJSON(a))
		} else {
			_, err = fmt.Fprintf(v.Stdout, "%s  %s  role %s  tags %s  %s\n", a.Name, wordOf(a.State), orNone(given(a)),
				orNone(a.Tags), oneLine(a.Task))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, ",")
}
