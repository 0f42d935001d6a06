package cli

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/mail"
	"pennypost/internal/office/daemon"
)

const bridgeHelp = `Keep the room in step with a foreign mailbox on disk.

What is sent or marked in the room is in the files before the sender gets its answer, and what others
write into the files is mail in the room. While files cannot be written mail stands all the same; the
bridge is shown as failing, and catches up by itself. The post office carries a room's bridges on
whenever it runs.

DIR is, by dialect:
%s`

func newBridge(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "bridge", Short: "keep foreign mailboxes on disk in step",
		Long: strings.TrimSpace(strings.ReplaceAll(bridgeHelp, "%s", bridgedDirs())),
		Example: "pennypost bridge add haak .\npennypost bridge add claudeteams ~/.claude/teams/session-0a1b2c3d " +
			"--mode follow\npennypost bridge list\npennypost bridge remove haak",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.bridges(cmd.Context()) },
	}
	var mode string
	add := &cobra.Command{
		Use: "add DIALECT DIR", Short: "add a bridge, or change the mode of one",
		Args: nArgs(2, "a dialect and a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.addBridge(cmd.Context(), args[0], args[1], mode)
		},
	}
	add.Flags().StringVar(&mode, "mode", string(mail.BridgeBoth),
		"`MODE`: both; mirror, from the room to the files only; follow, from the files to the room only")
	cmd.AddCommand(add,
		&cobra.Command{
			Use: "list", Short: "list the room's bridges and how they fare", Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.bridges(cmd.Context()) },
		},
		&cobra.Command{
			Use: "remove ID|DIALECT [DIR]", Short: "remove a bridge; its files stay as they are", Args: oneBridge,
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.onBridge(cmd.Context(), args, func(ctx context.Context, s mail.Service, id string) error {
					if err := s.RemoveBridge(ctx, id); err != nil {
						return err
					}
					return a.said(struct {
						Removed string `json:"removed"`
					}{id}, "Removed the bridge %s. Its files stay as they are.", id)
				})
			},
		},
		&cobra.Command{
			Use: "sync ID|DIALECT [DIR]", Short: "bring room and files in step now", Args: oneBridge,
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.onBridge(cmd.Context(), args, func(ctx context.Context, s mail.Service, id string) error {
					st, err := s.SyncBridge(ctx, id)
					if err != nil {
						return err
					}
					return a.bridgeOutcome(st)
				})
			},
		})
	return cmd
}

// oneBridge refuses what does not name a bridge.
func oneBridge(cmd *cobra.Command, args []string) error {
	if len(args) == 1 || len(args) == 2 {
		return nil
	}
	return usage("%s needs the id of a bridge, or its dialect and directory", cmd.CommandPath())
}

// bridgedDirs says, for the manual, what directory each dialect wants.
func bridgedDirs() string {
	var b strings.Builder
	for _, d := range daemon.Dialects() {
		if d.Files != nil {
			b.WriteString("  " + pad(d.Name, 13) + d.Where + "\n")
		}
	}
	return b.String()
}

func (a *app) said(v any, format string, args ...any) error {
	if a.json {
		a.out.value(v)
	} else {
		a.out.line(format, args...)
	}
	return nil
}

func (a *app) addBridge(ctx context.Context, name, dir, mode string) error {
	svc, err := a.service(ctx)
	if err != nil {
		return err
	}
	st, err := svc.AddBridge(ctx, mail.Bridge{Dialect: name, Dir: a.absolute(dir), Mode: mail.BridgeMode(mode)})
	if mail.CodeOf(err) == mail.NotFound {
		return hinted(err, "pennypost bridge --help lists the dialects and the directory that each wants")
	}
	if err != nil {
		return err
	}
	return a.bridgeOutcome(st)
}

// absolute returns where dir is, links resolved, so that one directory is one bridge.
func (a *app) absolute(dir string) string {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.env.Dir, dir)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

// bridgeOutcome tells how a bridge fares that was brought in step. One that fails is no success.
func (a *app) bridgeOutcome(st mail.BridgeStatus) error {
	if a.json {
		a.out.value(st)
	} else {
		a.out.line("The bridge %s keeps %s in step (%s).", st.ID, oneLine(st.Dir), st.Mode)
		if st.Rejected > 0 {
			a.out.line("%s in its files could not be understood and stay where they are. %s",
				plural(st.Rejected, "piece"), oneLine(st.Notice))
		}
	}
	if st.Failing != "" {
		return hinted(mail.Errorf(mail.Unavailable,
			"the bridge %s fails: %s. It tries again by itself; mail stands meanwhile", st.ID, st.Failing),
			"pennypost bridge list")
	}
	return nil
}

func (a *app) bridges(ctx context.Context) error {
	svc, err := a.service(ctx)
	if err != nil {
		return err
	}
	list, err := svc.Bridges(ctx)
	if err != nil {
		return err
	}
	if a.json {
		if list == nil {
			list = []mail.BridgeStatus{}
		}
		a.out.value(struct {
			Bridges []mail.BridgeStatus `json:"bridges"`
		}{list})
		return nil
	}
	if len(list) == 0 {
		a.out.line("This room has no bridge. pennypost bridge add DIALECT DIR makes one.")
		return nil
	}
	rows := make([][]string, 0, len(list))
	for i := range list {
		b := &list[i]
		rows = append(rows, []string{b.ID, string(b.Mode), oneLine(b.Dir), a.bridgeState(b)})
	}
	a.out.table(rows)
	return nil
}

func (a *app) bridgeState(b *mail.BridgeStatus) string {
	state := "in step"
	switch {
	case b.Failing != "":
		state = a.out.red("failing") + " since " + a.out.ago(b.Since) + ": " + oneLine(b.Failing)
	case !b.Running:
		state = "not running"
	case b.Behind > 0:
		state = plural(b.Behind, "event") + " behind"
	}
	if b.Rejected > 0 {
		state += ", " + plural(b.Rejected, "piece") + " not understood"
	}
	if b.Notice != "" {
		state += " (" + oneLine(b.Notice) + ")"
	}
	return state
}

// onBridge does something to the bridge that args name: by its id, or by dialect and directory.
func (a *app) onBridge(ctx context.Context, args []string,
	do func(context.Context, mail.Service, string) error) error {
	svc, err := a.service(ctx)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		if err := do(ctx, svc, args[0]); mail.CodeOf(err) != mail.NotFound {
			return err
		}
		return hinted(mail.Errorf(mail.NotFound, "this room has no bridge %q", args[0]), "pennypost bridge list")
	}
	list, err := svc.Bridges(ctx)
	if err != nil {
		return err
	}
	dir := a.absolute(args[1])
	for i := range list {
		if list[i].Dialect == args[0] && list[i].Dir == dir {
			return do(ctx, svc, list[i].ID)
		}
	}
	return hinted(mail.Errorf(mail.NotFound, "this room has no bridge of %s to %s", args[0], dir),
		"pennypost bridge list")
}
