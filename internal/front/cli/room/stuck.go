package room

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"pennypost/internal/base/wording"
	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/front/install"
	"pennypost/internal/mail"
)

const stuckHelp = `List the mail that does not move, with the reason and the command that helps: mail held because no
agent has the role, dead letters of agents that are gone, mail that an agent should have looked at by
now, and mail that expired unread. Also named are agents that wait for claims of others, agents that wait
for each other in a circle, and erased messages that are not yet gone from every machine.

The messages are numbered: pennypost read 1 prints the first. --all-rooms lists all rooms, for you only,
not for agents; closed rooms are listed as they were.`

func newStuck(a *app) *cobra.Command {
	var q mail.StuckQuery
	var kind string
	var all bool
	return cli.WithFlags(&cobra.Command{
		Use: "stuck", Short: "list the mail that does not move, and how to fix it", Long: stuckHelp,
		Example: "pennypost stuck\npennypost stuck --kind held\npennypost stuck --for agent:builder", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if q.Kind, err = mail.ParseStuckKind(kind); err != nil {
				return err
			}
			if err := cmp.Or(checkLimit(q.Limit), checkLimit(q.Mail)); err != nil {
				return err
			}
			if all {
				return a.stuckAllRooms(cmd.Context(), q)
			}
			return a.stuck(cmd.Context(), q)
		},
	},
		allRoomsFlag(&all, "what is stuck in all rooms, a line for each message"),
		cli.Flag{Into: &kind, Name: "kind", About: "only this `KIND`: asking, claim, held, dead, waiting or expired",
			Complete: cli.OneOf(mail.StuckKinds()...)},
		cli.Flag{Into: (*string)(&q.For), Name: "for",
			About: "only mail for this `ADDRESS`: agent:NAME, role:ROLE, a tag or all"},
		cli.Flag{Into: &q.Limit, Name: "limit", About: "at most `N` groups of each kind, up to 1000; default 50"},
		cli.Flag{Into: &q.Mail, Name: "mail", About: "at most `N` messages of each group, up to 1000; default 5"})
}

func (a *app) stuck(ctx context.Context, q mail.StuckQuery) error {
	svc, err := a.Existing(ctx)
	if err != nil {
		return err
	}
	list, err := svc.Stuck(ctx, q)
	return cli.Answer(a.App, list, err, func(list mail.StuckList) error { return a.showAllStuck(ctx, svc, list, q) })
}

// showAllStuck prints the groups, and then circles and unfinished erasures, which are of no kind and for no one.
func (a *app) showAllStuck(ctx context.Context, svc mail.Service, list mail.StuckList, q mail.StuckQuery) error {
	var circles []string
	var erasing []mail.Erasing
	if q.Kind == "" && q.For == "" {
		waiting, err := svc.Waiting(ctx, mail.WaitingQuery{Limit: mail.MaxLimit})
		if err != nil {
			return err
		}
		st, err := svc.Status(ctx)
		if err != nil {
			return err
		}
		circles, erasing = circlesOf(waiting.Waiting), st.Erasing
	}
	if len(list.Groups)+len(circles)+len(erasing) == 0 {
		a.nothing(ctx, "Nothing is stuck", "stuck", stuckElsewhere)
		return nil
	}
	if err := a.showStuck(ctx, svc, list); err != nil {
		return err
	}
	if len(circles) > 0 {
		a.Out.Line("%s", a.Out.Bold("Waiting in a circle"))
		for _, c := range circles {
			a.Out.Line("  %s", c)
		}
		a.Out.Line("  Answering one of their questions ends it: %s", a.Out.Bold("pennypost waiting"))
	}
	if len(erasing) > 0 {
		a.Out.Line("%s", a.Out.Bold("Not erased everywhere: waiting for a machine"))
	}
	for _, e := range erasing {
		a.Out.Line("  %s is hidden everywhere, but %s.", e.Message, e.Why())
		for _, m := range e.Machines {
			a.Out.Line("    → %s", a.Out.Bold("pennypost machines remove "+cli.Quoted(string(m))))
		}
	}
	return nil
}

