package room

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/waits"
	"pennypost/internal/office/web/words"
)

const (
	noticeTime  = 7 * 24 * time.Hour // how long a notice that is not dismissed is listed
	mostNotices = 100                // the newest notices examined
)

// stuckSections returns the kinds of groups, most urgent first.
func stuckSections() []stuckSection {
	return []stuckSection{
		{Kind: string(mail.StuckAsking), Title: "Asking you",
			Why: "They continue once you answer, here or in their terminals."},
		{Kind: string(mail.StuckClaim), Title: "Waiting for a claim",
			Why: "They are told when it is free. If you free it, its holder is told too."},
		{Kind: string(stuckCircle), Title: "Waiting in a circle",
			Why: "None of them can continue without the others."},
		{Kind: "held", Title: "No agent has the role", Why: "Held until an agent takes the role. It does not expire."},
		{Kind: "dead", Title: "Dead letters",
			Why: "The recipient is gone and never read them. It gets them if it returns."},
		{Kind: "waiting", Title: "Not seen",
			Why: "This should have woken its recipient, which has not been shown the text."},
		{Kind: string(stuckUnanswered), Title: "Long unanswered",
			Why: "Seen by its recipient, and not answered for " + words.Lasting(waits.LongWait) +
				". Questions to you are in the inbox."},
		{Kind: "expired", Title: "Expired unread",
			Why: "It expired before it was read. It stays in the history."},
		{Kind: "notice", Title: "Notices of the post office",
			Why: "A limit was reached, or waking an agent had no effect."},
		{Kind: "bridge", Title: "Bridges", Why: "The room and these files are not in sync."},
		{Kind: "erased", Title: "Not erased everywhere", Why: "A machine has not erased it yet."},
		{Kind: "file", Title: "The room's file", Why: "Some of its lines could not be read."},
	}
}

// stuckGroups finds the stuck groups, with at most the mail that q asks for.
func stuckGroups(v *page.View, q mail.StuckQuery) ([]stuckSection, error) {
	c := &catch{View: v, found: make(map[string]*stuckGroup), totals: make(map[string]int)}
	if err := c.all(q); err != nil {
		return nil, err
	}
	sections := stuckSections()
	for i := range sections {
		kind := sections[i].Kind
		for _, s := range c.found {
			if s.Kind == kind && (q.Kind == "" || kind == string(q.Kind)) {
				sections[i].Groups = append(sections[i].Groups, s)
			}
		}
		groups := sections[i].Groups
		sections[i].Total = max(len(groups), c.totals[kind])
		slices.SortFunc(groups, func(a, b *stuckGroup) int {
			return cmp.Or(cmp.Compare(a.Since, b.Since), mail.CompareNames(a.Key(), b.Key()))
		})
		if kind := mail.StuckKind(kind); kind == mail.StuckAsking || ofWaits(kind) {
			sections[i].Groups = groups[:min(len(groups), q.Limit)]
		}
	}
	return slices.DeleteFunc(sections, func(s stuckSection) bool { return len(s.Groups) == 0 }), nil
}

// catch collects groups.
type catch struct {
	*page.View
	found  map[string]*stuckGroup // by Key
	totals map[string]int         // by kind: groups of mail
}

// all finds the groups that q asks for, and perhaps more.
func (c *catch) all(q mail.StuckQuery) error {
	switch {
	case q.Kind == mail.StuckAsking:
		c.dialogs()
		return c.mail(mail.StuckQuery{Limit: q.Limit, Mail: q.Mail})
	case ofWaits(q.Kind):
		return c.waits()
	case q.Kind != "":
		return c.mail(q)
	}
	if err := c.mail(q); err != nil {
		return err
	}
	if err := cmp.Or(c.notices(), c.bridges(), c.waits()); err != nil {
		return err
	}
	c.dialogs()
	c.room()
	return nil
}

// add records a group.
func (c *catch) add(s *stuckGroup) *stuckGroup {
	s.View = c.View
	c.found[s.Key()] = s
	return s
}

// mail finds the stuck messages.
func (c *catch) mail(q mail.StuckQuery) error {
	list, err := c.Svc.Stuck(c.Ctx(), q)
	if err != nil {
		return err
	}
	for kind, n := range list.Kinds {
		c.totals[string(kind)] = n
	}
	for i := range list.Groups {
		if err := c.group(&list.Groups[i]); err != nil {
			return err
		}
	}
	return nil
}

