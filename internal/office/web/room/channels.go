package room

import (
	"cmp"
	"slices"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/words"
)

// channelsPage is the list of channels and agent threads, and the open one.
type channelsPage struct {
	*page.View
	Groups []page.Group[channel]
	More   int // agents not listed
	Open   *channelPage
}

// channel is an address of several agents, or one agent, and its recent mail.
type channel struct {
	*page.View
	Address mail.Address
	Count   int        // among the room's latest messages
	Last    *mail.Item // the last of them
	State   mail.State // for an agent
	Chosen  bool
}

// channelPage is one channel with its conversation.
type channelPage struct {
	*page.View
	channel
	Audience []agentRow // carriers of the tag, holders of the role, or the agent; truncated
	Others   int        // how many more there are
	Held     int        // for a role: how many messages wait for a holder
	Talk     *talk
	Writing  page.Box
}

// channels shows the list of channels and, if the path names one, its conversation.
func channels(v *page.View) error {
	v.Place, v.Title = "channels", "Channels"
	p := &channelsPage{View: v}
	if v.Svc == nil {
		return v.Render("channels", p)
	}
	if address := v.R.PathValue("address"); address != "" {
		a, err := channelAddress(address)
		if err != nil {
			return err
		}
		if name := mail.Name(a.Value()); a.Kind() == mail.ToAgent {
			if _, there, err := mail.OneAgent(v.Ctx(), v.Svc, name); err != nil {
				return err
			} else if !there {
				return formerAgent(v, name)
			}
		}
		p.Open = &channelPage{View: v, channel: channel{View: v, Address: a}}
		v.Title = p.Open.Name()
		if err := p.Open.fill(); err != nil {
			return err
		}
	}
	if p.Open == nil || !v.Partial("talk") && !v.Partial("writing") && !v.Partial("audience") {
		if err := p.list(); err != nil {
			return err
		}
	}
	return v.Render("channels", p, "channels", "talk", "audience", "writing")
}

// channelAddress checks the address of a channel. The room knows tags in configured namespaces.
func channelAddress(text string) (mail.Address, error) {
	ns, _, _ := strings.Cut(text, ":")
	a, bare, err := mail.ParseAddress(text, append(mail.TagNamespaces(), ns))
	switch {
	case err != nil:
		return "", err
	case bare, a == mail.ToUser, a.Kind() == mail.FromFar:
		return "", mail.Errorf(mail.NotFound,
			"%q is not a channel: channels are all, role:NAME, tags such as project:NAME, and agent:NAME", text)
	}
	return a, nil
}

// list fills the list of channels: those with agents in them and those with recent mail. It also lists agents with
// recent mail, and other live agents.
func (p *channelsPage) list() error {
	agents, err := mail.Roster(p.Ctx(), p.Svc)
	if err != nil {
		return err
	}
	got, err := p.Svc.History(p.Ctx(), mail.HistoryQuery{BySent: true, Limit: mail.MaxLimit})
	if err != nil {
		return err
	}
	found := map[mail.Address]channel{mail.ToAll: {}}
	states := make(map[mail.Address]mail.State, len(agents))
	for _, a := range agents {
		for _, role := range a.Roles {
			found[mail.RoleAddress(role)] = channel{}
		}
		for _, tag := range a.Tags {
			found[mail.Address(tag)] = channel{}
		}
		states[mail.Address("agent:"+a.Name)] = a.State
	}
	for i := range got.Messages {
		for _, a := range spokenIn(&got.Messages[i], states) {
			found[a] = channel{Count: found[a].Count + 1, Last: &got.Messages[i]}
		}
	}
	kinds := make(map[mail.Kind][]channel)
	for a, c := range found {
		c.Address = a
		kinds[a.Kind()] = append(kinds[a.Kind()], c)
	}
	kinds[mail.ToAgent] = threads(kinds[mail.ToAgent], agents, p.Open)
	for i, c := range kinds[mail.ToAgent] {
		kinds[mail.ToAgent][i].State = states[c.Address]
	}
	p.More = len(agents) - len(kinds[mail.ToAgent])
	p.group(kinds)
	return nil
}

// spokenIn returns the channels and threads that list a message. Threads exist for agents on the roster, which are
// the keys of states.
func spokenIn(it *mail.Item, states map[mail.Address]mail.State) (in []mail.Address) {
	if states[it.From] != "" {
		in = append(in, it.From)
	}
	for _, a := range it.To {
		switch a.Kind() {
		case mail.ToEveryone, mail.ToRole, mail.ToTag:
			if !page.Elsewhere(a) {
				in = append(in, a)
			}
		case mail.ToAgent:
			if states[a] != "" && a != it.From {
				in = append(in, a)
			}
		}
	}
	return in
}

