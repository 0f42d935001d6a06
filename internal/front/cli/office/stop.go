package office

import (
	"context"

	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
)

const stopHelp = `Stop the post office and wait until it has ended. Running calls are finished, waits and watches are
ended, and journals are closed. Nothing that was acknowledged is lost. If no post office is running,
there is nothing to do, and the exit status is 0.`

func newStop(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "stop", Short: "stop the post office", Long: stopHelp, Example: "pennypost stop",
		Args: cli.NoArgs,
		RunE: cli.Run(a.stop),
	}
}

func (a *app) stop(ctx context.Context) error {
	home, ran, err := a.StopOffice(ctx)
	if err != nil {
		return err
	}
	switch {
	case a.JSON:
		a.Out.Value(struct {
			Stopped bool `json:"stopped"`
		}{ran})
	case ran && home.HasRemote():
		a.Out.Line("The relay on this machine has stopped; the other machine's post office is still running.")
	case ran:
		a.Out.Line("The post office has stopped.")
	default:
		a.Out.Line("No post office was running at %s.", home)
	}
	return nil
}
