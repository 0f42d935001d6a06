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
	return dialect.Flag{Name: "agent", Usage: "the sending `MEMBER`; default: you, or for the user " + who}
}

func verbs() []dialect.Verb {
	return []dialect.Verb{
		{
			Path: "team create", Short: "make a team that Pennypost runs, and bridge it", Args: "NAME", MinArgs: 1,
			MaxArgs: 1, Writes: true,
			Long: "The team is a directory below $CLAUDE_CONFIG_DIR or ~/.claude, in the form of Claude Code's " +
				"agent teams. Its members are\n" +
				"agents of the room: the mail between them is in their inboxes, and what they read is marked there.",
			Example: `pennypost team create parser --member reader,writer --description "Write the parser"`,
			Flags: []dialect.Flag{
				{Name: "member", Usage: "`NAMES` of members, separated by commas"},
				{Name: "description", Usage: "the team's purpose as `TEXT`"},
			},
			Run: create,
		},
		{
			Path: "team add", Short: "add a member", Args: "TEAM NAME", MinArgs: 2, MaxArgs: 2, Writes: true,
			Flags: []dialect.Flag{
				{Name: "model", Usage: "`MODEL` it runs on"},
				{Name: "type", Usage: "`TYPE` of agent", Default: "general-purpose"},
				{Name: "prompt", Usage: "its first prompt as `TEXT`"},
				{Name: "plan-mode", Usage: "its plans need approval", Kind: dialect.Switch},
			},
			Run: inTeam(add),
		},
		{
			Path: "team send", Short: "write to a member", Args: "TEAM NAME TEXT", MinArgs: 3, MaxArgs: 3,
			Writes: true,
			Flags: []dialect.Flag{asMember("the lead"),
				{Name: "summary", Usage: "its topic as one `LINE`"}},
			Run: inTeam(send),
		},
		{
			Path: "team task", Short: "add a task, or give it to a member", Args: "TEAM", MinArgs: 1, MaxArgs: 1,
			Writes:  true,
			Long:    "A task without --id is new. A new owner is notified.",
			Example: `pennypost team task parser --subject "Review" --description "Review store.go" --owner reader`,
			Flags: []dialect.Flag{
				{Name: "id", Usage: "`ID` of the task; default: the next number"},
				{Name: "subject", Usage: "the task as one `LINE`"},
				{Name: "description", Usage: "the details as `TEXT`"},
				{Name: "owner", Usage: "the `MEMBER` that must do it"}, asMember("the lead"),
			},
			Run: inTeam(task),
		},
		{
			Path: "team turn-end", Short: "tell the lead that a member's turn has ended", Args: "TEAM", MinArgs: 1,
			MaxArgs: 1, Writes: true,
			Flags: []dialect.Flag{
				{Name: "agent", Usage: "the `MEMBER` whose turn ended; default: you"},
				{Name: "interrupted", Usage: "it was interrupted", Kind: dialect.Switch},
				{Name: "summary", Usage: "the result as one `LINE`"},
			},
			Run: inTeam(turnEnd),
		},
		{
			Path: "team shutdown", Short: "ask a member to end, or answer that",
			Args: "TEAM request MEMBER | TEAM approve|reject REQUEST", MinArgs: 3, MaxArgs: 3, Writes: true,
			Long: "A member that approves leaves the team; its inbox stays. A request older than a member cannot " +
				"be answered.",
			Example: "pennypost team shutdown parser request reader --reason \"The work is done\"\n" +
				"pennypost team shutdown parser approve shutdown-1770477661492@reader",
			Flags: []dialect.Flag{{Name: "reason", Usage: "the reason as `TEXT`"},
				asMember("the lead, or the member that was asked")},
			Run: asking((*team).askShutdown, (*team).answerShutdown),
		},
		{
			Path: "team plan", Short: "ask for approval of a plan, or answer that",
			Args: "TEAM request PLAN | TEAM approve|reject REQUEST", MinArgs: 3, MaxArgs: 3, Writes: true,
			Long: "PLAN is the text of the plan; - reads it from standard input. Only members that were added with " +
				"--plan-mode ask.",
			Flags: []dialect.Flag{{Name: "feedback", Usage: "`TEXT` for the requester"},
				{Name: "file", Usage: "`PATH` of the plan"}, asMember("the lead")},
			Run: asking((*team).askPlan, (*team).answerPlan),
		},
		{
			Path: "team delete", Short: "delete a team's files; the room keeps its mail", Args: "TEAM", MinArgs: 1,
			MaxArgs: 1, Writes: true,
			Flags: []dialect.Flag{
				{Name: "force", Usage: "even if it has members other than the lead, or is Claude Code's",
					Kind: dialect.Switch},
				{Name: "erase", Usage: "erase the team's mail from the room too, for good", Kind: dialect.Switch},
			},
			Run: inTeam(remove),
		},
		{
			Path: "team import", Short: "import the mail of captured teams into the room", Args: "DIR", MinArgs: 1,
			MaxArgs: 1,
			Long: "Every team below DIR is found: directories with config.json and inboxes, and inboxes that lie " +
				"elsewhere, with\nor without config-NAME.json beside them. Each entry that is not a message is " +
				"reported in a line. Nothing is written there.\nMail that the room already has is skipped.",
			Run: importTeams,
		},
		{
			Path: "team show", Short: "show a team, or the inbox of a member", Args: "TEAM [MEMBER]", MinArgs: 1,
			MaxArgs: 2,
			Long:    "In an inbox, consecutive idle notices of one member are one line.",
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
			return member{}, mail.Errorf(mail.Invalid, "name the sender with --agent; the members are %s",
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
		"%s cannot act as %q in team %s, whose members are %s; nothing was sent", caller, named, t.config.name,
		strings.Join(t.config.names(), ", "))
}

// called reports whether an agent of the room may be the member called native.
func called(agent mail.Name, native, team string) bool {
	return agent == mail.Name(native) || agent == mail.Name(native+"."+team)
}
