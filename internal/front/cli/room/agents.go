package room

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
)

const agentsHelp = `List the agents of the room: their task, their state, and the amount of mail waiting for them, at
most --limit agents. --all-rooms lists the agents of all rooms, for you only, not for agents; closed
rooms are listed as they were. The commands below change the roster.`

func newAgents(a *app) *cobra.Command {
	cmd := newRoster(a, &cobra.Command{
		Use: "agents", Short: "list and manage the agents of the room", Long: agentsHelp,
		Example: "pennypost agents\npennypost agents register builder --role builder --tag " +
			"project:parser\npennypost agents --state working,idle\npennypost agents token builder",
	})
	cmd.AddCommand(
		newRoster(a, &cobra.Command{Use: "list", Short: "list the agents", Long: agentsHelp}),
		newAgentsRegister(a), newAgentsUpdate(a), newAgentsFreeze(a), newAgentsRetire(a),
		newAgentsToken(a), newAgentsRename(a), newAgentsMerge(a), newAgentsGrant(a), newAgentsGrants(a))
	return cmd
}

// newRoster returns a command that lists agents.
func newRoster(a *app, cmd *cobra.Command) *cobra.Command {
	q, all := mail.RosterQuery{Limit: mail.DefaultLimit}, false
	var states []string
	cmd.Args = cli.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, s := range states {
			q.States = append(q.States, mail.State(s))
		}
		if all {
			return a.agentsAllRooms(cmd.Context(), q)
		}
		return cli.Ask(cmd.Context(), a.App, a.Existing, mail.Service.Agents, q, func(list mail.AgentList) error {
			room, err := a.RoomName()
			if err != nil {
				return err
			}
			return a.showAgents(cmd.Context(), &list, q, a.gists(cmd.Context(), room, list.Agents))
		})
	}
	return cli.WithFlags(cmd, allRoomsFlag(&all, "the agents of all rooms"),
		cli.Flag{Into: &q.Search, Name: "search", About: "only agents with `TEXT` in their name, task, roles or tags"},
		cli.Flag{Into: &q.Role, Name: "role", About: "only agents with this `ROLE`"},
		cli.Flag{Into: &q.Tag, Name: "tag", About: "only agents with this `TAG`"},
		cli.Flag{Into: &states, Name: "state",
			About: "only agents in this `STATE`: working, asking, idle, frozen or gone; repeatable, or separated " +
				"by commas",
			Complete: completeState("asking")},
		cli.Flag{Into: (*string)(&q.After), Name: "after",
			About:    "only agents after this `NAME`, for the next part of a list",
			Complete: a.CompleteAgent},
		cli.Flag{Into: &q.Limit, Name: "limit", About: "at most `N` agents, up to 1000; default 1000"})
}

func completeState(more ...string) cobra.CompletionFunc {
	return cli.OneOf(append([]string{"working", "idle", "frozen", "gone"}, more...)...)
}

// gists returns, in a line each, the questions that agents' clients ask the person, if the caller is the person.
func (a *app) gists(ctx context.Context, room mail.RoomName, list []mail.Agent) map[mail.Name]string {
	if !slices.ContainsFunc(list, func(ag mail.Agent) bool { return ag.State == mail.Asking }) {
		return nil
	}
	gists := make(map[mail.Name]string)
	for _, c := range a.AsksUser(ctx, mail.DialogQuery{Rooms: []mail.RoomName{room}}) {
		if gists[c.Agent] == "" {
			gists[c.Agent] = "asks you: " + triage.DialogGist(&c)
		}
	}
	return gists
}

