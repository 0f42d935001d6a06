package command

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/base/pause"
	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/wire/client"
)

const demoHelp = `Watch a small team at work for a few seconds: an orchestrator, two builders, a reviewer and you.

The post office is a real one, in a directory of its own that is removed afterwards. The agents are
small real processes that behave like agents' clients. The orchestrator sleeps until mail for it
starts its process; the others are idle sessions that are woken through their inbox sockets. You ask
for a piece of work, and answer one question.

With --serve the demo is a whole day to look at: a post office of its own, filled with the
mail of five agents and a person, that stays open until ^C. Some of the agents keep working, and
react to what you write to them. Your own post office is not touched.`

// demoRoom is the room of the demo, and demoTime its time limit.
const (
	demoRoom mail.RoomName = "demo"
	demoTime               = 60 * time.Second
)

func newDemo(a *app) *cobra.Command {
	var f demoFlags
	return cli.WithFlags(&cobra.Command{
		Use: "demo", Short: "watch a small team at work", Long: demoHelp,
		Example: "pennypost demo\npennypost demo --keep\npennypost demo --serve", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.serve && f.keep:
				return cli.Usage("--keep is for a demo without --serve; to keep this one: --dir DIR")
			case f.serve:
				return a.demoServe(cmd.Context(), f)
			case f.listen != "" || f.dir != "":
				return cli.Usage("--listen and --dir are for a demo with --serve")
			}
			return a.demo(cmd.Context(), f.keep)
		},
	},
		cli.Flag{Into: &f.keep, Name: "keep", About: "keep the post office's directory"},
		cli.Flag{Into: &f.serve, Name: "serve", About: "open a post office with a day's mail"},
		cli.Flag{Into: &f.listen, Name: "listen",
			About: "with --serve: TCP `HOST:PORT` to listen on; default 127.0.0.1:8765, or another port if that is " +
				"taken"},
		cli.Flag{Into: &f.dir, Name: "dir",
			About: "with --serve: store the data in `DIR`, which must be new or empty, and keep it"})
}

type demoFlags struct {
	keep, serve bool
	listen, dir string
}

// stage is a running demo.
type stage struct {
	*app
	binary string
	dir    string // contains everything
	env    []string
	procs  []*exec.Cmd
	began  time.Time
	shown  string // the last line shown
}

func (a *app) demo(ctx context.Context, keep bool) (err error) {
	shown, stop := whileShown(ctx, syscall.SIGPIPE) // raised when the reader of the output has gone, such as head
	defer stop()
	ctx, cancel := context.WithTimeout(shown, demoTime)
	defer cancel()
	s := &stage{app: a, began: time.Now()}
	if s.binary, err = os.Executable(); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "pennypost-demo-"); err != nil {
		return err
	}
	defer func() {
		s.end()
		if !keep {
			os.RemoveAll(s.dir)
		}
		if shown.Err() != nil {
			err = nil // a person who stops watching gets no error
		}
	}()
	user, err := s.open(ctx)
	if err != nil {
		return err
	}
	if err := s.play(ctx, user); err != nil {
		return err
	}
	a.Out.Line("")
	if keep {
		a.Out.Line("Look around, and remove the directory when you are done:")
		a.Out.Line("  export PENNYPOST_HOME=%s PENNYPOST_ROOM=%s", filepath.Join(s.dir, "home"), demoRoom)
		a.Out.Line("  pennypost history      pennypost agents      cat $PENNYPOST_HOME/rooms/%s/mailbox.jsonl",
			demoRoom)
		return nil
	}
	a.Out.Line("The demo was removed; to keep one: pennypost demo --keep. For your own agents: pennypost install " +
		"CLIENT")
	return nil
}

// whileShown returns a context that ends when the person stops watching, so that the demo's processes end too: at ^C,
// when the terminal is closed, and at other signals.
func whileShown(ctx context.Context, others ...os.Signal) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, append(others, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)...)
}

