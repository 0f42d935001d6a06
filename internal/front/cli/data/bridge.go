package data

import (
	"cmp"
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"pennypost/internal/base/wording"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

const bridgeHelp = `Keep the room in step with a foreign mailbox on disk.

Each message or mark in the room is in the files before its sender gets the answer, and messages that
others write into the files become mail in the room. If the files cannot be written, the mail is safe in
the room; the bridge is shown as failing, and catches up by itself. A room's bridges work whenever the
post office runs.

DIR depends on the dialect:
  agenties     the project's directory, which contains .agenties
  haak         the project's directory, which contains data/agent-mailbox.jsonl
  openalice    the directory that contains data/inbox
  claudeteams  the team's directory: ~/.claude/teams/TEAM`

func newBridge(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "bridge", Short: "keep foreign mailboxes on disk in step",
		Long: bridgeHelp,
		Example: "pennypost bridge add haak .\npennypost bridge add claudeteams ~/.claude/teams/session-0a1b2c3d " +
			"--mode follow\npennypost bridge list\npennypost bridge remove haak",
		Args: cli.NoArgs,
		RunE: cli.RunAt(a.Service, a.bridges),
	}
	mode := string(mail.BridgeBoth)
	add := cli.WithFlags(&cobra.Command{
		Use: "add DIALECT DIR", Short: "add a bridge, or change the mode of one",
		Args: cli.NArgs(2, "a dialect and a directory"),
		RunE: cli.RunAt(a.Service, func(ctx context.Context, svc mail.Service, args []string) error {
			return a.addBridge(ctx, svc,
				mail.Bridge{Dialect: args[0], Dir: a.Absolute(args[1]), Mode: mail.BridgeMode(mode)})
		}),
	}, cli.Flag{Into: &mode, Name: "mode",
		About: "`MODE`: both; mirror (from the room to the files only); follow (from the files to the room only)"})
	cmd.AddCommand(add,
		newBridgeList(a),
		&cobra.Command{
			Use: "remove ID|DIALECT [DIR]", Short: "remove a bridge; its files stay as they are", Args: oneBridge,
			RunE: a.onBridge(func(ctx context.Context, s mail.Service, id string) error {
				return a.Said(s.RemoveBridge(ctx, id), struct {
					Removed string `json:"removed"`
				}{id}, "Removed bridge %s. Its files stay as they are.", id)
			}),
		},
		&cobra.Command{
			Use: "sync ID|DIALECT [DIR]", Short: "bring room and files into step now", Args: oneBridge,
			RunE: a.onBridge(func(ctx context.Context, s mail.Service, id string) error {
				st, err := s.SyncBridge(ctx, id)
				if err != nil {
					return err
				}
				return a.bridgeOutcome(st)
			}),
		})
	return cmd
}

func newBridgeList(a *app) *cobra.Command {
	var rejected bool
	return cli.WithFlags(&cobra.Command{
		Use: "list", Short: "list the room's bridges and their state", Args: cli.NoArgs,
		Example: "pennypost bridge list\npennypost bridge list --rejected",
		RunE: cli.RunAt(a.Service, func(ctx context.Context, svc mail.Service, args []string) error {
			if rejected {
				return a.rejected(ctx, svc)
			}
			return a.bridges(ctx, svc, args)
		}),
	}, cli.Flag{Into: &rejected, Name: "rejected",
		About: "list the entries of their files that are not understood: file, line, reason and excerpt"})
}

// oneBridge requires arguments that name a bridge.
func oneBridge(cmd *cobra.Command, args []string) error {
	if len(args) == 1 || len(args) == 2 {
		return nil
	}
	return cli.Usage("%s needs the id of a bridge, or its dialect and directory", cmd.CommandPath())
}

func (a *app) addBridge(ctx context.Context, svc mail.Service, b mail.Bridge) error {
	st, err := svc.AddBridge(ctx, b)
	if err != nil {
		return cli.HintedIf(mail.NotFound, err,
			"pennypost bridge --help lists the dialects and the directory for each")
	}
	return a.bridgeOutcome(st)
}

// bridgeOutcome reports the state of a bridge after a sync. A failed bridge is an error.
func (a *app) bridgeOutcome(st mail.BridgeStatus) error {
	if a.JSON {
		a.Out.Value(st)
	} else {
		a.Out.Line("Bridge %s keeps %s in step (%s).", st.ID, cli.OneLine(st.Dir), st.Mode)
		if st.Rejected > 0 {
			a.Out.Line("%s in its files could not be understood and stay there. To list them: pennypost bridge "+
				"list --rejected", wording.Plural(st.Rejected, "piece"))
		}
		if st.Notice != "" {
			a.Out.Line("%s", cli.OneLine(st.Notice))
		}
	}
	if st.Failing != "" {
		return cli.Hinted(mail.Errorf(mail.Conflict,
			"bridge %s fails: %s. It retries by itself, and no mail is lost meanwhile", st.ID, st.Failing),
			"pennypost bridge list")
	}
	return nil
}

