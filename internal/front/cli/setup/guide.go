package setup

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/front/cli"
	"pennypost/internal/front/install"
	"pennypost/internal/mail"
)

const setupHelp = `Set up Pennypost on this machine, step by step. It finds the agent clients that are here and
names those that are not, shows what it would write into their settings, and writes it if you say so;
puts pennypost and pennypostd on the PATH, or says the line that does; and asks whether the post
office is to start with the computer, whether your desktop tells you of questions, and whether phones
are let in. At the end you answer a first question with one key.

Enter takes the answer in capitals. --yes gives it everywhere, for a script; --dry-run shows all and
changes nothing. A second run changes nothing that is as it should be. pennypost remove undoes all of
it. Nothing is opened to the network unless you say so, or name the address with --phone-at.`

// guide asks the person step by step, or takes the proposed answers.
type guide struct {
	*app
	ctx    context.Context
	yes    bool // it asks no questions
	dryRun bool
	phone  string // the address for phones; "": every network, if they are let in
}

func newSetup(a *app) *cobra.Command {
	g := &guide{app: a}
	return cli.WithFlags(&cobra.Command{
		Use: "setup", Short: "set up clients, PATH and notifications, step by step", Long: setupHelp,
		Example: "pennypost setup\npennypost setup --dry-run\npennypost setup --yes", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.begin(cmd.Context(), g.setup) },
	}, append(g.flags(), cli.PhoneFlag(&g.phone))...)
}

func (g *guide) flags() []cli.Flag {
	return []cli.Flag{
		{Into: &g.yes, Name: "yes", About: "ask nothing, and do what Enter would"},
		{Into: &g.dryRun, Name: "dry-run", About: "show what would be done, and change nothing"},
	}
}

// begin runs the steps that a person at a terminal, or --yes, asked for.
func (g *guide) begin(ctx context.Context, do func() error) error {
	if g.JSON {
		return cli.Usage("pennypost %s talks to a person; for programs there are install, uninstall and service",
			g.Asked)
	}
	if !g.yes && !g.dryRun && !cli.IsTerminal(g.Env.Stdin) {
		return cli.Usage("pennypost %s asks you, and there is no terminal to ask at: nothing was done. "+
			"--yes does what it proposes, --dry-run shows that", g.Asked)
	}
	g.ctx = ctx
	return do()
}

// step is the heading of a part.
func (g *guide) step(name string) { g.Out.Line("\n%s", g.Out.Bold(name)) }

// asks asks a yes-or-no question; Enter means proposed. A dry run prints it, and answers no.
func (g *guide) asks(question string, proposed bool) (bool, error) {
	switch {
	case g.dryRun:
		enter := "no"
		if proposed {
			enter = "yes"
		}
		g.Out.Line("You would be asked: %s (Enter: %s)", question, enter)
		return false, nil
	case g.yes:
		return proposed, nil
	}
	return g.AskYes(question, proposed)
}

func (g *guide) setup() error {
	if _, err := g.OfficeProgram(); err != nil {
		return err // nothing could be started
	}
	if g.dryRun {
		g.Out.Line("This is what pennypost setup would do. Nothing is changed.")
	}
	g.step("The programs")
	if err := g.onPath(); err != nil {
		return err
	}
	g.step("Your agents' clients")
	agent, err := g.clients()
	if err != nil {
		return err
	}
	g.step("The post office")
	if err := g.service(); err != nil {
		return err
	}
	g.step("When you do not look")
	if err := g.notifications(); err != nil {
		return err
	}
	g.step("Your phone")
	if err := g.letPhonesIn(); err != nil {
		return err
	}
	g.step("A first question")
	if err := g.firstQuestion(); err != nil {
		g.Out.Line("It could not be asked: %s", err)
	}
	g.Out.Line("\nThat is all. In a directory of a project, and in another terminal:\n")
	g.Out.Line("    %s", g.Out.Bold("PENNYPOST_AGENT=builder "+agent))
	g.Out.Line("    %s", g.Out.Bold("pennypost"))
	g.Out.Line("\nThe first starts an agent with a mailbox, the second shows you what it asks. pennypost open is " +
		"the same in a browser, pennypost open --phone on a phone, and pennypost remove undoes all of this.")
	return nil
}

