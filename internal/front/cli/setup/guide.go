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

const setupHelp = `Set up Pennypost on this machine, step by step. Setup puts pennypost and pennypostd on the
PATH if you agree, or prints the line that does; finds the installed agent clients, lists the missing
ones, shows the changes to their settings, and makes them if you agree; and asks whether the post office
should start with the computer, whether your desktop should notify you of questions, and whether phones
may connect. At the end you answer a first question with one key.

Enter takes the answer in capitals. --yes takes it everywhere, for a script; --dry-run shows everything
and changes nothing. A second run changes only what is wrong or missing. pennypost remove undoes
everything. Nothing is opened to the network unless you agree, or name the address with --phone-at.`

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
		{Into: &g.yes, Name: "yes", About: "ask nothing, and take the default answers"},
		{Into: &g.dryRun, Name: "dry-run", About: "show what would be done, and change nothing"},
	}
}

// begin runs the steps that a person at a terminal, or --yes, asked for.
func (g *guide) begin(ctx context.Context, do func() error) error {
	if g.JSON {
		return cli.Usage("pennypost %s is for a person; programs use install, uninstall and service",
			g.Asked)
	}
	if !g.yes && !g.dryRun && !cli.IsTerminal(g.Env.Stdin) {
		return cli.Usage("pennypost %s asks you, and there is no terminal to ask at. Nothing was done. --yes "+
			"takes the default answers, --dry-run shows them", g.Asked)
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
	g.step("Programs")
	if err := g.onPath(); err != nil {
		return err
	}
	g.step("Agent clients")
	agent, err := g.clients()
	if err != nil {
		return err
	}
	g.step("Post office")
	if err := g.service(); err != nil {
		return err
	}
	g.step("Notifications")
	if err := g.notifications(); err != nil {
		return err
	}
	g.step("Phone")
	if err := g.letPhonesIn(); err != nil {
		return err
	}
	g.step("First question")
	if err := g.firstQuestion(); err != nil {
		g.Out.Line("The question could not be asked: %s", err)
	}
	g.Out.Line("\n" +
		"Setup is complete. In the directory of a project, and in another terminal:\n")
	g.Out.Line("    %s", g.Out.Bold("PENNYPOST_AGENT=builder "+agent))
	g.Out.Line("    %s", g.Out.Bold("pennypost"))
	g.Out.Line("\n" +
		"The first starts an agent with a mailbox, the second shows you its questions. pennypost open shows the " +
		"same in a browser, pennypost open --phone on a phone, and pennypost remove undoes all of this.")
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
		g.Out.Line("Not found here: %s. To install one later: pennypost install NAME", cli.Joined(missing, ", "))
	}
	if agent == "" {
		g.Out.Line("So no agent can have a mailbox yet. Everything else works.")
		agent = "CLIENT"
	}
	return agent, nil
}

// client shows the changes to one client's settings, and makes them if the person agrees.
func (g *guide) client(o *install.Options, r *install.Report) error {
	p, err := carryOut(r.Client, o, install.Install, true)
	if err != nil {
		g.Out.Line("%s: %s. Nothing was changed there. To try again: pennypost install %s", r.Client.Title, err,
			r.Client.Name)
		return nil // the others are still set up
	}
	if !p.Changed() {
		g.Out.Line("%s is set up already.", r.Client.Title)
		return nil
	}
	g.Out.Line("%s is installed. These changes would be made (pennypost install %s --dry-run shows every "+
		"line):", r.Client.Title,
		r.Client.Name)
	var rows [][]string
	for _, ch := range p.Changes {
		rows = append(rows, []string{"  " + string(ch.Action), cli.OneLine(ch.Path), ch.What})
	}
	g.Out.Table(rows)
	yes, err := g.asks("Make these changes?", true)
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
		g.Out.Line("Nothing to do: commands start it when it is not running.")
		return nil
	case u.before == u.Text:
		g.Out.Line("Nothing to do: it starts with the computer.")
		return nil
	}
	yes, err := g.asks("Commands start it when it is not running. Start it with the computer too?", false)
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
		g.Out.Line("Nothing to do: you are notified through %s. To test: pennypost notify test", strings.Join(on,
			", "))
		return nil
	}
	yes, err := g.asks("Show a notification on this desktop when an agent asks you something?",
		g.Env.Getenv("DISPLAY")+g.Env.Getenv("WAYLAND_DISPLAY") != "" || desktopHere)
	if err != nil || !yes {
		if !g.dryRun && err == nil {
			g.Out.Line("docs/notify.md describes ntfy, Telegram, mail and others; pennypost notify lists the " +
				"active ones.")
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
		g.Out.Line("The test failed: %s", err)
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
		g.Out.Line("Nothing to do: phones may connect. To show the code: pennypost open --phone")
		return nil
	}
	g.Out.Line("%s", cli.PhoneOffer)
	yes, err := g.asks(cli.PhoneQuestion, g.phone != "")
	if err != nil || !yes {
		return err
	}
	if err := g.LetPhonesIn(g.ctx, g.phone); err != nil {
		g.Out.Line("Phones cannot connect: %s", err)
		return nil // the rest still works
	}
	g.Out.Line("Written to %s. To show the code for the phone's camera: %s", c.Home.File(),
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
		g.Out.Line("Nothing to do: --yes does not answer questions of agents.")
		return nil
	case g.dryRun:
		g.Out.Line("An agent would ask you a question, to answer with a digit, unless you have answered one before.")
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
		Body: "This is how your agents ask you. Answer with a digit."})
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
	g.Out.Line("Answered “%s”. An agent would now continue.", choices[n].Answer)
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
	g.Out.Line("That is not an answer; the question is withdrawn. To repeat it: pennypost setup")
	return -1, nil
}
