package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

const (
	ringTime   = 2 * time.Minute    // for an agent to look when a door was rung: what waits longer is stuck
	turnTime   = 15 * time.Minute   // for a turn to end, at which an agent looks
	noticeTime = 7 * 24 * time.Hour // how long a notice asks for somebody who does not dismiss it
)

// stuckSections are the kinds of groups, in the order in which they ask for somebody.
func stuckSections() []stuckSection {
	return []stuckSection{
		{Kind: "held", Title: "Nobody has the role", Why: "Kept until an agent takes the role. It does not expire."},
		{Kind: "dead", Title: "Dead letters",
			Why: "The reader is gone and never read them. If it comes back, it will find them."},
		{Kind: "waiting", Title: "Not looked at",
			Why: "This should have woken its reader, and the reader has not been shown the text."},
		{Kind: "expired", Title: "Expired unread",
			Why: "It expired before anybody had read it. It stays in the history."},
		{Kind: "notice", Title: "What the post office says", Why: "A limit was reached, or doors are rung in vain."},
		{Kind: "bridge", Title: "Bridges", Why: "The room and these files are not in step."},
		{Kind: "file", Title: "The room's file", Why: "Some of its lines could not be read."},
	}
}

// stuckGroups finds all that is stuck.
func (v *view) stuckGroups(agents []mail.Agent) ([]stuckSection, error) {
	c := &catch{view: v, agents: make(map[mail.Name]*mail.Agent), found: make(map[string]*stuckGroup),
		moving: make(map[mail.ID]bool)}
	for i := range agents {
		c.agents[agents[i].Name] = &agents[i]
	}
	for _, find := range []func() error{c.mail, c.notices, c.bridges} {
		if err := find(); err != nil {
			return nil, err
		}
	}
	c.file()
	sections := stuckSections()
	for i := range sections {
		for _, s := range c.found {
			if s.Kind == sections[i].Kind {
				sections[i].Groups = append(sections[i].Groups, s)
			}
		}
		slices.SortFunc(sections[i].Groups, func(a, b *stuckGroup) int {
			return cmp.Or(cmp.Compare(a.Since, b.Since), strings.Compare(a.Key(), b.Key()))
		})
	}
	return slices.DeleteFunc(sections, func(s stuckSection) bool { return len(s.Groups) == 0 }), nil
}

// catch gathers groups.
type catch struct {
	*view
	agents map[mail.Name]*mail.Agent
	found  map[string]*stuckGroup // by Key
	moving map[mail.ID]bool       // messages that somebody has yet to look at
}

// add puts a group among the others, or a message to the group that is there.
func (c *catch) add(s *stuckGroup, items ...*mail.Item) *stuckGroup {
	s.view = c.view
	if same := c.found[s.Key()]; same != nil {
		s = same
	}
	c.found[s.Key()] = s
	for _, it := range items {
		if s.Since == 0 || it.Sent < s.Since {
			s.Since = it.Sent
		}
		if n := len(s.Items); n == 0 || s.Items[n-1].ID != it.ID { // they come in order
			s.Items = append(s.Items, it)
		}
	}
	return s
}

// mail finds the messages that do not move.
func (c *catch) mail() error {
	q := mail.HistoryQuery{States: []mail.DeliveryState{mail.Queued, mail.Notified, mail.Held, mail.Expired,
		mail.Dead}, Limit: mail.MaxLimit}
	var items []mail.Item
	for more := true; more; {
		page, err := c.svc.History(c.ctx(), q)
		if err != nil {
			return err
		}
		items = append(page.Messages, items...)
		more, q.Before = page.More, page.Next
	}
	dealt, err := c.dealtWith(items)
	if err != nil {
		return err
	}
	for i := range items {
		for _, d := range items[i].Deliveries {
			c.delivery(&items[i], d, dealt[items[i].ID])
		}
	}
	return nil
}

// dealtWith returns which messages the user has answered or sent on: that they were not read is settled by that.
func (c *catch) dealtWith(items []mail.Item) (map[mail.ID]bool, error) {
	out := make(map[mail.ID]bool)
	lost := func(d mail.Delivery) bool { return d.State == mail.Dead || d.State == mail.Expired }
	i := slices.IndexFunc(items, func(it mail.Item) bool { return slices.ContainsFunc(it.Deliveries, lost) })
	if i < 0 {
		return out, nil
	}
	q := mail.HistoryQuery{From: string(mail.ToUser), After: items[i].Seq, Limit: mail.MaxLimit}
	for more := true; more; {
		page, err := c.svc.History(c.ctx(), q)
		if err != nil {
			return nil, err
		}
		for i := range page.Messages {
			out[page.Messages[i].ReplyTo] = true
		}
		more, q.After = page.More, page.Next
	}
	return out, nil
}