// open starts the post office and the team.
func (s *stage) open(ctx context.Context) (mail.Service, error) {
	home := config.Home(filepath.Join(s.dir, "home"))
	if err := home.Create(); err != nil {
		return nil, err
	}
	wake := fmt.Sprintf("[room.wake.orchestrator]\nexec = [%s, \"demo-agent\", \"lead\"]\n", strconv.Quote(s.binary))
	if err := os.WriteFile(home.File(), []byte(wake), 0o600); err != nil {
		return nil, err
	}
	s.env = append(os.Environ(), "PENNYPOST_HOME="+string(home), "PENNYPOST_ROOM="+string(demoRoom),
		"CLAUDE_CONFIG_DIR="+s.dir, "PENNYPOST_AGENT=")
	if err := s.start("serve", "--listen", "none"); err != nil {
		return nil, err
	}
	office, err := client.New(client.Options{Socket: home.Socket(), Start: func(ctx context.Context) error {
		return untilListening(ctx, home)
	}})
	if err != nil {
		return nil, err
	}
	user, err := office.Room(ctx, demoRoom, mail.User)
	if err != nil {
		return nil, err
	}
	for _, p := range []mail.Presence{
		{Name: "lead", Roles: []string{string(mail.Orchestrator)}, State: mail.Gone},
		{Name: "builder-1", Roles: []string{"builder"}, State: mail.Gone},
		{Name: "builder-2", Roles: []string{"builder"}, State: mail.Gone},
		{Name: "reviewer", State: mail.Gone},
	} {
		if _, err := user.Register(ctx, p); err != nil {
			return nil, err
		}
		if p.Name != "lead" {
			if err := s.start("demo-agent", string(p.Name)); err != nil {
				return nil, err
			}
		}
	}
	return user, s.present(ctx, user)
}

func (s *stage) start(args ...string) error {
	cmd := exec.Command(s.binary, args...)
	cmd.Env, cmd.Dir = s.env, s.dir
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start pennypost %s: %w", strings.Join(args, " "), err)
	}
	s.procs = append(s.procs, cmd)
	return nil
}

// end ends the team, then the post office.
func (s *stage) end() {
	for i := len(s.procs) - 1; i >= 0; i-- {
		_ = s.procs[i].Process.Signal(os.Interrupt)
		kill := time.AfterFunc(5*time.Second, func() { _ = s.procs[i].Process.Kill() })
		_ = s.procs[i].Wait()
		kill.Stop()
	}
}

// untilListening waits for the post office that was just started.
func untilListening(ctx context.Context, home config.Home) error {
	for !cli.Listens(home) {
		if !pause.For(ctx, cli.StartPoll) {
			return mail.Errorf(mail.Unavailable, "the post office of the demo did not start")
		}
	}
	return nil
}

// present waits until the three sessions have begun.
func (s *stage) present(ctx context.Context, user mail.Service) error {
	for {
		agents, err := mail.Roster(ctx, user)
		if err != nil {
			return err
		}
		idle := 0
		for _, ag := range agents {
			if ag.State == mail.Idle {
				idle++
			}
		}
		if idle == 3 {
			return nil
		}
		if !pause.For(ctx, 20*time.Millisecond) {
			return mail.Errorf(mail.Timeout, "the agents of the demo did not start")
		}
	}
}

// play asks for work, shows the events, and answers the question.
func (s *stage) play(ctx context.Context, user mail.Service) error {
	w, err := user.Watch(ctx, 0)
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := user.Send(ctx, mail.Draft{
		To: mail.Recipients{string(mail.Orchestrator)}, Type: string(mail.TaskAssigned),
		Subject: "A parser for our letters", Body: "Lexer and grammar, reviewed. Ask me if in doubt.",
	}); err != nil {
		return err
	}
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return &mail.Error{Code: mail.Timeout, Msg: "the demo did not end in time", Err: err}
		}
		for i := range events {
			done, err := s.see(ctx, user, &events[i])
			if done || err != nil {
				return err
			}
		}
	}
}

// see shows an event and acts as a person would. done says that the work is done.
func (s *stage) see(ctx context.Context, user mail.Service, e *mail.Event) (done bool, err error) {
	switch {
	case e.Message != nil:
		m := e.Message
		s.show("%s → %s  %s: %s", s.Out.Bold(cli.Sender(m, mail.MaxName)), cli.Addressees(m.To), m.Type,
			cli.OneLine(m.Subject))
		if m.To[0] != mail.ToUser {
			return false, nil
		}
		if m.Type == mail.Question {
			_, err = user.Send(ctx, mail.Draft{To: mail.Recipients{string(m.From)}, Type: string(mail.Answer),
				Subject: "Tabs", Body: "Tabs.", ReplyTo: m.ID})
		}
		return m.Type == mail.TaskDone, err
	case e.Receipt != nil && e.Receipt.Mark == mail.MarkNotified:
		s.show("%s", s.Out.Dim(cli.Signer(e.Receipt.Reader)+" is woken through "+e.Receipt.Door))
	case e.Agent != nil && (e.Agent.State == mail.Working || e.Agent.Turn == mail.TurnStart):
		s.show("%s", s.Out.Dim(cli.OneLine(string(e.Agent.Name))+" works"))
	}
	return false, nil
}

// show prints a line, but not twice in a row: one ring is a receipt for each message.
func (s *stage) show(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if text == s.shown {
		return
	}
	s.shown = text
	s.Out.Line("%5.1fs  %s", time.Since(s.began).Seconds(), text)
}