func (a *app) bridges(ctx context.Context, svc mail.Service, _ []string) error {
	list, err := svc.Bridges(ctx)
	return cli.Answer(a.App, bridges{append([]mail.BridgeStatus{}, list...)}, err, a.showBridges)
}

// bridges are a room's bridges, in JSON.
type bridges struct {
	Bridges []mail.BridgeStatus `json:"bridges"`
}

func (a *app) showBridges(list bridges) error {
	var rows [][]string
	for i := range list.Bridges {
		b := &list.Bridges[i]
		rows = append(rows, []string{b.ID, string(b.Mode), cli.OneLine(b.Dir), a.bridgeState(b)})
	}
	a.Out.TableOr("This room has no bridge. To add one: pennypost bridge add DIALECT DIR", rows)
	return nil
}

// rejection is a bad line of one of the room's bridges.
type rejection struct {
	Bridge string `json:"bridge"`
	mail.BadLine
}

// rejected lists the lines that the room's bridges cannot parse. A bridge whose files cannot be read does not hide
// the others.
func (a *app) rejected(ctx context.Context, svc mail.Service) error {
	bridges, err := svc.Bridges(ctx)
	if err != nil {
		return err
	}
	list, more := []rejection{}, 0
	var failed error
	for i := range bridges {
		lines, err := svc.RejectedLines(ctx, bridges[i].ID)
		if err != nil {
			failed = cli.Hinted(err, "pennypost bridge list")
			continue
		}
		for _, l := range lines {
			list = append(list, rejection{bridges[i].ID, l})
		}
		more += max(bridges[i].Rejected-len(lines), 0)
	}
	if a.JSON {
		a.Out.Value(struct {
			Rejected []rejection `json:"rejected"`
			More     int         `json:"more,omitzero"`
		}{list, more})
	} else {
		a.showRejected(list, more, failed == nil)
	}
	return failed
}

func (a *app) showRejected(list []rejection, more int, all bool) {
	for _, r := range list {
		place := cmp.Or(cli.OneLine(r.File), "a message")
		if r.Line > 0 {
			place += ":" + strconv.Itoa(r.Line)
		}
		a.Out.Line("%s  %s: %s\n    %s", r.Bridge, place, cli.OneLine(r.Why), a.Out.Dim(cli.OneLine(r.Text)))
	}
	switch {
	case more > 0:
		a.Out.Line("%d more are not listed. At most %d are listed per bridge.", more, mail.MaxBadLines)
	case len(list) == 0 && all:
		a.Out.Line("All entries in the files of this room's bridges are understood.")
	}
	if len(list) > 0 {
		a.Out.Line("They stay in the files. An entry that you correct is imported.")
	}
}

func (a *app) bridgeState(b *mail.BridgeStatus) string {
	state := "in step"
	switch {
	case b.Failing != "":
		state = a.Out.Red("failing") + " since " + a.Out.Ago(b.Since) + ": " + cli.OneLine(b.Failing)
	case !b.Running && b.Machine != "":
		state = "state unknown: " + cli.OneLine(string(b.Machine)) + " does not answer"
	case !b.Running:
		state = "not running"
	case b.Behind > 0:
		state = wording.Plural(b.Behind, "event") + " behind"
	}
	if b.Machine != "" {
		state = "on " + cli.OneLine(string(b.Machine)) + ": " + state
	}
	if b.Rejected > 0 {
		state += ", " + wording.Plural(b.Rejected, "piece") + " not understood: pennypost bridge list --rejected"
	}
	if b.Notice != "" {
		state += " (" + cli.OneLine(b.Notice) + ")"
	}
	return state
}

// onBridge runs a function on the bridge that the arguments name: by its id, or by dialect and directory.
func (a *app) onBridge(do func(context.Context, mail.Service, string) error) func(*cobra.Command, []string) error {
	return cli.RunAt(a.Service, func(ctx context.Context, svc mail.Service, args []string) error {
		const lists = "pennypost bridge list"
		if len(args) == 1 {
			if err := do(ctx, svc, args[0]); mail.CodeOf(err) != mail.NotFound {
				return err
			}
			return cli.Hinted(mail.Errorf(mail.NotFound, "this room has no bridge %q", args[0]), lists)
		}
		list, err := svc.Bridges(ctx)
		if err != nil {
			return err
		}
		dir := a.Absolute(args[1])
		for i := range list {
			if list[i].Dialect == args[0] && list[i].Dir == dir {
				return do(ctx, svc, list[i].ID)
			}
		}
		return cli.Hinted(mail.Errorf(mail.NotFound, "this room has no bridge of %s to %s", args[0], dir), lists)
	})
}
