package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/config"
)

const configHelp = `The configuration is config.toml in the data directory. It need not exist. Every key in it must be known;
variables of the environment (PENNYPOST_LISTEN, PENNYPOST_IDLE_EXIT, …) and the flags of serve go over it.
A running post office has read it at its start.`

func newConfig(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config check|print", Short: "check or print the configuration", Long: configHelp,
		Example: "pennypost config check\npennypost config print > ~/.local/state/pennypost/config.toml",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("there is no command \"config %s\"; use check or print", args[0])
			}
			return usage("say what to do with the configuration: check or print")
		},
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "check", Short: "check the configuration", Long: configHelp, Args: noArgs,
			RunE: func(*cobra.Command, []string) error { return a.configCheck() },
		},
		&cobra.Command{
			Use: "print", Short: "print the configuration in effect", Long: configHelp, Args: noArgs,
			RunE: func(*cobra.Command, []string) error { return a.configPrint() },
		})
	return cmd
}

func (a *app) loadConfig() (config.Config, error) {
	home, err := config.FindHome(a.env.Getenv)
	if err != nil {
		return config.Config{}, err
	}
	return config.Load(home, a.env.Getenv)
}

func (a *app) configCheck() error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	if a.json {
		a.out.value(struct {
			File string `json:"file"`
			OK   bool   `json:"ok"`
		}{c.Home.File(), true})
		return nil
	}
	a.out.line("%s is in order.", c.Home.File())
	return nil
}

// configPrint prints TOML in either mode: that is what it is for; --json wraps it.
func (a *app) configPrint() error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := c.Print(&text); err != nil {
		return err
	}
	if a.json {
		a.out.value(struct {
			File string `json:"file"`
			TOML string `json:"toml"`
		}{c.Home.File(), text.String()})
		return nil
	}
	a.out.write(text.String())
	return nil
}
