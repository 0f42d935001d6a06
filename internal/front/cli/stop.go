package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/base/durable"
	"pennypost/internal/config"
	"pennypost/internal/mail"
)

const stopHelp = `Stop the post office and wait until it has ended. Calls that are under way are finished, waits and
watches are ended, and journals are closed. Nothing that was acknowledged is lost. If no post office
runs, there is nothing to do, and the exit status is 0.`

// stopWait is how long stop waits: what the post office allows its calls, and its disk.
const stopWait = 15 * time.Second

func newStop(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "stop", Short: "stop the post office", Long: stopHelp, Example: "pennypost stop",
		Args: NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.stop(cmd.Context()) },
	}
}

func (a *App) stop(ctx context.Context) error {
	home, office, err := a.runningOffice()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	ran := true
	if err := office.Stop(ctx); mail.CodeOf(err) == mail.Unavailable && !Listens(home) {
		ran = false // or it is on its way out
	} else if err != nil {
		return err
	}
	office.Close()
	if err := awaitEnd(ctx, home); err != nil {
		return err
	}
	switch {
	case a.JSON:
		a.Out.Value(struct {
			Stopped bool `json:"stopped"`
		}{ran})
	case ran && home.HasRemote():
		a.Out.Line("The relay on this machine is closed; the post office elsewhere is not.")
	case ran:
		a.Out.Line("The post office is closed.")
	default:
		a.Out.Line("No post office was running at %s.", home)
	}
	return nil
}

// awaitEnd waits until no post office holds the lock of home, which it gives back last.
func awaitEnd(ctx context.Context, home config.Home) error {
	if _, err := os.Stat(string(home)); errors.Is(err, fs.ErrNotExist) {
		return nil // and nothing is made by asking
	}
	for {
		lock, err := durable.TryLock(home.Lock())
		if err == nil {
			return lock.Unlock()
		}
		if !isLocked(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return mail.Errorf(mail.Timeout, "the post office has not ended after %s: %w", stopWait, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