// delivery judges one message at one recipient. What the post office itself wrote, and what is for the user, the inbox
// has. What asked and is settled need not move.
func (c *catch) delivery(it *mail.Item, d mail.Delivery, dealt bool) {
	if d.Agent == mail.User || it.From == mail.FromSystem || it.Settled != nil {
		return
	}
	switch d.State {
	case mail.Held:
		c.moving[it.ID] = true
		c.add(&stuckGroup{Kind: "held", Who: d.Address, Why: c.whyHeld(d)}, it)
	case mail.Dead:
		if !dealt {
			c.add(&stuckGroup{Kind: "dead", Who: mail.AgentAddress(d.Agent), Why: c.whyDead(d.Agent)}, it)
		}
	case mail.Expired:
		if !dealt && !seenByAny(it) {
			c.add(&stuckGroup{Kind: "expired", Who: d.Address, Why: c.whyExpired(d)}, it)
		}
	case mail.Queued, mail.Notified:
		c.waiting(it, d)
	}
}

// seenByAny reports whether somebody of a message's audience has seen it: then it is no loss that it expired for
// others.
func seenByAny(it *mail.Item) bool {
	return slices.ContainsFunc(it.Deliveries, func(d mail.Delivery) bool {
		return d.State == mail.Presented || d.State == mail.Read || d.State == mail.Archived
	})
}

// waiting judges mail that has a reader who could look at it. What wakes nobody may wait.
func (c *catch) waiting(it *mail.Item, d mail.Delivery) {
	if d.Agent == "" || d.Wake == mail.WakeNone || d.Wake == mail.WakeWaiting {
		return
	}
	c.moving[it.ID] = true
	why := c.whyWaiting(it, d)
	if why == "" {
		return
	}
	s := c.add(&stuckGroup{Kind: "waiting", Who: mail.AgentAddress(d.Agent), Why: why}, it)
	switch a := c.agents[d.Agent]; {
	case a.State == mail.Frozen:
		s.Frozen = a.Name
	case d.Wake == mail.WakeNoDoor && a.State == mail.Idle:
		s.Commands = doorCommands(a)
	}
}

// whyWaiting says why a message that should have made an agent look has not, or "" if that is not to be expected yet.
func (c *catch) whyWaiting(it *mail.Item, d mail.Delivery) string {
	a := c.agents[d.Agent]
	waits := c.Now.Sub(it.Sent.Std())
	switch {
	case a == nil:
		return ""
	case a.State == mail.Frozen:
		return "It is paused" + c.since(a) + ". Its mail waits and does not expire."
	case d.Wake == mail.WakeTurnEnd && waits < turnTime:
		return ""
	case d.Wake == mail.WakeTurnEnd:
		return "It has been working" + c.since(a) + ", and looks when its turn ends."
	case d.Wake == mail.WakeNoDoor && a.State == mail.Gone:
		return "It is gone" + c.since(a) + ", and no door is known that could bring it back."
	case d.Wake == mail.WakeNoDoor:
		return "It is idle" + c.since(a) + ", and no door is known. It looks when its next turn begins."
	case d.State == mail.Notified && c.Now.Sub(d.At.Std()) >= ringTime:
		return "It was rung through " + d.Door + " at " + clock(d.At) + ", and has not looked."
	case d.State == mail.Queued && waits >= ringTime:
		return "It could be woken through " + d.Wake + ", and that has not worked yet."
	}
	return ""
}

func (c *catch) whyHeld(d mail.Delivery) string {
	role := d.Address.Value()
	var gone []string
	for _, a := range c.agents {
		if slices.Contains(a.Roles, role) {
			gone = append(gone, string(a.Name))
		}
	}
	slices.Sort(gone)
	why := "No agent has the role " + role + "."
	if len(gone) > 0 {
		why = fmt.Sprintf("The holders of the role are gone: %s.", strings.Join(gone, ", "))
	}
	if d.Wake != mail.WakeNone && d.Wake != mail.WakeNoDoor {
		why += " One is called through " + d.Wake + "."
	}
	return why
}

func (c *catch) whyDead(n mail.Name) string {
	if a := c.agents[n]; a != nil {
		return "It is gone" + c.since(a) + ", and never read this."
	}
	return "It is no longer on the roster, and never read this."
}