// group adds the mail of one kind for one reader. The reason comes from its first message.
func (c *catch) group(g *mail.StuckGroup) error {
	switch g.Kind {
	case mail.StuckClaim:
		c.claims(g)
		return nil
	case mail.StuckAsking:
		s := c.asking(g.For, g.Since)
		s.Items, s.Count, s.Many = g.Mail, g.Count, g.More
		return nil
	}
	s := c.add(&stuckGroup{Kind: string(g.Kind), Who: g.For, Since: g.Since, Items: g.Mail, Count: g.Count,
		Many: g.More})
	d := g.Mail[0].Deliveries[0]
	if g.Kind == mail.StuckHeld {
		var err error
		s.Why, err = c.whyHeld(d)
		return err
	}
	a, _, err := mail.OneAgent(c.Ctx(), c.Svc, d.Agent)
	switch g.Kind {
	case mail.StuckDead:
		s.Why = c.whyDead(&a)
	case mail.StuckExpired:
		s.Why = whyExpired(d)
	case mail.StuckWaiting:
		s.Why = c.whyWaiting(&a, d)
		if a.State == mail.Frozen {
			s.Frozen = a.Name
		} else if d.Wake == mail.WakeNoDoor && a.State == mail.Idle {
			s.Commands = doorCommands(&a)
		}
	}
	return err
}

// whyWaiting explains why an agent has not looked at a message that should have woken it.
func (c *catch) whyWaiting(a *mail.Agent, d mail.Delivery) string {
	switch {
	case a.State == mail.Frozen:
		return "It has been paused" + c.since(a) + ". Its mail waits and does not expire."
	case d.Wake == mail.WakeAway:
		return "It is on " + string(d.Machine) + ", which is offline. It is woken when that machine returns."
	case d.Wake == mail.WakeTurnEnd && a.State == mail.Asking:
		return "It has been at a dialog of its client" + c.since(a) + " and looks once you have answered it."
	case d.Wake == mail.WakeTurnEnd:
		return "It has been working" + c.since(a) + " and looks when its turn ends."
	case d.Wake == mail.WakeNoDoor && a.State == mail.Gone:
		return "It has been gone" + c.since(a) + ", and there is no known way to start it again."
	case d.Wake == mail.WakeNoDoor:
		return "It has been idle" + c.since(a) + " and cannot be woken. It sees this when its next turn begins."
	case d.Wake == mail.WakeDeferred:
		return "Waking it had no effect. It is not woken again before " + words.Clock(d.PutOff) + "."
	case d.Wake == mail.WakeBroken:
		return "Its turn was interrupted. It is not woken before " + words.Clock(d.PutOff) + "."
	case d.State == mail.Notified && d.Door == mail.HookDoor:
		return "Its client was given this at " + words.Clock(d.At) + ", but no turn has shown it since."
	case d.State == mail.Notified:
		return "It was woken by " + d.Door + " at " + words.Clock(d.At) + " but has not looked."
	}
	return "It is being woken " + by(d) + ", without success so far."
}

// by names the door, or the machine, of a wake.
func by(d mail.Delivery) string {
	if d.Machine != "" {
		return "on " + string(d.Machine)
	}
	return "by " + d.Wake
}

// mostHolders limits the former holders of a role that are named.
const mostHolders = 5

func (c *catch) whyHeld(d mail.Delivery) (string, error) {
	role := d.Address.Value()
	holders, err := c.Svc.Agents(c.Ctx(), mail.RosterQuery{Role: role, Limit: mostHolders})
	if err != nil {
		return "", err
	}
	why := "No agent has the role " + role + "."
	if holders.Total > 0 {
		var gone []string
		for i := range holders.Agents {
			gone = append(gone, string(holders.Agents[i].Name))
		}
		why = "The holders of the role are gone: " + strings.Join(gone, ", ")
		if n := holders.Total - len(gone); n > 0 {
			why += fmt.Sprintf(" and %d more", n)
		}
		why += "."
	}
	switch d.Wake {
	case mail.WakeNone:
	case mail.WakeAway:
		why += " One of them is on " + string(d.Machine) + ", which is offline."
	case mail.WakeDeferred:
		why += " Waking one of them had no effect, and none is woken again before " + words.Clock(d.PutOff) + "."
	default:
		why += " One of them is being woken " + by(d) + "."
	}
	return why, nil
}

func (c *catch) whyDead(a *mail.Agent) string {
	if a.Name != "" {
		return "It has been gone" + c.since(a) + " and never read this."
	}
	return "It is no longer on the roster and never read this."
}

func whyExpired(d mail.Delivery) string {
	if d.Address.Kind() == mail.ToAgent {
		return "It was not read in time."
	}
	return "No recipient read it in time."
}

// since says how long an agent has been in its state.
func (c *catch) since(a *mail.Agent) string {
	if a.Since == 0 {
		return ""
	}
	return " since " + words.Moment(c.Now, a.Since)
}

// doorCommands are the commands that give an agent a door. The listed clients are those pennypost install knows.
func doorCommands(a *mail.Agent) []string {
	switch name := config.BareClient(a.Client); name {
	case "agy", "claude", "cline", "codex", "copilot", "cursor", "gemini", "goose", "opencode", "pi", "qwen",
		"vscode", "windsurf":
		return []string{"pennypost install " + name, "pennypost doctor"}
	}
	return []string{"pennypost doctor"}
}

// noticed is the metadata of a notice to the user.
type noticed struct {
	Wake *struct {
		Agent    mail.Name    `json:"agent"`
		Messages []mail.ID    `json:"messages"`
		Doors    []doorReport `json:"doors"`
	} `json:"wake"`
	Turn *struct {
		Agent    mail.Name `json:"agent"`
		Messages []mail.ID `json:"messages"`
	} `json:"turn"`
	Budget *struct {
		Until mail.Time `json:"until"`
	} `json:"wake_budget"`
}

