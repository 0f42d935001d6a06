package room

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

const awayHelp = `Tell the post office that you are away from your agents' terminals. Clients that hide their dialog
while a hook waits, such as subagents of Claude Code, Qwen Code and the Copilot CLI, then wait for your
answer from the pages, your phone or another terminal, and show no dialog. It ends by itself.

Without --for, show for whom this is on. AGENT is one agent of the room; without it, all agents of all
rooms. --back ends it, for AGENT or for all. Only you can do this: on the pages, with your phone, or in a
terminal where you sit.`

func newAway(a *app) *cobra.Command {
	var f struct {
		For  string
		Back bool
	}
	return cli.WithFlags(&cobra.Command{
		Use: "away [AGENT]", Short: "make agents ask you elsewhere, not in their terminals", Long: awayHelp,
		Example: "pennypost away --for 2h\npennypost away builder --for 30m\npennypost away --back",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return cli.Usage("pennypost away takes one agent, and %q is another", args[1])
			case f.For != "" && f.Back:
				return cli.Usage("--for and --back exclude each other. Nothing was changed")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.away(cmd.Context(), args, f.For, f.Back)
		},
		ValidArgsFunction: a.CompleteAgent,
	},
		cli.Flag{Into: &f.For, Name: "for", About: "be away for this `TIME`, such as 30m or 2h; at most 24h"},
		cli.Flag{Into: &f.Back, Name: "back", About: "you are back"})
}

func (a *app) away(ctx context.Context, args []string, length string, back bool) error {
	if err := a.OnlyUser("say that they are away"); err != nil {
		return err
	}
	office, err := a.Post()
	if err != nil {
		return err
	}
	q, err := a.awayFrom(ctx, args)
	if err != nil {
		return err
	}
	var list wire.Aways
	switch {
	case length != "":
		long, err := time.ParseDuration(length)
		if err != nil || long <= 0 {
			return cli.Usage("%q is not a duration; write it like 30m or 2h. Nothing was changed", length)
		}
		q.Until = mail.TimeOf(time.Now().Add(long))
		list, err = office.SetAway(ctx, q)
		return cli.Answer(a.App, list, err, a.showAway)
	case back:
		q.Until = 1
		list, err = office.SetAway(ctx, q)
	default:
		list, err = office.Away(ctx)
		if q.Agent != "" {
			list.Away = slices.DeleteFunc(list.Away, func(w wire.Away) bool {
				return w.Agent != "" && (w.Agent != q.Agent || w.Room != q.Room)
			})
		}
	}
	return cli.Answer(a.App, list, err, a.showAway)
}

// awayFrom begins the request for one agent, or for all.
func (a *app) awayFrom(ctx context.Context, args []string) (q wire.Away, err error) {
	if len(args) == 0 {
		return q, nil
	}
	svc, err := a.Service(ctx)
	if err != nil {
		return q, err
	}
	ag, there, err := mail.OneAgent(ctx, svc, mail.Name(args[0]))
	if err == nil && !there {
		err = cli.Hinted(mail.Errorf(mail.NotFound, "no agent is called %s in this room. Nothing was changed",
			args[0]), "to list them: pennypost agents")
	}
	if err != nil {
		return q, err
	}
	q.Agent = ag.Name
	q.Room, err = a.RoomName()
	return q, err
}

func (a *app) showAway(list wire.Aways) error {
	if len(list.Away) == 0 {
		a.Own("You are not away: agents ask in their terminals.")
	}
	for _, w := range list.Away {
		who := "all agents"
		if w.Agent != "" {
			who = string(w.Agent) + " in " + string(w.Room)
		}
		a.Out.Line("Away from %s until %s.", cli.OneLine(who), w.Until.Std().Local().Format("15:04 on 2 January"))
	}
	return nil
}
