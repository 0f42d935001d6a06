package natsd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/nats-io/nats-server/v2/server"

	"pennypost/internal/config"
)

// release is set in release builds, like that of package cli.
var release string

// Main is the program. It returns the exit status.
func Main(args []string, stdout, stderr io.Writer) int {
	if len(args) == 1 && args[0] == "--version" {
		fmt.Fprintf(stdout, "pennypost-nats %s (nats-server %s)\n", cmp.Or(release, "devel"), server.VERSION)
		return 0
	}
	if len(args) > 0 {
		fmt.Fprintln(stderr, "pennypost-nats: it takes no arguments but --version; see pennypost cluster --help")
		return 2
	}
	home, err := config.FindHome(os.Getenv)
	if err == nil {
		err = home.Create()
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = Run(ctx, Options{Home: home, Log: slog.New(slog.NewTextHandler(stderr, nil))})
	}
	if err != nil {
		fmt.Fprintln(stderr, "pennypost-nats:", err)
		return 1
	}
	return 0
}
