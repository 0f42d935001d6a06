package data

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail/export"
)

var exportFormats = []string{string(export.JSONL), string(export.JSON), string(export.Markdown)}

const exportHelp = `Write every message of the room to standard output, archived messages first, each with its
deliveries. jsonl is one JSON object per line, and json is one array of them; both can be imported.
markdown is for people.`

func newExport(a *app) *cobra.Command {
	format := string(export.JSONL)
	return cli.WithFlags(&cobra.Command{
		Use: "export", Short: "write every message of the room", Long: exportHelp,
		Example: "pennypost export > room.jsonl\npennypost export --format markdown | less", Args: cli.NoArgs,
		RunE: cli.RunWith(a.export, &format),
	}, cli.Flag{Into: &format, Name: "format", About: "`FORMAT`: jsonl, json or markdown",
		Complete: cli.OneOf(exportFormats...)})
}

func (a *app) export(ctx context.Context, format string) error {
	if !slices.Contains(exportFormats, format) {
		return cli.Usage("%q is not a format; use jsonl, json or markdown", format)
	}
	svc, err := a.Existing(ctx)
	if err != nil {
		return err
	}
	room, err := a.RoomName()
	if err != nil {
		return err
	}
	var to io.Writer = &cli.JSONWriter{To: a.Env.Stdout}
	if format == string(export.Markdown) {
		to = a.Env.Stdout
	}
	file := export.New(to, export.Format(format), export.Heading{Title: string(room), Now: time.Now()})
	progress := &cli.Progress{}
	if a.Out.Wide == 0 { // on a terminal the messages themselves show the progress
		progress = a.Progress("exporting", cli.CountMessages)
	}
	defer progress.End()
	for it, err := range svc.Export(ctx) {
		progress.Add(1)
		if err != nil {
			_ = file.Flush() // a partial export is useful, and the exit status says that it is partial
			return err
		}
		if err := file.Add(&it); err != nil {
			return err
		}
	}
	return file.Close()
}
