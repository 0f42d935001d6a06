package room

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/base/pause"
	"pennypost/internal/base/process"
	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

const claimsHelp = `List the claims of the room: who holds which file, directory or name, since when and why. Agents
that share a worktree automatically claim the files that they write; the commands below do the same by
hand, for you, for agents and for scripts.

WHAT is a path (a directory includes everything in it; a pattern goes in quotes, such as 'src/**/*.go'),
or a name: port:8080, which belongs to this machine, or any word such as build or deploy:staging.`

func newClaims(a *app) *cobra.Command {
	var q mail.ClaimQuery
	var past bool
	var limit int
	cmd := cli.WithFlags(&cobra.Command{
		Use: "claims", Short: "list who holds which files, ports and names", Long: claimsHelp,
		Example: "pennypost claims\npennypost claims take port:8080 -- make e2e\npennypost claims release --all",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if past {
				return a.claimsPast(cmd.Context(), q.Agent, limit)
			} else if limit != 0 {
				return cli.Usage("--limit needs --past: the current claims are all listed")
			}
			return cli.Ask(cmd.Context(), a.App, a.Existing, mail.Service.Claims, q, a.showClaims)
		},
	},
		cli.Flag{Into: (*string)(&q.Agent), Name: "agent", About: "only the claims of this `AGENT`",
			Complete: a.CompleteAgent},
		cli.Flag{Into: &past, Name: "past", About: "past claims and how they ended, the newest last"},
		cli.Flag{Into: &limit, Name: "limit", About: "with --past: at most `N`, up to 1000; default 50"})
	cmd.AddCommand(newClaimsTake(a), newClaimsRelease(a), newClaimsWait(a), newClaimsGuard(a), newClaimsCheck(a))
	return cmd
}

func (a *app) showClaims(list mail.ClaimList) error {
	if len(list.Claims) == 0 {
		a.Out.Line("There are no claims.")
		return nil
	}
	rows := make([][]string, 0, len(list.Claims))
	for i := range list.Claims {
		h := &list.Claims[i]
		rows = append(rows, []string{cli.OneLine(string(h.Agent)), cli.OneLine(h.Target.String()), a.Out.Ago(h.Since),
			until(h), cli.OneLine(h.At), cli.OneLine(h.Why)})
	}
	a.Out.List(rows, []cli.Step{cli.At(5, cli.AtMost(32)), cli.At(4, cli.AtMost(32)), cli.At(2, cli.Brief)}, 2)
	return nil
}

// until says when a claim ends.
func until(h *mail.Holding) string {
	how := ""
	if h.Shared {
		how = "shared, "
	}
	switch {
	case h.Quiet != 0:
		return how + "for its turn"
	case h.Process != "":
		return how + "for a command"
	case h.Until != 0:
		return how + "until " + h.Until.Std().Local().Format("15:04")
	}
	return how + "for its session"
}

type takeFlags struct {
	shared, wait   bool
	why, time, max string
}

func newClaimsTake(a *app) *cobra.Command {
	f := takeFlags{max: "forever"}
	return cli.WithFlags(&cobra.Command{
		Use: "take WHAT... [-- COMMAND...]", Short: "claim files, ports or names, for a command if one is given",
		Long: "Claim what is free, all of it or nothing. An agent's claim lasts until its session ends, yours " +
			"lasts an hour,\n" +
			"and with a COMMAND it lasts while that runs; its exit status is then that of this command. If a " +
			"part is\n" +
			"claimed by another agent, the exit status is 5 and nothing is claimed.",
		Example: "pennypost claims take src/parser --why 'the new lexer'\npennypost claims take port:8080 --wait -- " +
			"make e2e",
		Args: cli.SomeArgs("what to claim: paths, or names such as port:8080"),
		RunE: func(cmd *cobra.Command, args []string) error {
			command := []string(nil)
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				args, command = args[:at], args[at:]
			}
			return a.take(cmd.Context(), args, command, f)
		},
	},
		cli.Flag{Into: &f.shared, Name: "shared", About: "others may claim it too, with --shared"},
		cli.Flag{Into: &f.why, Name: "why", About: "the reason, a `LINE` that others see"},
		cli.Flag{Into: &f.time, Name: "for", About: "for this `TIME`, at most 24h"},
		cli.Flag{Into: &f.wait, Name: "wait", About: "wait until it is free"},
		cli.Flag{Into: &f.max, Name: "timeout", About: "with --wait: at most this `TIME`"})
}