// maxThreads limits the agents in the list.
const maxThreads = 50

// threads returns the agents to list: the open one, those with the latest mail and, while there is room, other live
// agents.
func threads(said []channel, agents []mail.Agent, open *channelPage) []channel {
	slices.SortFunc(said, func(a, b channel) int {
		return cmp.Or(cmp.Compare(b.Last.Sent, a.Last.Sent), mail.CompareNames(a.Address, b.Address))
	})
	out := said[:min(len(said), maxThreads)]
	add := func(a mail.Address) {
		if !slices.ContainsFunc(out, func(c channel) bool { return c.Address == a }) {
			out = append(out, channel{Address: a})
		}
	}
	for i := 0; i < len(agents) && len(out) < maxThreads; i++ {
		if agents[i].State.Live() {
			add(mail.Address("agent:" + agents[i].Name))
		}
	}
	if open != nil && open.IsAgent() {
		add(open.Address)
	}
	return out
}

// group sorts channels into all agents, tags, roles and agents; each by name, so that none moves while the user reads.
func (p *channelsPage) group(kinds map[mail.Kind][]channel) {
	for _, kind := range []struct {
		mail.Kind
		name string
	}{{mail.ToEveryone, "Everyone"}, {mail.ToTag, "Tags"}, {mail.ToRole, "Roles"}, {mail.ToAgent, "Agents"}} {
		list := kinds[kind.Kind]
		if len(list) == 0 {
			continue
		}
		for i := range list {
			list[i].View, list[i].Chosen = p.View, p.Open != nil && p.Open.Address == list[i].Address
		}
		slices.SortFunc(list, func(a, b channel) int {
			return mail.CompareNames(a.Address.Value(), b.Address.Value())
		})
		p.Groups = append(p.Groups, page.Group[channel]{Name: kind.name, Rows: list})
	}
}

// maxAudience limits the members of an audience that are named.
const maxAudience = 30

// fill loads the parts of the channel that the response shows.
func (c *channelPage) fill() error {
	q := mail.RosterQuery{Limit: maxAudience}
	switch c.Address.Kind() {
	case mail.ToEveryone: // mail to all also waits for absent agents
		q.States = mail.LiveStates()
	case mail.ToRole:
		q.Role = c.Address.Value()
	case mail.ToAgent:
		q.Name = mail.Name(c.Address.Value())
	default:
		q.Tag = string(c.Address)
	}
	audience, err := c.Svc.Agents(c.Ctx(), q)
	if err != nil {
		return err
	}
	for _, a := range audience.Agents {
		c.Audience = append(c.Audience, agentRow{View: c.View, Agent: a})
	}
	c.Others = audience.Total - len(c.Audience)
	path := c.ChannelHref(c.Address)
	if !c.Partial("channels") && !c.Partial("audience") && !c.Partial("writing") {
		ask := mail.HistoryQuery{To: string(c.Address)}
		if c.IsAgent() {
			ask = mail.HistoryQuery{Agent: mail.Name(c.Address.Value())}
		}
		if c.Talk, err = talkOf(c.View, ask, path); err != nil {
			return err
		}
	}
	if c.IsRole() {
		held, err := c.Svc.Stuck(c.Ctx(), mail.StuckQuery{Kind: mail.StuckHeld, For: c.Address, Mail: 1})
		if err != nil {
			return err
		}
		for _, g := range held.Groups {
			c.Held = g.Count
		}
	}
	c.Writing, err = writingTo(c.View, c.Address, path)
	return err
}

// IsAgent reports whether the channel is an agent's thread.
func (c *channel) IsAgent() bool { return c.Address.Kind() == mail.ToAgent }

// IsRole reports whether the channel is a role's. One holder takes each of its messages.
func (c *channel) IsRole() bool { return c.Address.Kind() == mail.ToRole }

// Name is the channel's name without its kind.
func (c *channel) Name() string {
	if c.Address.Kind() == mail.ToTag {
		return words.TagValue(string(c.Address))
	}
	return c.Address.Value()
}

// Sort is the namespace of a tag.
func (c *channel) Sort() string {
	if c.Address.Kind() == mail.ToTag {
		ns, _, _ := strings.Cut(string(c.Address), ":")
		return ns
	}
	return ""
}

// Heading is the subject of the last message.
func (c *channel) Heading() string { return words.Subject(&c.Last.Message) }

// ToRole reports whether the message went to a role, and so to one holder.
func (s said) ToRole() bool {
	return slices.ContainsFunc(s.To, func(a mail.Address) bool { return a.Kind() == mail.ToRole })
}

// Whom reports whether the message must name its recipients: it went to more than the channel.
func (s said) Whom() bool { return len(s.To) > 1 || s.Mixed }