// showAgents lists agents. gists are their questions, which replace their task.
func (a *app) showAgents(ctx context.Context, list *mail.AgentList, q mail.RosterQuery,
	gists map[mail.Name]string) error {
	if len(list.Agents) == 0 {
		a.noAgents(ctx, q, list.Total)
		return nil
	}
	rows := make([][]string, 0, len(list.Agents))
	for _, ag := range list.Agents {
		rows = append(rows, a.agentRow(&ag, gists))
	}
	a.Out.List(rows, []cli.Step{
		cli.At(0, cli.AtMost(32)), cli.At(5, cli.AtMost(48)), cli.At(4, nil), cli.At(2, cli.Brief),
		cli.At(5, cli.AtMost(24)), cli.At(0, cli.AtMost(20)), cli.At(5, nil), cli.At(2, nil),
	}, 2)
	if list.More {
		a.Out.Line("%s", a.Out.Dim(strconv.Itoa(len(rows))+" of "+strconv.Itoa(list.Total)+". More: "+
			a.Onward("after", string(list.Next))))
	}
	return nil
}

// agentRow is an agent in a list.
func (a *app) agentRow(ag *mail.Agent, gists map[mail.Name]string) []string {
	unread := ""
	if ag.Unread > 0 {
		unread = strconv.Itoa(ag.Unread) + " unread"
	}
	return []string{
		cli.OneLine(string(ag.Name)), strings.TrimSpace(string(ag.State) + " " + ag.On()),
		a.Out.Ago(seenOrAsked(ag)), unread, a.looked(ag), badges(*ag),
		cli.OneLine(cmp.Or(gists[ag.Name], ag.Task)),
	}
}

// seenOrAsked is when an agent was last seen or, if its client waits for a person, when that began.
func seenOrAsked(ag *mail.Agent) mail.Time {
	if ag.State == mail.Asking && len(ag.Dialogs) > 0 {
		return ag.Dialogs[0].Since
	}
	return ag.Seen
}

// noAgents explains an empty list.
func (a *app) noAgents(ctx context.Context, q mail.RosterQuery, total int) {
	switch {
	case q.After != "" && total > 0:
		a.Out.Line("There is no agent after %s. To list from the beginning: pennypost agents",
			cli.OneLine(string(q.After)))
	case q.Search+q.Role+q.Tag != "" || len(q.States) > 0:
		a.Out.Line("No agent matches. To list all: pennypost agents")
	default:
		a.nothing(ctx, "No agent is registered", "agents", agentsElsewhere)
		a.Out.Line("%s", a.Out.Dim("To register an agent: pennypost agents register NAME"))
	}
}

// looked says how and when an agent last saw its mail.
func (a *app) looked(ag *mail.Agent) string {
	if ag.Door == "" {
		return ""
	}
	return mail.Looked(ag.Door) + " " + a.Out.Ago(ag.DoorAt)
}

// badges are the addresses, other than its name, that reach an agent.
func badges(ag mail.Agent) string {
	var words []string
	for _, r := range ag.Roles {
		words = append(words, string(mail.RoleAddress(r)))
	}
	return cli.OneLine(strings.Join(append(words, ag.Tags...), " "))
}

// presenceFlags are the flags that describe an agent.
type presenceFlags struct {
	roles, tags                 []string
	task, parent, client, state string
}

func (f *presenceFlags) with(a *app, cmd *cobra.Command, more ...cli.Flag) *cobra.Command {
	return cli.WithFlags(cmd, append(more,
		cli.Flag{Into: &f.roles, Name: "role",
			About: "`ROLE` that it has; repeatable, replaces its roles; --role \"\" for none"},
		cli.Flag{Into: &f.tags, Name: "tag",
			About: "`TAG` that it has, such as project:parser; repeatable, replaces its tags"},
		cli.Flag{Into: &f.task, Name: "task", About: "its task, one line of `TEXT`"},
		cli.Flag{Into: &f.parent, Name: "parent", About: "`NAME` of the agent that started it",
			Complete: a.CompleteAgent},
		cli.Flag{Into: &f.client, Name: "client", About: "`NAME` of its client program"},
		cli.Flag{Into: &f.state, Name: "state", About: "`STATE`: working, idle, frozen or gone",
			Complete: completeState()})...)
}