// circlesOf are the circles of agents that wait for each other, each once.
func circlesOf(waiting []mail.Waiting) (out []string) {
	var known [][]mail.Name
	for i := range waiting {
		w := &waiting[i]
		if !w.Circle {
			continue
		}
		circle := w.Chain[slices.Index(w.Chain, w.Chain[len(w.Chain)-1]):] // without those that lead to it
		members := slices.Clone(circle)
		slices.Sort(members)
		members = slices.Compact(members)
		if !slices.ContainsFunc(known, func(k []mail.Name) bool { return slices.Equal(k, members) }) {
			known, out = append(known, members), append(out, cli.Joined(circle, " → "))
		}
	}
	return out
}

// stuckTitle describes a kind of stuck mail.
func stuckTitle(k mail.StuckKind) string {
	switch k {
	case mail.StuckAsking:
		return "At a dialog of its client: only you can answer"
	case mail.StuckClaim:
		return "Waits for a claim of another agent: told when it is free"
	case mail.StuckHeld:
		return "No agent has the role: kept until one takes it"
	case mail.StuckDead:
		return "Dead letters: the agent is gone and never read them"
	case mail.StuckWaiting:
		return "Not looked at: this should have woken the agent"
	}
	return "Expired unread"
}

// showStuck prints the groups, with their messages numbered consecutively.
func (a *app) showStuck(ctx context.Context, svc mail.Service, list mail.StuckList) error {
	room, err := a.RoomName()
	if err != nil {
		return err
	}
	var all []shownMessage
	for _, g := range list.Groups {
		all = append(all, shownOf(room, g.Mail)...)
	}
	numbers, least := a.number(room, all), leastPrefix(all)
	last := mail.StuckKind("")
	for i := range list.Groups {
		g := &list.Groups[i]
		if g.Kind != last {
			last = g.Kind
			a.Out.Line("%s", a.Out.Bold(stuckTitle(g.Kind)))
		}
		if err := a.showStuckGroup(ctx, svc, g, numbers[:len(g.Mail)], least); err != nil {
			return err
		}
		numbers = numbers[len(g.Mail):]
	}
	for _, k := range mail.StuckKinds() {
		n := 0
		for i := range list.Groups {
			if list.Groups[i].Kind == k {
				n++
			}
		}
		if rest := list.Kinds[k] - n; rest > 0 {
			a.Out.Line("%s", a.Out.Dim(wording.Plural(rest, "more group")+" of "+string(k)+": "+
				a.Onward("limit", "1000")))
		}
	}
	return nil
}

func (a *app) showStuckGroup(ctx context.Context, svc mail.Service, g *mail.StuckGroup, numbers []string,
	least int) error {
	switch g.Kind {
	case mail.StuckAsking:
		a.showStuckAsking(g, numbers, least)
		return nil
	case mail.StuckClaim:
		a.showStuckClaim(g)
		return nil
	}
	d := g.Mail[0].Deliveries[0]
	ag, _, err := mail.OneAgent(ctx, svc, d.Agent)
	if err != nil {
		return err
	}
	count := wording.Plural(g.Count, "message")
	if g.More {
		count = strconv.Itoa(g.Count) + " messages or more"
	}
	why, mends := a.whyStuck(g, &ag, d)
	a.Out.Line("  %s: %s, the first of %s. %s", a.Out.Bold(cli.Addressees([]mail.Address{g.For})), count,
		a.Out.Moment(g.Since), why)
	a.showStuckMail(g, numbers, least)
	for _, m := range mends {
		a.Out.Line("    → %s", a.Out.Bold(m))
	}
	return nil
}

// showStuckAsking prints an agent that is at a dialog, and its waiting mail.
func (a *app) showStuckAsking(g *mail.StuckGroup, numbers []string, least int) {
	a.Out.Line("  %s: since %s. %s for it.", a.Out.Bold(cli.Addressees([]mail.Address{g.For})), a.Out.Moment(g.Since),
		wording.Plural(g.Count, "unread message"))
	a.showStuckMail(g, numbers, least)
	a.Out.Line("    → %s", a.Out.Bold("pennypost dialogs"))
}

// showStuckClaim prints an agent that waits for claims, and the command that frees each.
func (a *app) showStuckClaim(g *mail.StuckGroup) {
	for i := range g.Claims {
		h := &g.Claims[i].Held
		a.Out.Line("  %s waits for %s, %s", a.Out.Bold(cli.Addressees([]mail.Address{g.For})),
			cli.OneLine(g.Claims[i].Wanted.String()), a.heldBy(h))
		a.Out.Line("    → %s", a.Out.Bold("pennypost claims release --of "+cli.Quoted(string(h.Agent))+" "+
			cli.Quoted(h.Target.String())))
	}
	if len(g.Circle) > 0 {
		a.Out.Line("    They wait in a circle: %s", cli.Joined(g.Circle, " → "))
	}
}

