package data

import (
	"context"

	"github.com/spf13/cobra"

	"pennypost/internal/base/wording"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

const verifyHelp = `Read the files of the room from the disk, check every line, and check the chain that joins each
line to the previous one, through journal and archive. Lines that are damaged, set aside or missing are
listed, and the exit status is then 1. This finds accidents, not forgery: a forger can also forge the
checks.

Without --repair nothing is changed. With it, unreadable lines are set aside, and lines that were set
aside return where their sequence numbers are free. Nothing is deleted.`

func newVerify(a *app) *cobra.Command {
	var repair bool
	return cli.WithFlags(&cobra.Command{
		Use: "verify", Short: "check every line of the room's files", Long: verifyHelp,
		Example: "pennypost verify\npennypost verify --repair", Args: cli.NoArgs,
		RunE: cli.RunAt(a.Existing, func(ctx context.Context, svc mail.Service, _ []string) error {
			if repair {
				return a.verify(ctx, svc.Repair)
			}
			return a.verify(ctx, svc.Verify)
		}),
	}, cli.Flag{Into: &repair, Name: "repair", About: "set bad lines aside, and restore those that fit"})
}

func (a *app) verify(ctx context.Context, check func(context.Context) (mail.Verification, error)) error {
	progress := a.Progress("verifying", nil)
	v, err := check(ctx)
	progress.End()
	if err != nil {
		return err
	}
	if a.JSON {
		a.Out.Value(v)
	} else {
		for _, p := range v.Problems {
			a.Out.Line("%s:%d: %s", cli.OneLine(p.File), p.Line, cli.OneLine(p.Text))
		}
		if v.Repaired > 0 {
			a.Out.Line("Restored %s.", wording.Plural(v.Repaired, "line"))
		}
		a.Out.Line("%s in %s (%s), %s.", wording.Plural(v.Lines, "line"), wording.Plural(v.Files, "file"),
			cli.Size(v.Bytes), wording.Plural(len(v.Problems), "problem"))
	}
	if len(v.Problems) > 0 && a.Out.Err() == nil {
		return cli.Silent(cli.ExitFailed)
	}
	return nil
}
