package command

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/office/backup"
)

const restoreHelp = `Make the data directory from FILE, which "pennypost backup" wrote, or from standard input if FILE
is "-". The directory must be empty or missing. Every file is checked and every room verified before
the directory is put in place; after an error it is as before. The problems that verify found are
printed. If there are any, or if a room could not be opened when it was backed up, the exit status
is 1.

Tokens and configuration are those of the backup. Browsers must log in again, and a bridge works if
the directory that it names exists. Run only one of the two homes: each would deliver the waiting
mail, and neither would know of the other.`

func newRestore(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "restore FILE", Short: "create a home from a backup", Long: restoreHelp,
		Example: "pennypost restore monday.tar.gz\nPENNYPOST_HOME=~/look pennypost restore monday.tar.gz",
		Args:    cli.NArgs(1, "the file that pennypost backup wrote, or - for standard input"),
		RunE:    cli.RunOne(a.restore),
	}
}

func (a *app) restore(ctx context.Context, path string) error {
	home, err := config.FindHome(a.Env.Getenv)
	if err != nil {
		return err
	}
	from, err := a.Input(path, ". Nothing was restored")
	if err != nil {
		return err
	}
	defer from.Close()
	progress := a.Progress("restoring", cli.CountBytes)
	done, err := a.restoreFrom(ctx, home, io.TeeReader(from, progress))
	progress.End()
	if err != nil {
		return err
	}
	return a.report(home, done)
}

func (a *app) restoreFrom(ctx context.Context, home config.Home, from io.Reader) (backup.Restored, error) {
	done, err := backup.Restore(ctx, home, from)
	switch {
	case err == nil:
		return done, nil
	case mail.CodeOf(err) == mail.Conflict:
		return done, cli.Hinted(err,
			"PENNYPOST_HOME=DIR pennypost restore FILE, to restore elsewhere; or: pennypost stop; "+
				"mv "+string(home)+" "+string(home)+".old")
	}
	return done, cli.Hinted(&mail.Error{Code: mail.CodeOf(err), Msg: err.Error() + "\nNothing was restored", Err: err},
		"the backup must be complete, and the disk needs space for it in the directory above "+string(home))
}

// report prints the result. Problems that rooms already had in the backup are a failure, although they are restored.
func (a *app) report(home config.Home, done backup.Restored) error {
	problems := 0
	for _, room := range done.Rooms {
		problems += len(room.Verification.Problems)
		if room.Raw != "" {
			problems++
		}
		if a.JSON {
			a.Out.Value(room)
			continue
		}
		if room.Raw != "" {
			a.Out.Line(
				"room %s: it was not completely readable when it was backed up, so its files are raw copies: %s",
				room.Room, cli.OneLine(room.Raw))
		}
		for _, p := range room.Verification.Problems {
			a.Out.Line("%s/%s:%d: %s", room.Room, cli.OneLine(p.File), p.Line, cli.OneLine(p.Text))
		}
		a.Out.Line("room %s: %d lines in %d files verified, problems: %d", room.Room, room.Verification.Lines,
			room.Verification.Files, len(room.Verification.Problems))
	}
	if !a.JSON {
		a.Out.Line("Restored to %s from the backup of %s.", home, done.Manifest.At)
	}
	if problems == 0 {
		return nil
	}
	return cli.Hinted(mail.Errorf(mail.Internal, "everything was restored, but rooms have problems that they had "+
		"in the backup"), "pennypost verify --room ROOM --repair")
}