// presence returns an agent's description from the flags that were given.
func (f *presenceFlags) presence(cmd *cobra.Command, name string) mail.Presence {
	p := mail.Presence{Name: mail.Name(name), State: mail.State(f.state), Client: f.client}
	if cmd.Flags().Changed("role") {
		p.Roles = append([]string{}, f.roles...)
	}
	if cmd.Flags().Changed("tag") {
		p.Tags = append([]string{}, f.tags...)
	}
	if cmd.Flags().Changed("task") {
		p.Task = &f.task
	}
	if cmd.Flags().Changed("parent") {
		parent := mail.Name(f.parent)
		p.Parent = &parent
	}
	return p
}

const registerHelp = `Put an agent on the roster, or change its entry. Mail belongs to the agent's name, and the next
session with that name finds it. If a live session holds the name, the new agent is called NAME-2, unless
it takes over, which the journal records. The answer gives the agent's final name.`

func newAgentsRegister(a *app) *cobra.Command {
	var f presenceFlags
	var session string
	var takeOver, end bool
	return f.with(a, &cobra.Command{
		Use: "register NAME", Short: "register an agent", Long: registerHelp,
		Example: "pennypost agents register builder --role builder --tag project:parser\npennypost agents register " +
			"\"小克 builder\"",
		Args: cli.NArgs(1, "the agent's name; quote one that has spaces"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := mail.ParseName(args[0]); err != nil {
				return err // an empty one would mean the speaker
			}
			a.speakAs(args[0])
			p := f.presence(cmd, args[0])
			p.Session, p.TakeOver, p.End = session, takeOver, end
			return a.register(cmd.Context(), p)
		},
	},
		cli.Flag{Into: &session, Name: "session", About: "`ID` of the running instance that claims the name"},
		cli.Flag{Into: &takeOver, Name: "take-over", About: "take over a name that another session holds"},
		cli.Flag{Into: &end, Name: "end", About: "with --session: the instance has ended"})
}

func newAgentsUpdate(a *app) *cobra.Command {
	var f presenceFlags
	return f.with(a, &cobra.Command{
		Use: "update NAME", Short: "change an agent's roster entry",
		Long: "Change the entry of an agent on the roster. Whatever you do not name stays as it is.\n" +
			"Only you can give the role orchestrator, which may cancel, freeze and retire others.",
		Example: "pennypost agents update lead --role orchestrator\npennypost agents update builder --task \"the " +
			"parser\"\npennypost agents update builder --state idle",
		Args: cli.NArgs(1, "the agent's name"), ValidArgsFunction: a.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			p := f.presence(cmd, args[0])
			p.Update = true
			return a.register(cmd.Context(), p)
		},
	})
}

func newAgentsFreeze(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "freeze NAME", Short: "pause an agent; its mail waits and does not expire",
		Long: "Record that an agent is paused. Its mail waits and does not expire until the agent is idle or " +
			"working\nagain: pennypost agents update NAME --state idle.",
		Example: "pennypost agents freeze builder", Args: cli.NArgs(1, "the agent's name"),
		ValidArgsFunction: a.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.register(cmd.Context(), mail.Presence{Name: mail.Name(args[0]), State: mail.Frozen, Update: true})
		},
	}
}

// speakAs lets an agent's process register itself without naming itself twice.
func (a *app) speakAs(name string) {
	if _, inside := config.AgentClient(a.Env.Environ); inside && a.As == "" && a.Env.Getenv("PENNYPOST_AGENT") == "" {
		a.As = name
	}
}

func (a *app) register(ctx context.Context, p mail.Presence) error {
	return cli.Ask(ctx, a.App, a.Service, mail.Service.Register, p, func(ag mail.Agent) error {
		return a.showAgent(ag, p.Name)
	})
}

// showAgent prints the roster line of an agent that was asked for by name.
func (a *app) showAgent(ag mail.Agent, asked mail.Name) error {
	a.Out.Line("%s", strings.TrimRight(a.Out.Bold(cli.OneLine(string(ag.Name)))+"  "+string(ag.State)+"  "+badges(ag),
		" "))
	if asked != "" && ag.Name != asked && strings.HasPrefix(string(ag.Name), string(asked)+"-") {
		a.Out.Line("A live session holds the name %s, so this agent is called %s. To take the name over: --take-over",
			cli.OneLine(string(asked)), cli.OneLine(string(ag.Name)))
	}
	return nil
}

