package room

import (
	"context"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

const attachHelp = `Bring the session of an agent to the front. In tmux, your client switches to its pane; outside of
tmux, this terminal shows it. A session in a terminal of its own is brought to the front if that terminal
can be controlled: kitty with listen_on, WezTerm, and on macOS iTerm2 and Terminal. For a session that
has ended, or cannot be shown, the command that resumes it is printed. Nothing is typed into the session,
and no mail is marked.`

func newAttach(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "attach NAME", Short: "bring an agent's session to the front, or print how to resume " +
			"it", Long: attachHelp,
		Example: "pennypost attach builder\npennypost attach ws-macro --json", Args: cli.NArgs(1, "the agent's name"),
		ValidArgsFunction: a.CompleteAgent,
		RunE:              cli.RunOne(a.attach),
	}
}

func (a *app) attach(ctx context.Context, name string) error {
	if a.As != "" && a.As != string(mail.User) {
		return mail.Errorf(mail.Invalid, "sessions are shown to the person, not to %s; omit --as", a.As)
	}
	agent := mail.Name(name)
	room, err := a.RoomName()
	if err != nil {
		return err
	}
	office, err := a.Post()
	if err != nil {
		return err
	}
	from := wire.Attach{Terminal: !a.JSON && a.InTerminal(), Tmux: a.Env.Getenv("TMUX")}
	got, err := office.Attach(ctx, room, agent, from)
	switch {
	case err != nil:
		return err
	case a.JSON:
		a.Out.Value(got)
		return nil
	case got.Front:
		a.Out.Line("%s is in front of you: %s.", cli.OneLine(string(agent)), cli.OneLine(got.Where))
		return nil
	case len(got.Shows) > 0 && from.Terminal && from.Tmux == "":
		return a.show(ctx, got.Shows)
	}
	return a.sayHow(agent, &got)
}

// show replaces this process with the program that shows the session in this terminal.
func (a *app) show(ctx context.Context, words []string) error {
	program, err := exec.LookPath(words[0])
	if err != nil {
		return mail.Errorf(mail.Conflict, "the session is in %s, which is not installed here", words[0])
	}
	return cli.Become(ctx, program, words[1:], a.Env.Environ)
}

// sayHow prints the command that shows the session, or resumes it.
func (a *app) sayHow(agent mail.Name, got *wire.Attached) error {
	why := strings.TrimSuffix(cli.OneLine(got.Why), ".")
	switch {
	case got.Command == "" && got.Live:
		return mail.Errorf(mail.Conflict, "the session of %s is running, but cannot be brought to the front: "+
			"%s", agent,
			why)
	case got.Command == "":
		return mail.Errorf(mail.NotFound,
			"%s has no session to show or resume: %s. Its client reports sessions through its hooks, once they "+
				"are installed: pennypost install", agent, why)
	case len(got.Shows) > 0:
		a.Out.Line("The session of %s is in %s. To show it in a terminal:", cli.OneLine(string(agent)),
			cli.OneLine(got.Where))
	case got.Live:
		a.Out.Line("The session of %s is running, but cannot be brought to the front: %s.",
			cli.OneLine(string(agent)), why)
		a.Out.Line("This opens it a second time; two terminals on one session mix their messages:")
	default:
		a.Out.Line("%s: %s. To resume the last one:", cli.OneLine(string(agent)), why)
	}
	a.Out.Line("  %s", cli.OneLine(got.Command))
	return nil
}
