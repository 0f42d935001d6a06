package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/office/daemon"
	"pennypost/internal/office/demoday"
	"pennypost/internal/wire/client"
)

// demoServe runs a post office with a day of mail, until the person ends it. Its agents run in this process.
func (a *app) demoServe(ctx context.Context, f demoFlags) error {
	ctx, stop := whileShown(ctx)
	defer stop()
	// A browser that exits raises it too. If standard output is closed, writing returns an error.
	signal.Ignore(syscall.SIGPIPE)
	dir, err := os.MkdirTemp("", "pennypost-demo-") // also has the agents' sockets, whose paths must be short
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	home := config.Home(filepath.Join(dir, "home"))
	if f.dir != "" {
		if home, err = newDir(f.dir); err != nil {
			return err
		}
	}
	day, err := demoday.Write(ctx, home, time.Now())
	if err != nil {
		return err
	}
	cfg, err := demoConfig(home, f.listen, a.Env.Getenv)
	if err != nil {
		return err
	}
	log, err := newLog(a.Env.Stderr, &cfg)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	var life sync.WaitGroup
	defer life.Wait()
	defer end()
	return daemon.Run(ctx, daemon.Options{
		Config: cfg, Version: cli.Version(), Log: log,
		Ready: func(p daemon.Place) {
			a.announceDemo(p, home, &day, f.dir != "")
			if a.Out.Err() != nil {
				end()
				return
			}
			life.Go(func() { demoLife(ctx, p.Socket, dir, log) })
		},
	})
}

// newDir returns the data directory of a demo that is kept. It must be empty or not exist.
func newDir(dir string) (config.Home, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	switch {
	case len(entries) > 0:
		return "", cli.Hinted(cli.Usage("%s is not empty. Nothing was written", dir),
			"name a new directory, or open an earlier demo with: PENNYPOST_HOME='"+dir+
				"' pennypost serve")
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return "", err
	}
	return config.Home(dir), nil
}

// demoConfig is the normal configuration, with a quiet log, and with another port if the usual one is taken.
func demoConfig(home config.Home, listen string, getenv func(string) string) (config.Config, error) {
	cfg, err := config.Load(home, getenv)
	if err != nil {
		return cfg, err
	}
	if cfg.LogLevel == "" {
		cfg.LogLevel = "warn"
	}
	if listen != "" {
		cfg.Listen = listen
	}
	if cfg.Listen == "" {
		l, err := net.Listen("tcp", config.DefaultListen)
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			cfg.Listen = "127.0.0.1:0"
		case err == nil:
			l.Close()
		}
	}
	return cfg, nil
}

// demoLife runs the agents of the demo. It ignores failures: without them there is still much to see.
func demoLife(ctx context.Context, socket, dir string, log *slog.Logger) {
	office, err := client.New(client.Options{Socket: socket})
	if err == nil {
		defer office.Close()
		err = (&demoday.Life{Office: office, Dir: dir}).Run(ctx)
	}
	// Unavailable means that the post office was stopped
	if err != nil && ctx.Err() == nil && mail.CodeOf(err) != mail.Unavailable {
		log.Warn("demo agents stopped", "err", err)
	}
}

// demoPlace is the demo's place, for --json.
type demoPlace struct {
	Open  string          `json:"open,omitempty"`
	Home  string          `json:"home"`
	Rooms []mail.RoomName `json:"rooms"`
	place
}

func (a *app) announceDemo(p daemon.Place, home config.Home, day *demoday.Day, kept bool) {
	link := a.loginLink(p, day.Rooms[0])
	if a.JSON {
		a.Out.Value(demoPlace{link, string(home), day.Rooms,
			place{Socket: p.Socket, HTTP: p.HTTP, TokenFile: p.Token}})
		return
	}
	fate := "removed at the end"
	if kept {
		fate = "kept; open it again with: PENNYPOST_HOME='" + string(home) + "' pennypost serve"
	}
	switch {
	case p.HTTP == "":
		link = "none: it listens on no port"
	case link == "":
		link = fmt.Sprintf("PENNYPOST_HOME='%s' PENNYPOST_ROOM=%s %s open", home, day.Rooms[0], cli.ProgramName())
	}
	a.Out.Line("%s", a.Out.Bold("The post office of the demo is open."))
	a.Out.Table([][]string{
		{"open", link},
		{"room", fmt.Sprintf("%s, with five agents and %d messages, and a small second room: %s", day.Rooms[0],
			day.Messages, day.Rooms[1])},
		{"data", string(home) + " (" + fate + ")"},
		{"shell", "export PENNYPOST_HOME='" + string(home) + "' PENNYPOST_ROOM=" + string(day.Rooms[0])},
	}, 0)
	a.Out.Line("Three of the agents keep working; write to one, or answer a question. ^C ends it.")
}
