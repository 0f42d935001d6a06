package data

import (
	"context"

	"github.com/spf13/cobra"

	"pennypost/internal/base/wording"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

const archiveHelp = `Run retention now instead of at the next full hour: messages beyond the room's limits of age and
count move to the archive, where pennypost history --archive finds them.`

func newArchive(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "archive", Short: "move old messages to the archive now", Long: archiveHelp, Example: "pennypost archive",
		Args: cli.NoArgs,
		RunE: cli.RunAt(a.Existing, a.archive),
	}
}

func (a *app) archive(ctx context.Context, svc mail.Service, _ []string) error {
	progress := a.Progress("archiving", nil)
	t, err := svc.Archive(ctx)
	progress.End()
	return a.Said(err, t, "%s archived (%d by age, %d read, %d oldest; %d of them unread), %d kept.",
		wording.Plural(t.Age+t.Read+t.Oldest, "message"), t.Age, t.Read, t.Oldest, t.Unread, t.Kept)
}
