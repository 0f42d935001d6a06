package data

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"pennypost/internal/base/durable"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

const backupHelp = `Write every room with its archive, the tokens and the configuration to FILE, or to standard output
if FILE is "-". Mail continues meanwhile: each room is copied as it is when its turn comes. FILE appears
when it is complete. An existing file is replaced only with --force. If a room cannot be opened, its
files are copied unchecked, the room is named, and the exit status is 1.

The backup lets anyone who has it read all mail and act as anyone, so protect it like the data directory.
It is not encrypted. Only you can read the file (mode 0600); with "-" the shell sets the mode. After a
restore, browsers must log in again. Only the user may make a backup.`

func newBackup(a *app) *cobra.Command {
	var force bool
	return cli.WithFlags(&cobra.Command{
		Use: "backup FILE", Short: "write everything to one file", Long: backupHelp,
		Example: "pennypost backup monday.tar.gz\npennypost backup - | ssh other 'cat > monday.tar.gz'",
		Args:    cli.NArgs(1, "the file to write, or - for standard output"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.backup(cmd.Context(), args[0], force) },
	}, cli.Flag{Into: &force, Name: "force", About: "replace an existing file"})
}

func (a *app) backup(ctx context.Context, path string, force bool) error {
	if err := a.OnlyUser("make a backup"); err != nil {
		return err
	}
	office, err := a.Post()
	if err != nil {
		return err
	}
	progress := a.Progress("writing", cli.CountBytes)
	if path == "-" {
		raw, err := office.Backup(ctx, io.MultiWriter(a.Stdout.To, progress)) // the raw bytes: it is not text
		progress.End()
		return cmp.Or(err, notOpened(raw))
	}
	file, raw := counted{}, ""
	err = replaceSecret(path, force, func(to io.Writer) (err error) {
		file.to = io.MultiWriter(to, progress)
		raw, err = office.Backup(ctx, &file)
		return err
	})
	progress.End()
	if _, ours := errors.AsType[*mail.Error](err); err != nil && !ours {
		return cli.Hinted(mail.Errorf(mail.Internal, "cannot write the backup: %w. No part of it was kept; if %s "+
			"existed, it is unchanged", err, path), "pennypost backup FILE, where there is enough "+
			"space")
	} else if err != nil {
		return err
	}
	err = a.Said(nil, struct {
		File  string `json:"file"`
		Bytes int64  `json:"bytes"`
	}{path, file.bytes}, "%s written to %s, which only you can read (mode 0600).\n"+
		"It is not encrypted: anyone who has it can read all mail and act as anyone.", cli.Size(file.bytes),
		cli.OneLine(path))
	return cmp.Or(err, notOpened(raw))
}

// notOpened is the error for rooms that a backup contains unread, nil if there are none.
func notOpened(raw string) error {
	if raw == "" {
		return nil
	}
	return cli.Hinted(mail.Errorf(mail.Internal, "the backup is complete, but these rooms could not be opened; "+
		"their files were copied unchecked and may be damaged: %s. See the log of the post office", cli.OneLine(raw)),
		"pennypost verify --room ROOM")
}

// replaceSecret writes a file that only its owner may read. write may take long, so it checks afterwards too whether
// the file exists.
func replaceSecret(path string, force bool, write func(io.Writer) error) error {
	free := func() error {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !force:
			return cli.Hinted(mail.Errorf(mail.Conflict, "%s already exists and was not changed", path),
				"choose another name, or add --force to replace it")
		case info.Mode().IsRegular():
			return os.Chmod(path, 0o600) // a replaced file would keep its permissions
		}
		return nil
	}
	if err := free(); err != nil {
		return err
	}
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return durable.ReplaceIn(dir, filepath.Base(path), 0o600, func(to io.Writer) error {
		if err := write(to); err != nil {
			return err
		}
		return free()
	})
}

// counted counts the bytes written.
type counted struct {
	to    io.Writer
	bytes int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.bytes += int64(n)
	return n, err
}
