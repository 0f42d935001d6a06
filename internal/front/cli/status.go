package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

const statusHelp = `Say whether the post office runs, and where. This starts nothing.

The exit status is 0 when it runs and 6 when it does not.`

func newStatus(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "say whether the post office runs", Long: statusHelp,
		Example: "pennypost status\npennypost status --json",
		Args:    NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.status(cmd.Context()) },
	}
}

// running is what status says in JSON.
type running struct {
	Running bool `json:"running"`
	wire.Status
}

func (a *App) status(ctx context.Context) error {
	home, office, err := a.runningOffice()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	st, err := office.Status(ctx)
	if code := mail.CodeOf(err); code == mail.Unavailable || code == mail.Timeout {
		if a.JSON {
			a.Out.Value(struct {
				Running bool   `json:"running"`
				Home    string `json:"home"`
			}{false, string(home)})
		} else if Listens(home) {
			a.Out.Line("The post office at %s is there and does not answer: its process is stopped, or hangs.", home)
		} else {
			a.Out.Line("The post office at %s is not running.", home)
		}
		return silent{exitUnreachable}
	}
	if err != nil {
		return err
	}
	if a.JSON {
		a.Out.Value(running{true, st})
		return nil
	}
	if r := st.Relay; r != nil {
		a.Out.Line("This machine uses the post office at %s.", r.URL)
	} else {
		a.Out.Line("The post office is open.")
	}
	a.Out.Table(append(a.statusRows(&st), []string{"home", string(home)}), 0)
	return nil
}

// statusRows says what there is to say of a post office, or of a relay.
func (a *App) statusRows(st *wire.Status) (rows [][]string) {
	if r := st.Relay; r != nil {
		reached := "yes"
		if r.Trouble != "" {
			reached = a.Out.red("no: " + OneLine(r.Trouble))
		}
		rows = append(rows, []string{"relay", "to " + r.URL + ", machine " + string(r.Machine)},
			[]string{"reached", reached})
	}
	rows = append(rows, [][]string{{"version", st.Version}, {"process", itoa(st.PID)},
		{"up", a.Out.now.Sub(st.Started.Std()).Round(time.Second).String()}}...)
	for _, l := range st.Listen {
		rows = append(rows, []string{"listens", l})
	}
	if st.Fingerprint != "" {
		rows = append(rows, []string{"certificate", st.Fingerprint})
	}
	if st.Relay == nil {
		rows = append(rows, []string{"rooms", itoa(st.Rooms) + " open"})
	}
	for _, m := range st.Joined {
		rows = append(rows, []string{"joined", string(m) + " is connected"})
	}
	if st.Bridges > 0 {
		rows = append(rows, []string{"bridges", itoa(st.Bridges) + " running"})
	}
	if c := st.Cluster; c != nil {
		rows = append(rows, []string{"machine", string(c.Machine)})
		if c.Trouble != "" {
			rows = append(rows, []string{"servers", a.Out.red(OneLine(c.Trouble))})
		}
		for _, w := range c.Warnings {
			rows = append(rows, []string{"warning", a.Out.red(OneLine(w))})
		}
	}
	for _, f := range st.Failing {
		rows = append(rows, []string{"failing", a.Out.red(OneLine(f))})
	}
	return rows
}

// runningOffice makes the command speak to a post office only if one runs.
func (a *App) runningOffice() (config.Home, *client.Office, error) {
	home, err := config.FindHome(a.Env.Getenv)
	if err != nil {
		return "", nil, err
	}
	a.Office, err = a.QuietOffice()
	return home, a.Office, err
}

// QuietOffice returns the post office as it is, without starting one. The caller closes it.
func (a *App) QuietOffice() (*client.Office, error) {
	if a.Remote != "" {
		return a.remote()
	}
	home, err := config.FindHome(a.Env.Getenv)
	if err != nil {
		return nil, err
	}
	if err := home.CheckSocket(false); err != nil {
		return nil, err
	}
	return client.New(client.Options{Socket: home.Socket()})
}