func (c *catch) whyExpired(d mail.Delivery) string {
	if d.Agent == "" {
		return "Nobody was in the audience before it expired."
	}
	if d.Address.Kind() == mail.ToAgent {
		return "It was not read in time."
	}
	return "Nobody in the audience read it in time."
}

// since says since when an agent is in its state.
func (c *catch) since(a *mail.Agent) string {
	if a.Since == 0 {
		return ""
	}
	return " since " + moment(c.Now, a.Since)
}

// doorCommands are what gives an agent a door. These are the clients that pennypost install knows.
func doorCommands(a *mail.Agent) []string {
	switch name := client(a.Client); name {
	case "claude", "cline", "codex", "copilot", "cursor", "gemini", "goose", "opencode", "pi", "qwen", "vscode",
		"windsurf":
		return []string{"pennypost install " + name, "pennypost doctor"}
	}
	return []string{"pennypost doctor"}
}

// noticed is what the post office says in the metadata of its notices to the user.
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

// notices finds what the post office told the user and is still so, until the user archives it.
func (c *catch) notices() error {
	page, err := c.svc.Inbox(c.ctx(), mail.InboxQuery{All: true, Newest: true, From: string(mail.FromSystem),
		Limit: mail.MaxLimit})
	if err != nil {
		return err
	}
	for i := range page.Messages {
		it := &page.Messages[i]
		if c.Now.Sub(it.Sent.Std()) > noticeTime {
			break
		}
		c.notice(it)
	}
	return nil
}

// notice adds one notice: to the mail that it tells of, if that is stuck, else for itself.
func (c *catch) notice(it *mail.Item) {
	var n noticed
	_ = jsonx.Unmarshal(it.Metadata, &n) // most have none
	agent, about := mail.Name(""), []mail.ID(nil)
	switch {
	case n.Wake != nil:
		agent, about = n.Wake.Agent, n.Wake.Messages
	case n.Turn != nil:
		agent, about = n.Turn.Agent, n.Turn.Messages
	case n.Budget != nil && n.Budget.Until.Std().Before(c.Now):
		return
	}
	if len(about) > 0 && !slices.ContainsFunc(about, func(id mail.ID) bool { return c.moving[id] }) {
		return // it has looked since
	}
	s := c.found[(&stuckGroup{Kind: "waiting", Who: mail.AgentAddress(agent)}).Key()]
	if agent == "" || s == nil {
		s = c.add(&stuckGroup{Kind: "notice", Notice: it.ID, Title: subject(&it.Message), Why: firstLine(it.Body),
			Since: it.Sent})
	}
	if s.Notice == "" {
		s.Notice = it.ID
	}
	if n.Wake != nil && s.Doors == nil {
		s.Doors = n.Wake.Doors
	}
}

// bridges finds those that fail, or do not understand something.
func (c *catch) bridges() error {
	all, err := c.svc.Bridges(c.ctx())
	if err != nil {
		return err
	}
	for _, b := range all {
		s := &stuckGroup{Kind: "bridge", Bridge: b.ID, Title: b.ID,
			Commands: []string{c.command("bridge sync " + b.ID)}}
		switch {
		case b.Failing != "":
			s.Why, s.Since = b.Failing+".", b.Since
		case b.Rejected > 0:
			s.Why = plural(b.Rejected, "piece") + " of its files cannot be understood, and stay where they are."
		default:
			continue
		}
		s.Why += " The files are below " + b.Dir
		c.add(s)
	}
	return nil
}

// file tells what is wrong with the room's files.
func (c *catch) file() {
	for i := range c.Rooms {
		st := &c.Rooms[i]
		if st.Name != c.Room {
			continue
		}
		if st.Trouble != "" {
			c.add(&stuckGroup{Kind: "file", Title: "The room takes no mail", Commands: []string{"pennypost doctor"},
				Why: st.Trouble})
		}
		if st.Missing > 0 {
			c.add(&stuckGroup{Kind: "file", Title: plural(st.Missing, "line") + " missing",
				Commands: []string{c.command("verify")},
				Why: "They were in the room's journal, and were gone when it was opened. Verify says which, and " +
					"whose."})
		}
		if st.Rejected > 0 {
			c.add(&stuckGroup{Kind: "file", Title: plural(st.Rejected, "line") + " set aside",
				Commands: []string{c.command("verify")},
				Why:      "They are kept byte for byte in files of their own, beside the room's journal."})
		}
	}
}

// command is what to type in a terminal about this room.
func (v *view) command(words string) string {
	return "pennypost --room " + string(v.Room) + " " + words
}
