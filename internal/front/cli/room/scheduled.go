package room

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

// laterFlags say when a message is sent, if not immediately.
type laterFlags struct{ at, in, every, until, zone string }

// parse parses the flags, with times by this machine's clock.
func (f laterFlags) parse() (l mail.Later, err error) {
	if l.At, err = mail.ParseWhen(f.at, time.Now(), mail.Ahead); err != nil {
		return l, err
	}
	if f.in != "" {
		in, err := config.ParseDuration(f.in)
		if err != nil {
			return l, err
		}
		if l.In = int(time.Duration(in) / time.Second); l.In < 1 {
			return l, cli.Usage("--in %s is shorter than a second, or unlimited; give a time, or omit it to send "+
				"now", f.in)
		}
	}
	if l.Every, l.Zone = f.every, f.zone; l.Every != "" && l.Zone == "" {
		if l.Zone = config.LocalZone(os.LookupEnv); l.Zone == "" {
			return l, cli.Usage("the time zone of this machine is unknown: add it, as in --zone Europe/Berlin")
		}
	}
	now := time.Now()
	if zone, err := time.LoadLocation(f.zone); f.zone != "" && err == nil { // the room refuses an unknown zone
		now = now.In(zone)
	}
	l.Until, err = mail.ParseWhen(f.until, now, mail.Through)
	return l, err
}

// dueTime is when a message is sent, by this machine's clock.
func dueTime(at mail.Time) string {
	t, now := at.Std().Local(), time.Now()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04")
}

const scheduledHelp = `List the mail that waits to be sent: its id, time, sender, recipients and subject. You see all
of it, an agent sees its own. A message waits if it was sent with --at, --in or --every. It is sent once,
even if the post office was off at its time; if several times have passed meanwhile, it is sent once for
all of them.`

func newScheduled(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "scheduled", Short: "list the mail that waits to be sent", Long: scheduledHelp,
		Example: "pennypost scheduled\npennypost scheduled move msg_V1StGXR8_Z5jdHi6B-myT --in 2h\n" +
			"pennypost scheduled cancel msg_V1StGXR8_Z5jdHi6B-myT",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Ask(cmd.Context(), a.App, a.Existing, allScheduled, struct{}{}, a.showScheduled)
		},
	}
	cmd.AddCommand(newScheduledCancel(a), newScheduledMove(a))
	return cmd
}

func allScheduled(s mail.Service, ctx context.Context, _ struct{}) (mail.ScheduledList, error) {
	return s.Scheduled(ctx)
}

func (a *app) showScheduled(list mail.ScheduledList) error {
	if len(list.Scheduled) == 0 {
		a.Out.Line("Nothing is scheduled.")
		return nil
	}
	rows := make([][]string, 0, len(list.Scheduled))
	for i := range list.Scheduled {
		c := &list.Scheduled[i]
		about := c.Draft.Subject
		if about == "" {
			about = c.Draft.Body
		}
		every := ""
		if c.Every != "" {
			every = "every " + c.Every + " " + c.Zone
		}
		if c.Entry != "" {
			every += ", config.toml: " + c.Entry
		}
		rows = append(rows, []string{string(c.ID), dueTime(c.At), cli.OneLine(string(c.From)),
			cli.OneLine(strings.Join(c.Draft.To, ", ")), cli.OneLine(every), cli.OneLine(about)})
	}
	a.Out.List(rows, []cli.Step{cli.At(5, cli.AtMost(32)), cli.At(4, cli.AtMost(32)), cli.At(3, cli.AtMost(24))}, 5)
	return nil
}

func newScheduledCancel(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "cancel ID...", Short: "cancel scheduled mail",
		Long: "Cancel scheduled mail. Its text is not kept.",
		Args: cli.SomeArgs("what to cancel: the ids that pennypost scheduled lists"),
		RunE: func(cmd *cobra.Command, ids []string) error {
			svc, err := a.Service(cmd.Context())
			if err != nil {
				return err
			}
			for _, id := range ids {
				if err := svc.Unschedule(cmd.Context(), mail.ID(id)); err != nil {
					return err
				}
			}
			return a.Said(nil, struct{}{}, "It will not be sent.")
		},
	}
}

func newScheduledMove(a *app) *cobra.Command {
	var f laterFlags
	return cli.WithFlags(&cobra.Command{
		Use: "move ID", Short: "change the time of scheduled mail",
		Long: "Send scheduled mail at another time. A repeated message keeps its later times.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			l, err := f.parse()
			if err != nil {
				return err
			}
			r := mail.Rescheduling{ID: mail.ID(ids[0]), At: l.At, In: l.In}
			return cli.Ask(cmd.Context(), a.App, a.Service, mail.Service.Reschedule, r,
				func(c mail.Scheduled) error {
					a.Out.Line("It will be sent at %s.", dueTime(c.At))
					return nil
				})
		},
	},
		cli.Flag{Into: &f.at, Name: "at", About: "at this `TIME`: 14:30, \"tomorrow 9:00\", RFC 3339"},
		cli.Flag{Into: &f.in, Name: "in", About: "after this `DURATION`: 20m, 2h, 1d"})
}
