package cli

import (
	"context"

	"github.com/spf13/cobra"
)

const verifyHelp = `Read the files of the room again from the disk and check every line. Problems are listed, and the exit
status is 1 if there is any. Nothing is changed.`

func newVerify(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "check every line of the room's files", Long: verifyHelp, Example: "pennypost verify", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.verify(cmd.Context()) },
	}
}

func (a *app) verify(ctx context.Context) error {
	svc, err := a.service(ctx)
	if err != nil {
		return err
	}
	v, err := svc.Verify(ctx)
	if err != nil {
		return err
	}
	if a.json {
		a.out.value(v)
	} else {
		for _, p := range v.Problems {
			a.out.line("%s:%d: %s", oneLine(p.File), p.Line, oneLine(p.Text))
		}
		a.out.line("%s in %s (%s), %s.", plural(v.Lines, "line"), plural(v.Files, "file"), size(v.Bytes), plural(len(v.Problems), "problem"))
	}
	if len(v.Problems) > 0 && a.out.err == nil {
		return silent{exitFailed}
	}
	return nil
}
