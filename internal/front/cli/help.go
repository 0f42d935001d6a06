package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootHelp = `Pennypost gives every agent a durable mailbox, tells it when it has mail, and lets a person see and
join every conversation. Commands use the post office of this user, and start it when needed. Without a
command, pennypost shows everything that needs you: in full screen on a terminal, and as a short list
elsewhere.

The room is --room, else $PENNYPOST_ROOM, else that of the Git repository around the working directory
(shared by all its worktrees), else "default". The speaker is --as, else $PENNYPOST_AGENT, else the user.
You are the user in a terminal where you sit, with no agent above the command; a script needs a
credential: pennypost credentials --help.

Exit status: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 timed out, 5 refused (policy, identity,
limit), 6 post office unreachable, or silent for ten seconds.`

const rootEnvironment = `PENNYPOST_HOME       data directory; default ~/.local/state/pennypost
PENNYPOST_ROOM       room to use
PENNYPOST_AGENT      agent to act as
PENNYPOST_TOKEN      token for --remote, or a credential for scripts (pennypost credentials)
PENNYPOST_AUTOSTART  0: never start a post office
VISUAL, EDITOR       editor for answers (R on the screen)
NO_COLOR             no colours`

// manual prints the help of a command like a manual page.
func (a *App) manual(cmd *cobra.Command, _ []string) {
	a.Stdout.ours = true
	p := a.Out
	section := func(title, text string) {
		if text != "" {
			p.Line("\n%s", p.Bold(title))
			p.Text(text, 4)
		}
	}
	p.Line("%s - %s", p.Bold(cmd.CommandPath()), cmd.Short)
	section("SYNOPSIS", synopsis(cmd))
	section("DESCRIPTION", cmd.Long)
	if cmd.HasAvailableSubCommands() {
		p.Line("\n%s", p.Bold("COMMANDS"))
		p.Table(commandRows(cmd))
	}
	a.flagSection("OPTIONS", cmd.LocalNonPersistentFlags())
	if cmd.HasParent() {
		a.flagSection("OPTIONS OF EVERY COMMAND", cmd.InheritedFlags())
	} else {
		a.flagSection("OPTIONS OF EVERY COMMAND", cmd.PersistentFlags())
		section("ENVIRONMENT", rootEnvironment)
	}
	if cmd.Example != "" {
		p.Line("\n%s", p.Bold("EXAMPLES"))
		for line := range strings.SplitSeq(cmd.Example, "\n") { // each is a command of its own
			p.Text(line, 4)
		}
	}
}

// commandRows lists the commands below cmd, those of the root in the groups of the manual, not alphabetically.
func commandRows(cmd *cobra.Command) [][]string {
	var rows [][]string
	short := make(map[string]string)
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			rows = append(rows, []string{"    " + sub.Name(), sub.Short})
			short[sub.Name()] = sub.Short
		}
	}
	if cmd.HasParent() {
		return rows
	}
	rows = nil
	group := ""
	for _, v := range verbs() {
		about, ok := short[v.Name]
		if !ok {
			continue
		}
		if v.group != group {
			group = v.group
			rows = append(rows, []string{"  " + group, ""})
		}
		if v.Also != "" {
			about += " (also: " + v.Also + ")"
		}
		rows = append(rows, []string{"    " + v.Name, about})
	}
	return rows
}

func synopsis(cmd *cobra.Command) string {
	switch {
	case !cmd.HasParent():
		return "pennypost [COMMAND] [OPTIONS]"
	case cmd.HasAvailableSubCommands() && cmd.Name() == cmd.Use:
		return cmd.CommandPath() + " [COMMAND] [OPTIONS]"
	}
	return cmd.Parent().CommandPath() + " " + cmd.Use + " [OPTIONS]"
}

func (a *App) flagSection(title string, flags *pflag.FlagSet) {
	var rows [][]string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "    --" + f.Name
		if value != "" {
			name += " " + strings.ToUpper(value)
		}
		rows = append(rows, []string{name, usage})
	})
	if len(rows) > 0 {
		a.Out.Line("\n%s", a.Out.Bold(title))
		a.Out.Table(rows)
	}
}
