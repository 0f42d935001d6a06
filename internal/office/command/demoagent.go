package command

import (
	"bufio"
	"context"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/base/pause"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

// newDemoAgent returns the command of a demo agent: a process that acts as a client with our hooks, with a short
// script instead of a model.
func newDemoAgent(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "demo-agent NAME", Short: "an agent of the demo", Long: "An agent of pennypost demo, which starts it.",
		Example: "pennypost demo",
		Hidden:  true, Args: cli.NArgs(1, "the name of an agent"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.demoAgent(cmd.Context(), mail.Name(args[0])) },
	}
}

// actor is a demo agent.
type actor struct {
	mail.Service
	name   mail.Name
	socket string // where its session takes messages; "": it ends with its turn
}

func (a *app) demoAgent(ctx context.Context, name mail.Name) error {
	ctx, stop := cli.Interruptible(ctx)
	defer stop()
	svc, err := a.serviceAs(ctx, name)
	if err != nil {
		return err
	}
	me := &actor{Service: svc, name: name}
	if name == "lead" {
		defer me.turn(context.WithoutCancel(ctx), mail.SessionEnd)
		return me.work(ctx)
	}
	me.socket = filepath.Join(a.Env.Dir, string(name)+".sock")
	l, err := net.Listen("unix", me.socket)
	if err != nil {
		return err
	}
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	defer me.turn(context.WithoutCancel(ctx), mail.SessionEnd)
	if _, err := me.turn(ctx, mail.SessionStart); err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return nil // it was told to end
		}
		for lines := bufio.NewScanner(c); lines.Scan(); {
			if strings.Contains(lines.Text(), `"type":"user"`) {
				if err := me.work(ctx); err != nil {
					return err
				}
			}
		}
		c.Close()
	}
}

func (me *actor) turn(ctx context.Context, m mail.Moment) (mail.Briefing, error) {
	t := mail.Turn{Moment: m, Session: "demo-" + string(me.name), Client: "claude"}
	if me.socket != "" {
		t.Access = &mail.Access{Socket: me.socket, Mode: "default"}
	}
	return me.Turn(ctx, t)
}

// work runs a turn, which continues while there is mail that must not wait.
func (me *actor) work(ctx context.Context) error {
	brief, err := me.turn(ctx, mail.TurnStart)
	for err == nil {
		for i := range brief.Items {
			if err := me.handle(ctx, &brief.Items[i]); err != nil {
				return err
			}
		}
		if brief, err = me.turn(ctx, mail.TurnEnd); err == nil && !brief.Continue {
			return nil
		}
	}
	return err
}

// handle reads a message and acts on it.
func (me *actor) handle(ctx context.Context, it *mail.Item) error {
	for _, m := range []mail.Marking{{IDs: []mail.ID{it.ID}, Mark: mail.MarkPresented, Door: mail.HookDoor},
		{IDs: []mail.ID{it.ID}, Mark: mail.MarkRead}} {
		if _, err := me.Mark(ctx, m); err != nil {
			return err
		}
	}
	if !pause.For(ctx, 400*time.Millisecond) { // thinking
		return ctx.Err()
	}
	for _, d := range me.script(ctx, it) {
		if _, err := me.Send(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// script replaces the model.
func (me *actor) script(ctx context.Context, it *mail.Item) []mail.Draft {
	say := func(to string, t mail.Type, subject string) mail.Draft {
		return mail.Draft{To: mail.Recipients{to}, Type: string(t), Subject: subject, Body: subject + ".",
			ReplyTo: it.ID}
	}
	const boss = string(mail.Orchestrator)
	switch {
	case me.name == "reviewer":
		d := say(boss, mail.ReviewResult, "Approved, with a word on names")
		d.Metadata = mail.Metadata(`{"verdict":"approved"}`)
		return []mail.Draft{d}
	case me.name != "lead" && it.Type == mail.TaskAssigned && strings.Contains(it.Subject, "grammar"):
		return []mail.Draft{say(boss, mail.Question, "Tabs or spaces in the grammar?")}
	case me.name != "lead":
		return []mail.Draft{say(boss, mail.TaskDone, "Done, tests pass")}
	case it.Type == mail.TaskAssigned:
		return []mail.Draft{say("role:builder", mail.TaskAssigned, "Write the lexer"),
			say("role:builder", mail.TaskAssigned, "Write the grammar")}
	case it.Type == mail.Question:
		d := say(string(mail.User), mail.Question, it.Subject)
		d.Metadata = mail.Metadata(`{"options":["Tabs","Spaces"]}`)
		return []mail.Draft{d}
	case it.Type == mail.Answer:
		return []mail.Draft{say("builder-2", mail.Answer, it.Subject)}
	case it.Type == mail.ReviewResult:
		return []mail.Draft{say(string(mail.User), mail.TaskDone, "The parser is written and reviewed")}
	case it.Type == mail.TaskDone && me.reports(ctx) == 2:
		return []mail.Draft{say("reviewer", mail.ReviewRequest, "Lexer and grammar")}
	}
	return nil
}

// reports returns how many tasks were reported as done.
func (me *actor) reports(ctx context.Context) int {
	p, err := me.History(ctx, mail.HistoryQuery{Types: []mail.Type{mail.TaskDone}})
	if err != nil {
		return 0
	}
	return len(p.Messages)
}