func newAgentsRetire(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "retire NAME", Short: "take an agent off the roster",
		Long: "Take an agent off the roster. Mail for its roles goes to other agents with the role; its own " +
			"unread mail\n" +
			"becomes dead letters, which its senders can see. Its messages stay in the history.",
		Example: "pennypost agents retire builder", Args: cli.NArgs(1, "the agent's name"),
		ValidArgsFunction: a.CompleteAgent,
		RunE: cli.RunAt(a.Service, func(ctx context.Context, svc mail.Service, args []string) error {
			return a.Said(svc.Retire(ctx, mail.Name(args[0])), struct {
				Retired string `json:"retired"`
			}{args[0]}, "%s is off the roster.", cli.OneLine(args[0]))
		}),
	}
}

const tokenHelp = `Make the bearer token with which a program can be this agent over HTTP, in this room only. The
token is shown only here, and stored as a hash. The agent's previous token becomes void.

With --guest the token is for another person's program: it is valid for A2A only, and its messages are
marked as from outside.`

func newAgentsToken(a *app) *cobra.Command {
	var guest bool
	return cli.WithFlags(&cobra.Command{
		Use: "token NAME", Short: "make an agent's bearer token", Long: tokenHelp,
		Example: "pennypost agents token builder\npennypost agents token acme --guest",
		Args:    cli.NArgs(1, "the agent's name"), ValidArgsFunction: a.CompleteAgent,
		RunE: cli.RunAt(a.Service, func(ctx context.Context, svc mail.Service, args []string) error {
			made := svc.Token
			if guest {
				made = svc.GuestToken
			}
			token, err := made(ctx, mail.Name(args[0]))
			return a.Said(err, struct {
				Token string `json:"token"`
			}{token}, "%s", token) // alone on standard output, so that it can be piped
		}),
	}, cli.Flag{Into: &guest, Name: "guest", About: "for another person's program, which connects by A2A"})
}

func newAgentsRename(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "rename NAME NEW-NAME", Short: "rename an agent; its mail moves with it",
		Long:              "Rename an agent. Its mail moves with it, and the old name still reaches it.",
		Example:           "pennypost agents rename builder parser-builder",
		Args:              cli.NArgs(2, "the agent's name and the new one"),
		ValidArgsFunction: a.CompleteAgent,
		RunE: cli.RunAt(a.Service, func(ctx context.Context, svc mail.Service, args []string) error {
			ag, err := svc.Rename(ctx, mail.Name(args[0]), mail.Name(args[1]))
			return cli.Answer(a.App, ag, err, func(ag mail.Agent) error { return a.showAgent(ag, "") })
		}),
	}
}

const mergeHelp = `Merge an agent into another, or into you: for an agent that turned out to be the same as another,
such as one that returned as NAME-2, and for a name that is yours. Everything of FROM becomes INTO's: its
mail, read or not, its threads, its open questions, its roles and tags. Its name leads to INTO,
permanently. Its token becomes void. FROM must have no running session. This cannot be undone.`

func newAgentsMerge(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "merge FROM INTO", Short: "merge an agent into another, or into you (user)", Long: mergeHelp,
		Example:           "pennypost agents merge builder-2 builder\npennypost agents merge captain user",
		Args:              cli.NArgs(2, "the agent to merge, and the one that it is merged into"),
		ValidArgsFunction: a.CompleteAgent,
		RunE: cli.RunAt(a.Service, func(ctx context.Context, svc mail.Service, args []string) error {
			into, err := svc.Merge(ctx, mail.Name(args[0]), mail.Name(args[1]))
			return a.Said(err, into, "%s is now %s", args[0], into.Name)
		}),
	}
}
