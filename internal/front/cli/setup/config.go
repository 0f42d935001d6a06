package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/base/durable"
	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

const configHelp = `The configuration is config.toml in the data directory. It is optional. An unknown key is an
error. Environment variables (PENNYPOST_LISTEN, PENNYPOST_IDLE_EXIT, …) and the flags of serve take
precedence. A post office reads the file when it starts. "config init" writes a file that has every key,
commented out, and never replaces an existing one.`

func newConfig(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config check|init|print", Short: "check, write or print the configuration", Long: configHelp,
		Example: "pennypost config init\npennypost config check\npennypost config print",
		Args:    cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return cli.Usage("say what to do with the configuration: check, init or print")
		},
	}
	for _, v := range []struct {
		name, short string
		do          func() error
	}{
		{"check", "check the configuration", a.configCheck}, {"init", "write a first configuration", a.configInit},
		{"print", "print the configuration in effect", a.configPrint},
	} {
		cmd.AddCommand(&cobra.Command{Use: v.name, Short: v.short, Long: configHelp, Args: cli.NoArgs,
			RunE: func(*cobra.Command, []string) error { return v.do() }})
	}
	return cmd
}

func (a *app) configCheck() error {
	c, err := a.LoadConfig()
	if err == nil {
		err = c.CheckServe()
	}
	if err != nil {
		return cli.Hinted(err, "edit "+c.Home.File()+", then: pennypost config check")
	}
	return a.Said(nil, struct {
		File string `json:"file"`
		OK   bool   `json:"ok"`
	}{c.Home.File(), true}, "%s is valid.", c.Home.File())
}

// configInit writes the defaults as comments, so that a later version's defaults apply to settings left unset.
func (a *app) configInit() error {
	home, err := config.FindHome(a.Env.Getenv)
	if err != nil {
		return err
	}
	if err := home.Create(); err != nil {
		return err
	}
	c := config.Config{Home: home}
	var text strings.Builder
	if err := c.Print(&text); err != nil {
		return err
	}
	f, err := durable.OpenFile(home.File(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return mail.Errorf(mail.Conflict,
			"%s already exists and was not changed. To see it: pennypost config print", home.File())
	}
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	_, err = f.WriteString(commentedOut(text.String()))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", home.File(), err)
	}
	return a.Said(nil, struct {
		File string `json:"file"`
	}{home.File()}, "Wrote %s. Remove the # from lines that you change, then: pennypost config check", home.File())
}

// commentedOut puts a # before each key of a configuration.
func commentedOut(toml string) string {
	lines := strings.Split(toml, "\n")
	for i, line := range lines {
		if line != "" && line[0] != '#' && line[0] != '[' {
			lines[i] = "# " + line
		}
	}
	return strings.Join(lines, "\n")
}

// printed is the effective configuration, in JSON.
type printed struct {
	File string `json:"file"`
	TOML string `json:"toml"`
}

// configPrint prints TOML in either mode, which is its purpose; --json wraps it.
func (a *app) configPrint() error {
	c, err := a.LoadConfig()
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := c.Print(&text); err != nil {
		return err
	}
	return cli.Answer(a.App, printed{c.Home.File(), text.String()}, nil, func(p printed) error {
		a.Out.Write(p.TOML)
		return nil
	})
}