// heldBy says who holds a claim, since when and why.
func (a *app) heldBy(h *mail.Holding) string {
	text := "which " + cli.OneLine(string(h.Agent)) + " has claimed since " + a.Out.Moment(h.Since)
	if h.Why != "" {
		text += ", for: " + cli.OneLine(h.Why)
	}
	return text
}

// showStuckMail lists the mail of a group.
func (a *app) showStuckMail(g *mail.StuckGroup, numbers []string, least int) {
	rows := make([][]string, len(g.Mail))
	for i := range g.Mail {
		it := &g.Mail[i]
		rows[i] = []string{"   ", numbers[i], string(it.ID), string(it.Type), cli.Sender(&it.Message, a.nameWidth()),
			a.Out.Ago(it.Sent), a.headline(it)}
	}
	a.Out.List(rows, mailSteps(least), 5)
}

// whyStuck says why a group does not move, by its first message, and the commands that help.
func (a *app) whyStuck(g *mail.StuckGroup, ag *mail.Agent, d mail.Delivery) (why string, mends []string) {
	const tell = "to tell the sender: pennypost reply NUMBER TEXT"
	attach := "pennypost attach " + cli.Quoted(string(ag.Name))
	state := "It is " + string(ag.State)
	if ag.Since != 0 {
		state += " since " + a.Out.Moment(ag.Since)
	}
	switch {
	case g.Kind == mail.StuckHeld:
		return "It does not expire.", []string{"pennypost agents update NAME --role " + cli.Quoted(g.For.Value())}
	case g.Kind == mail.StuckExpired:
		return "It stays in the history.", []string{tell}
	case g.Kind == mail.StuckDead && ag.Name == "":
		return "It is no longer on the roster.", []string{tell}
	case g.Kind == mail.StuckDead:
		return state + ". If it returns, it gets them.", []string{attach, tell}
	case ag.State == mail.Frozen:
		return state + ".", []string{"pennypost agents update " + cli.Quoted(string(ag.Name)) + " --state idle"}
	case d.Wake == mail.WakeAway:
		return "It is on " + string(d.Machine) + ", which is away. It is woken when that machine returns.",
			[]string{tell}
	case d.Wake == mail.WakeNoDoor && ag.State != mail.Gone:
		mends = []string{"pennypost doctor", attach}
		client := config.BareClient(ag.Client)
		if _, err := install.Find(client); err == nil {
			mends = append([]string{"pennypost install " + client}, mends...)
		}
		return state + ", and cannot be woken. It sees its mail when its next turn begins.", mends
	}
	return a.whyAsleep(d, state, attach, tell)
}

// whyAsleep says why an agent that could be woken has not looked at a message.
func (a *app) whyAsleep(d mail.Delivery, state, attach, tell string) (why string, mends []string) {
	switch mends = []string{attach}; {
	case d.Wake == mail.WakeTurnEnd:
		return state + ", and looks when its turn ends.", mends
	case d.Wake == mail.WakeNoDoor:
		return state + ", and no way to wake it is known.", mends
	case d.Wake == mail.WakeDeferred:
		return "Ringing it had no effect; it is not rung before " + d.PutOff.Std().Local().Format("15:04") + ".",
			mends
	case d.Wake == mail.WakeBroken:
		return "Its turn was interrupted; it is not rung before " + d.PutOff.Std().Local().Format("15:04:05") + ".",
			mends
	case d.State == mail.Notified && d.Door == mail.HookDoor:
		return "Its client got this at " + a.Out.Moment(d.At) + ", but has not shown it in a turn " +
			"since.", mends
	case d.State == mail.Notified:
		return "It was rung through " + cli.OneLine(d.Door) + " at " + a.Out.Moment(d.At) + ", and has not looked.",
			mends
	case d.Machine != "":
		return "It is on " + string(d.Machine) + ", whose post office wakes it. That has not worked yet.",
			[]string{tell}
	}
	return "It can be woken through " + cli.OneLine(d.Wake) + ", but that has not worked yet.", mends
}