// clients installs into the clients on this machine, and returns the program of the first.
func (g *guide) clients() (agent string, err error) {
	o, err := g.installOptions(installFlags{})
	if err != nil {
		return "", err
	}
	var missing []string
	for _, r := range install.Look(*o) {
		switch {
		case r.Scope != install.User:
		case !r.Command && !r.Installed():
			missing = append(missing, r.Client.Name)
		default:
			if r.Command && agent == "" {
				agent = r.Client.Program
			}
			if err := g.client(o, &r); err != nil {
				return agent, err
			}
		}
	}
	if len(missing) > 0 {
		g.Out.Line("Not found here: %s. Once one is: pennypost install NAME", cli.Joined(missing, ", "))
	}
	if agent == "" {
		g.Out.Line("So there is no agent to give a mailbox to yet. All else works.")
		agent = "CLIENT"
	}
	return agent, nil
}

// client shows the changes to one client's settings, and makes them if the person agrees.
func (g *guide) client(o *install.Options, r *install.Report) error {
	p, err := carryOut(r.Client, o, install.Install, true)
	if err != nil {
		g.Out.Line("%s: %s. Nothing was changed there. Again: pennypost install %s", r.Client.Title, err,
			r.Client.Name)
		return nil // the others are still set up
	}
	if !p.Changed() {
		g.Out.Line("%s has it already.", r.Client.Title)
		return nil
	}
	g.Out.Line("%s is here. This would be written (pennypost install %s --dry-run shows every line):", r.Client.Title,
		r.Client.Name)
	var rows [][]string
	for _, ch := range p.Changes {
		rows = append(rows, []string{"  " + string(ch.Action), cli.OneLine(ch.Path), ch.What})
	}
	g.Out.Table(rows)
	yes, err := g.asks("Write it?", true)
	if err != nil || !yes {
		return err
	}
	if p, err = carryOut(r.Client, o, install.Install, false); err != nil {
		return cli.Hinted(err, "pennypost install "+r.Client.Name)
	}
	for _, note := range p.Notes {
		g.Out.Line("  %s", note)
	}
	return nil
}

// service makes the post office start with the computer, where a service manager is reachable.
func (g *guide) service() error {
	u, err := g.unit(g.ctx)
	switch {
	case err != nil || !u.reachable:
		g.Out.Line("Nothing to do: commands start it when there is none.")
		return nil
	case u.before == u.Text:
		g.Out.Line("Nothing to do: it starts with the computer.")
		return nil
	}
	yes, err := g.asks("Commands start it when there is none. Start it with the computer too?", false)
	if err != nil || !yes {
		return err
	}
	return g.serviceInstall(u, false)
}

// notifications turns on desktop notifications.
func (g *guide) notifications() error {
	c, err := g.LoadConfig()
	if err != nil {
		return err
	}
	if on := c.Notify.On(); len(on) > 0 {
		g.Out.Line("Nothing to do: you are told through %s. pennypost notify test tries it.", strings.Join(on, ", "))
		return nil
	}
	yes, err := g.asks("Show a notification on this desktop when an agent asks you something?",
		g.Env.Getenv("DISPLAY")+g.Env.Getenv("WAYLAND_DISPLAY") != "" || desktopHere)
	if err != nil || !yes {
		if !g.dryRun && err == nil {
			g.Out.Line("docs/notify.md has ntfy, Telegram, mail and others; pennypost notify lists what is on.")
		}
		return err
	}
	if err := g.AddToConfig("notify.desktop", "", ""); err != nil {
		return err
	}
	if _, _, err := g.StopOffice(g.ctx); err != nil { // it reads the file when it starts
		return err
	}
	if err := g.notifyTest(g.ctx, "desktop"); err != nil {
		g.Out.Line("The test did not get through: %s", err)
	}
	return nil
}

// letPhonesIn makes the post office listen for other machines, if the person agrees.
func (g *guide) letPhonesIn() error {
	c, err := g.LoadConfig()
	if err != nil {
		return err
	}
	if c.TLS.Listen != "" {
		g.Out.Line("Nothing to do: phones are let in. pennypost open --phone shows the code.")
		return nil
	}
	g.Out.Line("%s", cli.PhoneOffer)
	yes, err := g.asks(cli.PhoneQuestion, g.phone != "")
	if err != nil || !yes {
		return err
	}
	if err := g.LetPhonesIn(g.ctx, g.phone); err != nil {
		g.Out.Line("They are not let in: %s", err)
		return nil // the rest still works
	}
	g.Out.Line("Written to %s. The code for the phone's camera: %s", c.Home.File(),
		g.Out.Bold("pennypost open --phone"))
	return nil
}

