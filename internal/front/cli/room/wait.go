package room

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

const waitHelp = `Wait for an unread message in your mailbox, print it, and exit with status 0. A message that is
already there counts. After the timeout the exit status is 4. The message stays unread; the sender can
see that its text was presented to you.

With --until, wait for something else: 'agent:NAME idle' (its turn is over, or it has gone), 'path FILE
free' (nobody else holds it: see pennypost claims), or 'question ID settled'.`

// oneLook is the shortest wait: long enough for the post office to report a message that is already there.
const oneLook = 100 * time.Millisecond

type waitFlags struct {
	q       mail.WaitQuery
	types   []string
	timeout string
	until   string
}

func newWait(a *app) *cobra.Command {
	f := waitFlags{timeout: "10m"}
	return cli.WithFlags(&cobra.Command{
		Use: "wait", Short: "wait for a message; exit 4 if none came", Long: waitHelp,
		Example: "pennypost wait --as builder --timeout 10m\npennypost wait --type answer --reply-to " +
			"msg_V1StGXR8_Z5jdHi6B-myT\npennypost wait --until 'agent:builder idle'",
		Args: cli.NoArgs,
		RunE: cli.RunWith(a.wait, &f),
	},
		cli.Flag{Into: &f.types, Name: "type", About: "only messages of this `TYPE`; separate several with commas",
			Complete: cli.CompleteTypes},
		cli.Flag{Into: (*string)(&f.q.ReplyTo), Name: "reply-to", About: "only answers to the message `ID`"},
		cli.Flag{Into: &f.timeout, Name: "timeout", About: "wait for `DURATION`, or \"forever\""},
		cli.Flag{Into: &f.until, Name: "until",
			About: "wait for this `CONDITION` instead of a message"},
		cli.Flag{Into: (*uint64)(&f.q.After), Name: "after", About: "only messages after this `SEQ`"})
}

func (a *app) wait(ctx context.Context, f waitFlags) error {
	if f.until != "" {
		return a.waitUntil(ctx, f)
	}
	var err error
	if f.q.Types, err = parseTypes(f.types); err != nil {
		return err
	}
	timeout, err := config.ParseDuration(f.timeout)
	if err != nil {
		return err
	}
	svc, err := a.Service(ctx)
	if err != nil {
		return err
	}
	ctx, stop := cli.Interruptible(ctx)
	defer stop()
	it, err := waitFor(ctx, svc, f.q, timeout)
	if err != nil {
		return err
	}
	if a.JSON {
		a.Out.Value(it)
	} else {
		a.showAll([]mail.Item{it}, []string{""})
	}
	if a.Out.Err() != nil {
		return a.Out.Err()
	}
	return a.afterPrinting(ctx, svc, []mail.Item{it}, false)
}

// waitFor waits for a message until the timeout or ^C.
func waitFor(ctx context.Context, svc mail.Service, q mail.WaitQuery, timeout config.Duration) (mail.Item, error) {
	waiting := ctx
	if timeout != config.Forever {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, max(time.Duration(timeout), oneLook))
		defer cancel()
	}
	it, err := svc.Wait(waiting, q)
	switch {
	case err == nil:
		return it, nil
	case ctx.Err() != nil:
		return it, ctx.Err()
	case mail.CodeOf(err) == mail.Timeout:
		return it, cli.Hinted(mail.Errorf(mail.Timeout, "no message came within %s", timeout),
			"to see earlier messages: pennypost history")
	}
	return it, err
}

func parseTypes(words []string) ([]mail.Type, error) {
	var types []mail.Type
	for _, w := range words {
		if w == "" {
			return nil, cli.Usage("a message type is empty")
		}
		t, err := mail.ParseType(w)
		if err != nil {
			return nil, err
		}
		types = append(types, t)
	}
	return types, nil
}
