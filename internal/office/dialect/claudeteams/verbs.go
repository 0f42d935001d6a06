package claudeteams

import (
	"context"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

const dialectName = "claudeteams"

// Dialect returns the dialect.
func Dialect() dialect.Dialect {
	return dialect.Dialect{
		Name: dialectName,
		About: "Claude Code's agent teams: inboxes below ~/.claude/teams, and teams that Pennypost runs in the " +
			"same form",
		Files:    open,
		Where:    "the team's directory: ~/.claude/teams/TEAM",
		Top:      []string{"team"},
		Titles:   []string{leadName},
		Vanishes: true,
		Verbs:    verbs(),
	}
}

// asMember returns the flag that names the member a verb speaks for.
func asMember(who string) dialect.Flag {
	return dialect.Flag{Name: "agent", Usage: "`MEMBER` who speaks; default: you, or for the user " + who}
}

func verbs() []dialect.Verb {
	return []dialect.Verb{
		{
			Path: "team create", Short: "make a team that Pennypost runs, and bridge it", Args: "NAME", MinArgs: 1,
			MaxArgs: 1, Writes: true,
			Long: "The team is a directory below $CLAUDE_CONFIG_DIR or ~/.claude, in the form of Claude Code's " +
				"agent teams. Its members are\n" +
				"agents of the room: what they send each other stands in their inboxes, and what they read is " +
				"marked there.",
			Example: `pennypost team create parser --member reader,writer --description "Write the parser"`,
			Flags: []dialect.Flag{
				{Name: "member", Usage: "`NAMES` of members, separated by commas"},
				{Name: "description", Usage: "`TEXT` that says what the team is for"},
			},
			Run: create,
		},
		{
			Path: "team add", Short: "add a member", Args: "TEAM NAME", MinArgs: 2, MaxArgs: 2, Writes: true,
			Flags: []dialect.Flag{
				{Name: "model", Usage: "`MODEL` it runs on"},
				{Name: "type", Usage: "`TYPE` of agent", Default: "general-purpose"},
				{Name: "prompt", Usage: "`TEXT` it was begun with"},
				{Name: "plan-mode", Usage: "its plans need approval", Kind: dialect.Switch},
			},
			Run: inTeam(add),
		},
		{
			Path: "team send", Short: "write to a member", Args: "TEAM NAME TEXT", MinArgs: 3, MaxArgs: 3,
			Writes: true,
			Flags: []dialect.Flag{asMember("the lead"),
				{Name: "summary", Usage: "`LINE` that says what it is about"}},
			Run: inTeam(send),
		},
		{
			Path: "team task", Short: "add a task, or give it to a member", Args: "TEAM", MinArgs: 1, MaxArgs: 1,
			Writes:  true,
			Long:    "A task without --id is new. One that is given an owner is announced to it.",
			Example: `pennypost team task parser --subject "Review" --description "Review store.go" --owner reader`,
			Flags: []dialect.Flag{
				{Name: "id", Usage: "`ID` of the task; default: the next number"},
				{Name: "subject", Usage: "`LINE` that says what it is"},
				{Name: "description", Usage: "`TEXT` that says it in full"},
				{Name: "owner", Usage: "`MEMBER` who is to do it"}, asMember("the lead"),
			},
			Run: inTeam(task),
		},
		{
			Path: "team turn-end", Short: "tell the lead that a member's turn has ended", Args: "TEAM", MinArgs: 1,
			MaxArgs: 1, Writes: true,
			Flags: []dialect.Flag{
				{Name: "agent", Usage: "`MEMBER` whose turn it was; default: you"},
				{Name: "interrupted", Usage: "it was broken off", Kind: dialect.Switch},
				{Name: "summary", Usage: "`LINE` that says what was done"},
			},
			Run: inTeam(turnEnd),
		},
		{
			Path: "team shutdown", Short: "ask a member to end, or answer that",
			Args: "TEAM request MEMBER | TEAM approve|reject REQUEST", MinArgs: 3, MaxArgs: 3, Writes: true,
			Long: "A member that approves leaves the team; its inbox stays. A request from before a member joined " +
				"is not answered any more.",
			Example: "pennypost team shutdown parser request reader --reason \"The work is done\"\n" +
				"pennypost team shutdown parser approve shutdown-1770477661492@reader",
			Flags: []dialect.Flag{{Name: "reason", Usage: "`TEXT` that says why"},
				asMember("the lead, or who was asked")},
			Run: asking((*team).askShutdown, (*team).answerShutdown),
		},
		{
			Path: "team plan", Short: "ask for approval of a plan, or answer that",
			Args: "TEAM request PLAN | TEAM approve|reject REQUEST", MinArgs: 3, MaxArgs: 3, Writes: true,
			Long: "PLAN is the text of the plan; - reads it from standard input. Only members that were added with " +
				"--plan-mode ask.",
			Flags: []dialect.Flag{{Name: "feedback", Usage: "`TEXT` for who asked"},
				{Name: "file", Usage: "`PATH` of the plan"}, asMember("the lead")},
			Run: asking((*team).askPlan, (*team).answerPlan),
		},
		{
			Path: "team delete", Short: "delete a team's files; the room keeps its mail", Args: "TEAM", MinArgs: 1,
			MaxArgs: 1, Writes: true,
			Flags: []dialect.Flag{
				{Name: "force", Usage: "also if it has members besides the lead, or is Claude Code's",
					Kind: dialect.Switch},
				{Name: "erase", Usage: "erase the team's mail from the room too, for good", Kind: dialect.Switch},
			},
			Run: inTeam(remove),
		},
		{
			Path: "team import", Short: "take the mail of captured teams into the room", Args: "DIR", MinArgs: 1,
			MaxArgs: 1,
			Long: "Every team below DIR is found: directories with config.json and inboxes, and inboxes that lie " +
				"elsewhere, with\n" +
				"config-NAME.json beside them or without. What is no message is told, a line each. Nothing is " +
				"written there.\n" +
				"What the room has already is skipped.",
			Run: importTeams,
		},
		{
			Path: "team show", Short: "show a team, or the inbox of a member", Args: "TEAM [MEMBER]", MinArgs: 1,
			MaxArgs: 2,
			Long:    "In an inbox, idle notices of one member that follow each other are one line.",
			Run:     inTeam(show),
		},
	}
}

// actor returns the member that the command speaks for: the caller itself or, for the user, the one named by --agent
// or fallback.
func (t *team) actor(ctx context.Context, fallback string) (member, error) {
	caller, err := t.v.Caller(ctx)
	if err != nil {
		return member{}, err
	}
	named := t.v.Text("agent")
	if caller == mail.User {
		if named == "" {
			named = fallback
		}
		if named == "" {
			return member{}, mail.Errorf(mail.Invalid, "say who speaks, with --agent; the members are %s",
				strings.Join(t.config.names(), ", "))
		}
		return t.member(named)
	}
	for _, m := range t.config.members {
		if called(caller, m.name, t.name) && (named == "" || named == m.name || named == string(caller)) {
			return m, nil
		}
	}
	return member{}, mail.Errorf(mail.Denied,
		"%s cannot speak for %q in team %s, whose members are %s; nothing was sent", caller, named, t.config.name,
		strings.Join(t.config.names(), ", "))
}

// called reports whether an agent of the room may be the member called native.
func called(agent mail.Name, native, team string) bool {
	return agent == mail.Name(native) || agent == mail.Name(native+"."+team)
}