// guideName is the agent that asks the first question. It is on the roster only until that is answered.
const guideName mail.Name = "setup"

// answeredBefore reports whether the person has answered a question in a room that can be searched immediately.
func (g *guide) answeredBefore() (bool, error) {
	office, err := g.Post()
	if err != nil {
		return false, err
	}
	given, err := office.FleetMail(g.ctx, mail.FleetMailQuery{HistoryQuery: mail.HistoryQuery{
		From: string(mail.User), Types: []mail.Type{mail.Answer}, Limit: 1}})
	return len(given.Rooms) > 0, err
}

// firstQuestion makes an agent ask the person a question, which they answer with one key, unless they have answered
// one before.
func (g *guide) firstQuestion() (err error) {
	switch {
	case g.yes:
		g.Out.Line("Nothing to do: --yes answers no questions of agents.")
		return nil
	case g.dryRun:
		g.Out.Line("An agent would ask you one, which a digit answers, unless you have answered one before.")
		return nil
	}
	if knows, err := g.answeredBefore(); err != nil {
		return err
	} else if knows {
		g.Out.Line("Nothing to do: you have answered one before.")
		return nil
	}
	own, err := g.Service(g.ctx)
	if err != nil {
		return err
	}
	asker, err := g.RoomAs(g.ctx, guideName)
	if err != nil {
		return err
	}
	if _, err := asker.Register(g.ctx, mail.Presence{Name: guideName, State: mail.Idle}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.Retire(g.ctx, guideName)) }()
	options, err := jsonx.Marshal(map[string][]string{"options": {"Yes, that was one key", "Later"}})
	if err != nil {
		return err
	}
	sent, err := asker.Send(g.ctx, mail.Draft{To: mail.Recipients{string(mail.User)}, Type: string(mail.Question),
		Subject: "Does a question reach you here?", Metadata: options,
		Body: "This is how your agents ask you. A digit answers."})
	if err != nil {
		return err
	}
	it, err := own.Message(g.ctx, sent.ID)
	if err != nil {
		return err
	}
	g.Out.Line("%s asks you: %s", g.Out.Bold(string(guideName)), it.Subject)
	g.Out.Line("%s", it.Body)
	choices := it.Choices()
	for i, o := range choices {
		g.Out.Line("    %s  %s", g.Out.Bold(strconv.Itoa(i+1)), o.Answer)
	}
	n, err := g.key(len(choices))
	if err != nil || n < 0 {
		return errors.Join(err, asker.Withdraw(g.ctx, it.ID))
	}
	if err := g.answerFirst(own, asker, &it, choices[n].Answer); err != nil {
		return err
	}
	g.Out.Line("Answered “%s”. An agent would go on now.", choices[n].Answer)
	return nil
}

// answerFirst answers the first question. It marks both messages read.
func (g *guide) answerFirst(own, asker mail.Service, question *mail.Item, text string) error {
	d, answer := question.Reply(mail.User), question.Choose(mail.User, text)
	d.Type, d.Body, d.Metadata = answer.Type, answer.Body, answer.Metadata
	given, err := own.Send(g.ctx, d)
	if err != nil {
		return err
	}
	_, err = own.Mark(g.ctx, mail.Marking{IDs: []mail.ID{question.ID}, Mark: mail.MarkRead})
	if err == nil {
		_, err = asker.Mark(g.ctx, mail.Marking{IDs: []mail.ID{given.ID}, Mark: mail.MarkRead})
	}
	return err
}

// key reads one key, a digit up to most; -1: another key.
func (g *guide) key(most int) (int, error) {
	file, ok := g.Env.Stdin.(*os.File)
	if !ok {
		return -1, nil
	}
	was, err := term.MakeRaw(int(file.Fd()))
	if err != nil {
		return -1, err
	}
	var b [1]byte
	_, err = io.ReadFull(g.Env.Stdin, b[:])
	_ = term.Restore(int(file.Fd()), was)
	if err != nil {
		return -1, err
	}
	if n := int(b[0] - '1'); n >= 0 && n < most {
		return n, nil
	}
	g.Out.Line("That is no answer; the question is withdrawn. pennypost setup asks it again.")
	return -1, nil
}
