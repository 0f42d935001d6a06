package room

import (
	"context"
	"strings"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

// waitUntil waits for a condition other than mail, and reports it.
func (a *app) waitUntil(ctx context.Context, f waitFlags) error {
	timeout, err := config.ParseDuration(f.timeout)
	if err != nil {
		return err
	}
	words := strings.Fields(f.until)
	name, isAgent := strings.CutPrefix(f.until, "agent:")
	switch {
	case isAgent && len(words) == 2 && words[1] == "idle":
	case len(words) == 3 && (words[0] == "path" && words[2] == "free" || words[0] == "question" &&
		words[2] == "settled"):
	default:
		return cli.Usage("%q is not a condition: use 'agent:NAME idle', 'path FILE free' or 'question ID settled'",
			f.until)
	}
	svc, err := a.Service(ctx)
	if err != nil {
		return err
	}
	ctx, stop := cli.Interruptible(ctx)
	defer stop()
	switch {
	case isAgent:
		agent := mail.Name(strings.Fields(name)[0])
		err = watchUntil(ctx, svc, timeout, agentIdle(svc, agent))
	case words[0] == "path":
		_, err = a.until(ctx, svc, mail.ClaimRequest{Words: words[1:2], Dir: a.Env.Dir, Look: true},
			takeFlags{wait: true, max: f.timeout})
	default:
		err = watchUntil(ctx, svc, timeout, questionSettled(svc, mail.ID(words[1])))
	}
	return a.Said(err, struct{}{}, "Condition met: %s", cli.OneLine(f.until))
}

// agentIdle reports whether an agent's turn is over.
func agentIdle(svc mail.Service, name mail.Name) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		one, found, err := mail.OneAgent(ctx, svc, name)
		if err == nil && !found {
			err = mail.Errorf(mail.NotFound, "there is no agent %q. The command did not wait", name)
		}
		return err == nil && (one.State == mail.Idle || one.State == mail.Gone), err
	}
}

// questionSettled reports whether a message no longer waits for an answer.
func questionSettled(svc mail.Service, id mail.ID) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		it, err := svc.Message(ctx, id)
		return err == nil && !it.Open, err
	}
}

// watchUntil checks a condition after each event of the room, until it holds.
func watchUntil(ctx context.Context, svc mail.Service, timeout config.Duration,
	holds func(context.Context) (bool, error)) error {
	st, err := svc.Status(ctx)
	if err != nil {
		return err
	}
	watching := ctx
	if timeout != config.Forever {
		var cancel context.CancelFunc
		watching, cancel = context.WithTimeout(ctx, max(time.Duration(timeout), oneLook))
		defer cancel()
	}
	w, err := svc.Watch(watching, st.Seq)
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		if ok, err := holds(ctx); ok || err != nil {
			return err
		}
		if _, err := w.Next(watching); err != nil {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case watching.Err() != nil:
				return mail.Errorf(mail.Timeout, "the condition was not met within %s", timeout)
			}
			return err
		}
	}
}