func (a *app) take(ctx context.Context, what, command []string, f takeFlags) error {
	r := mail.ClaimRequest{Words: what, Dir: a.Env.Dir, Shared: f.shared, Why: f.why}
	if f.time != "" {
		d, err := config.ParseDuration(f.time)
		if err != nil {
			return err
		}
		r.For = int(time.Duration(d) / time.Second)
	}
	if len(command) > 0 {
		if _, err := exec.LookPath(command[0]); err != nil {
			return mail.Errorf(mail.NotFound, "%s cannot be run: %v. Nothing was claimed", command[0], err)
		}
		r.Process = process.Self()
	}
	svc, err := a.Service(ctx)
	if err != nil {
		return err
	}
	ctx, stop := cli.Interruptible(ctx)
	defer stop()
	got, err := a.until(ctx, svc, r, f)
	if err == nil && len(command) == 0 {
		return cli.Answer(a.App, got, nil, func(c mail.Claimed) error {
			return a.showClaims(
				mail.ClaimList{Claims: c.Held})
		})
	}
	if err != nil {
		return err
	}
	defer func() { // even if it was interrupted; if this fails, the post office notices that this process has ended
		_, _ = svc.Claim(context.WithoutCancel(ctx), mail.ClaimRequest{Words: what, Dir: r.Dir, Release: true})
	}()
	return a.runHolding(ctx, command)
}

// until takes the claims, waiting until they are free if the flags say so.
func (a *app) until(ctx context.Context, svc mail.Service, r mail.ClaimRequest, f takeFlags) (mail.Claimed, error) {
	limit, err := config.ParseDuration(f.max)
	if err != nil {
		return mail.Claimed{}, err
	}
	if f.wait && limit != config.Forever {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(limit))
		defer cancel()
	}
	for {
		got, err := svc.Claim(ctx, r)
		if err != nil || len(got.Clashes) == 0 {
			return got, err
		}
		if !f.wait {
			return got, inTheWay(got.Clashes)
		}
		if !pause.For(ctx, claimPause) {
			return got, mail.Errorf(mail.Timeout, "it did not become free in time. %v", inTheWay(got.Clashes))
		}
	}
}

// claimPause is the interval between checks of whether something is free.
const claimPause = 500 * time.Millisecond

// inTheWay is the error that names the holders.
func inTheWay(clashes []mail.Clash) error {
	var lines []string
	for _, c := range clashes {
		lines = append(lines, clashLine(c))
	}
	return cli.Hinted(mail.Errorf(mail.Conflict, "%s. Nothing was claimed", strings.Join(lines, "; ")),
		"wait for it with --wait, or ask "+string(clashes[0].Held.Agent))
}

func clashLine(c mail.Clash) string {
	line := fmt.Sprintf("%s is held by %s since %s", c.Held.Target, c.Held.Agent,
		c.Held.Since.Std().Local().Format("15:04"))
	if c.Held.Why != "" {
		line += ", for: " + c.Held.Why
	}
	return cli.OneLine(line)
}

// runHolding runs a command with this one's input and output, and exits with its status.
func (a *app) runHolding(ctx context.Context, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = a.Env.Stdin, a.Env.Stdout, a.Env.Stderr, a.Env.Dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() > 0 {
		return cli.Silent(ended.ExitCode())
	}
	return err
}

func newClaimsRelease(a *app) *cobra.Command {
	var r mail.ClaimRequest
	return cli.WithFlags(&cobra.Command{
		Use: "release [WHAT...]", Short: "release your claims, or those of an agent",
		Long: "Release your claims. With --of you release those of an agent, which is told; agents cannot use --of.",
		Example: "pennypost claims release src/parser\npennypost claims release --all\npennypost claims release " +
			"--of " +
			"builder --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 != r.All {
				return mail.Errorf(mail.Invalid, "say what to release, or --all. Nothing was changed")
			}
			r.Words, r.Dir, r.Release = args, a.Env.Dir, true
			return cli.Ask(cmd.Context(), a.App, a.Service, mail.Service.Claim, r, func(c mail.Claimed) error {
				if len(c.Freed) == 0 {
					a.Out.Line("That was not held. To list the claims: pennypost claims")
				}
				for i := range c.Freed {
					a.Out.Line("%s is free.", cli.OneLine(c.Freed[i].Target.String()))
				}
				return nil
			})
		},
	},
		cli.Flag{Into: &r.All, Name: "all", About: "everything"},
		cli.Flag{Into: (*string)(&r.Of), Name: "of", About: "the claims of this `AGENT`", Complete: a.CompleteAgent})
}

func newClaimsWait(a *app) *cobra.Command {
	f := takeFlags{wait: true, max: "10m"}
	return cli.WithFlags(&cobra.Command{
		Use: "wait WHAT...", Short: "wait until it is free; exit 4 if that takes too long",
		Long:    "Wait until nobody else holds any of it. This does not claim it: take --wait does both.",
		Example: "pennypost claims wait port:8080 --timeout 5m",
		Args:    cli.SomeArgs("what to wait for: paths, or names such as port:8080"),
		RunE: func(cmd *cobra.Command, args []string) error {
			svc, err := a.Service(cmd.Context())
			if err != nil {
				return err
			}
			ctx, stop := cli.Interruptible(cmd.Context())
			defer stop()
			_, err = a.until(ctx, svc, mail.ClaimRequest{Words: args, Dir: a.Env.Dir, Look: true}, f)
			return a.Said(err, mail.Claimed{Held: []mail.Holding{}}, "It is free.")
		},
	},
		cli.Flag{Into: &f.max, Name: "timeout", About: "at most this `TIME`, or \"forever\""})
}