// notices finds the unarchived notices that still hold.
func (c *catch) notices() error {
	got, err := c.Svc.Inbox(c.Ctx(), mail.InboxQuery{All: true, Newest: true, From: string(mail.FromSystem),
		Limit: mostNotices})
	if err != nil {
		return err
	}
	for i := range got.Messages {
		it := &got.Messages[i]
		if c.Now.Sub(it.Sent.Std()) > noticeTime {
			break
		}
		if err := c.notice(it); err != nil {
			return err
		}
	}
	return nil
}

// anyMoves reports whether a recipient has not yet looked at one of the messages.
func (c *catch) anyMoves(ids []mail.ID) (bool, error) {
	for _, id := range ids {
		it, err := c.Svc.Message(c.Ctx(), id)
		if mail.CodeOf(err) == mail.NotFound {
			continue // erased meanwhile
		}
		if err != nil {
			return false, err
		}
		if it.Settled == nil && slices.ContainsFunc(it.Deliveries, func(d mail.Delivery) bool {
			return d.State == mail.Held || d.Agent != mail.User && d.Wake != mail.WakeNone &&
				d.Wake != mail.WakeWaiting &&
				(d.State == mail.Queued || d.State == mail.Notified)
		}) {
			return true, nil
		}
	}
	return false, nil
}

// notice adds a notice to the stuck mail that it is about or, if there is none, as its own group.
func (c *catch) notice(it *mail.Item) error {
	var n noticed
	_ = jsonx.Unmarshal(it.Metadata, &n) // most have none
	agent, about := mail.Name(""), []mail.ID(nil)
	switch {
	case n.Wake != nil:
		agent, about = n.Wake.Agent, n.Wake.Messages
	case n.Turn != nil:
		agent, about = n.Turn.Agent, n.Turn.Messages
	case n.Budget != nil && n.Budget.Until.Std().Before(c.Now):
		return nil
	}
	if len(about) > 0 {
		if moves, err := c.anyMoves(about); err != nil || !moves {
			return err // it has looked meanwhile
		}
	}
	s := c.found[(&stuckGroup{Kind: "waiting", Who: mail.AgentAddress(agent)}).Key()]
	if agent == "" || s == nil {
		s = c.add(&stuckGroup{Kind: "notice", Notice: it.ID, Title: words.Subject(&it.Message),
			Why:   words.FirstLine(it.Body),
			Since: it.Sent})
	}
	if s.Notice == "" {
		s.Notice = it.ID
	}
	if n.Wake != nil && s.Doors == nil {
		s.Doors = n.Wake.Doors
	}
	return nil
}

// bridges finds bridges that fail or have rejected input.
func (c *catch) bridges() error {
	all, err := c.Svc.Bridges(c.Ctx())
	if err != nil {
		return err
	}
	for _, b := range all {
		s := &stuckGroup{Kind: "bridge", Bridge: b.ID, Title: b.ID,
			Commands: []string{command(c.View, "bridge sync "+b.ID)}}
		switch {
		case b.Failing != "":
			s.Why, s.Since = b.Failing+".", b.Since
		case b.Rejected > 0:
			s.Why = wording.Plural(b.Rejected, "piece") + " of its files cannot be understood and stay " +
				"there."
			s.Commands = []string{command(c.View, "bridge list --rejected")}
		default:
			continue
		}
		s.Why += " The files are in " + b.Dir
		c.add(s)
	}
	return nil
}

// room adds the faults of the room itself.
func (c *catch) room() {
	i := slices.IndexFunc(c.Rooms, func(r mail.RoomStatus) bool { return r.Name == c.Room })
	if i < 0 {
		return
	}
	st := &c.Rooms[i]
	for _, e := range st.Erasing {
		g := c.add(&stuckGroup{Kind: "erased", Title: string(e.Message),
			Why: "It is hidden everywhere, but " + e.Why() + "."})
		for _, m := range e.Machines {
			g.Commands = append(g.Commands, "pennypost machines remove "+string(m))
		}
	}
	if st.Trouble != "" {
		c.add(&stuckGroup{Kind: "file", Title: "The room takes no mail", Commands: []string{"pennypost doctor"},
			Why: st.Trouble})
	}
	if st.Missing > 0 {
		c.add(&stuckGroup{Kind: "file", Title: wording.Plural(st.Missing, "line") + " missing",
			Commands: []string{command(c.View, "verify")},
			Why:      "They were in the room's journal but were missing when it was opened. Verify lists them."})
	}
	if st.Rejected > 0 {
		c.add(&stuckGroup{Kind: "file", Title: wording.Plural(st.Rejected, "line") + " set aside",
			Commands: []string{command(c.View, "verify")},
			Why:      "They are kept byte for byte in separate files beside the room's journal."})
	}
}

// command is a command line for this room.
func command(v *page.View, words string) string {
	return "pennypost --room " + string(v.Room) + " " + words
}
