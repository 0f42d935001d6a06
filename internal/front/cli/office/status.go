package office

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

const statusHelp = `Show whether the post office is running, and where. This starts nothing.

The exit status is 0 if it is running and 6 if not.`

func newStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "show whether the post office is running", Long: statusHelp,
		Example: "pennypost status\npennypost status --json",
		Args:    cli.NoArgs,
		RunE:    cli.Run(a.status),
	}
}

// running is the output of status in JSON.
type running struct {
	Running bool `json:"running"`
	wire.Status
}

func (a *app) status(ctx context.Context) error {
	home, office, err := a.RunningOffice()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, cli.StartPatience)
	defer cancel()
	st, err := office.Status(ctx)
	if code := mail.CodeOf(err); code == mail.Unavailable || code == mail.Timeout {
		if a.JSON {
			a.Out.Value(struct {
				Running bool   `json:"running"`
				Home    string `json:"home"`
			}{false, string(home)})
		} else if cli.Listens(home) {
			a.Out.Line("The post office at %s does not answer: its process is stopped or hangs.", home)
		} else {
			a.Out.Line("The post office at %s is not running.", home)
		}
		return cli.Silent(cli.ExitUnreachable)
	}
	if err != nil {
		return err
	}
	return cli.Answer(a.App, running{true, st}, nil, func(st running) error {
		if r := st.Relay; r != nil {
			a.Out.Line("This machine uses the post office at %s.", r.URL)
		} else {
			a.Out.Line("The post office is open.")
		}
		a.Out.Table(append(a.statusRows(&st.Status), []string{"home", string(home)}), 0)
		return nil
	})
}

// statusRows returns the status of a post office, or of a relay, as rows.
func (a *app) statusRows(st *wire.Status) (rows [][]string) {
	if r := st.Relay; r != nil {
		reached := "yes"
		if r.Trouble != "" {
			reached = a.Out.Red("no: " + cli.OneLine(r.Trouble))
		}
		rows = append(rows, []string{"relay", "to " + r.URL + ", machine " + string(r.Machine)},
			[]string{"reached", reached})
	}
	rows = append(rows, [][]string{{"version", st.Version}, {"process", strconv.Itoa(st.PID)},
		{"up", a.Out.Now.Sub(st.Started.Std()).Round(time.Second).String()}}...)
	for _, l := range st.Listen {
		rows = append(rows, []string{"listens", l})
	}
	if st.Fingerprint != "" {
		rows = append(rows, []string{"certificate", st.Fingerprint})
	}
	if st.Relay == nil {
		rows = append(rows, []string{"rooms", strconv.Itoa(st.Rooms) + " open"})
	}
	for _, m := range st.Joined {
		rows = append(rows, []string{"joined", string(m) + " is connected"})
	}
	if st.Bridges > 0 {
		rows = append(rows, []string{"bridges", strconv.Itoa(st.Bridges) + " running"})
	}
	if c := st.Cluster; c != nil {
		rows = append(rows, []string{"machine", string(c.Machine)})
		if c.Trouble != "" {
			rows = append(rows, []string{"servers", a.Out.Red(cli.OneLine(c.Trouble))})
		}
		for _, g := range c.Health.Degraded {
			rows = append(rows, []string{"degraded", a.Out.Red(cli.OneLine(g.Text))})
		}
		for _, w := range c.Warnings {
			rows = append(rows, []string{"warning", a.Out.Red(cli.OneLine(w))})
		}
	}
	if o := st.Outbox; o != nil {
		rows = append(rows, []string{"outbox", a.Out.Red(cli.OneLine(o.String()))})
	}
	for _, f := range st.Failing {
		rows = append(rows, []string{"failing", a.Out.Red(cli.OneLine(f))})
	}
	return rows
}
