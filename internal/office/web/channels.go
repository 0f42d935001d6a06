package web

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"pennypost/internal/mail"
)

// channelsPage is the channels, and the one that is open.
type channelsPage struct {
	*view
	Groups []channelGroup
	Open   *channelPage
}

// channelGroup is the channels of one kind.
type channelGroup struct {
	Name     string
	Channels []channel
}

// channel is an address of several agents, and what was lately sent to it.
type channel struct {
	*view
	Address mail.Address
	Count   int        // messages among the last of the room
	Last    *mail.Item // the last of them
	Chosen  bool
}

// channelPage is what was said in a channel.
type channelPage struct {
	*view
	channel
	Audience []agentRow // who carries the tag or holds the role now, or the first of them
	Others   int        // of them
	Held     int        // of a role: how much waits for a holder
	Talk     *talk
	Writing  box
}

// channels shows the list of channels and, if the path names one, what was said there.
func channels(v *view) error {
	v.Place, v.Title = "channels", "Channels"
	p := &channelsPage{view: v}
	if v.svc == nil {
		return v.render("channels", p)
	}
	if address := v.r.PathValue("address"); address != "" {
		a, err := channelAddress(address)
		if err != nil {
			return err
		}
		if a.Kind() == mail.ToAgent {
			return v.redirect(strings.TrimPrefix(v.AgentHref(a.Value()), v.Base))
		}
		p.Open = &channelPage{view: v, channel: channel{view: v, Address: a}}
		v.Title = p.Open.Name()
		if err := p.Open.fill(); err != nil {
			return err
		}
	}
	if p.Open == nil || !v.partial("talk") && !v.partial("writing") && !v.partial("audience") {
		if err := p.list(); err != nil {
			return err
		}
	}
	return v.render("channels", p, "channels", "talk", "audience", "writing")
}

// channelAddress checks the address of a channel. Tags of namespaces of the user's own are known to the room.
func channelAddress(text string) (mail.Address, error) {
	ns, _, _ := strings.Cut(text, ":")
	a, bare, err := mail.ParseAddress(text, append(mail.TagNamespaces(), ns))
	switch {
	case err != nil:
		return "", err
	case bare, a == mail.ToUser, a.Kind() == mail.FromFar:
		return "", mail.Errorf(mail.NotFound,
			"%q is not a channel: channels are all, role:NAME, and tags such as project:NAME", text)
	}
	return a, nil
}

// list fills the list of channels: those that agents are in, and those that were lately written to.
func (p *channelsPage) list() error {
	agents, err := mail.Roster(p.ctx(), p.svc)
	if err != nil {
		return err
	}
	page, err := p.svc.History(p.ctx(), mail.HistoryQuery{Limit: mail.MaxLimit})
	if err != nil {
		return err
	}
	found := map[mail.Address]*channel{mail.ToAll: {}}
	note := func(a mail.Address) *channel {
		if found[a] == nil {
			found[a] = &channel{}
		}
		return found[a]
	}
	for _, a := range agents {
		for _, role := range a.Roles {
			note(mail.RoleAddress(role))
		}
		for _, tag := range a.Tags {
			note(mail.Address(tag))
		}
	}
	for i := range page.Messages {
		for _, a := range page.Messages[i].To {
			if k := a.Kind(); k == mail.ToEveryone || k == mail.ToRole || k == mail.ToTag && !elsewhere(a) {
				c := note(a)
				c.Count++
				c.Last = &page.Messages[i]
			}
		}
	}
	p.group(found)
	return nil
}

// elsewhere reports whether an address leads to another room.
func elsewhere(a mail.Address) bool { return strings.Contains(string(a), "@") }

// group puts channels in order: everybody, tags, roles; each by name, so that none moves while one reads.
func (p *channelsPage) group(found map[mail.Address]*channel) {
	all := make([]channel, 0, len(found))
	for a, c := range found {
		c.view, c.Address, c.Chosen = p.view, a, p.Open != nil && p.Open.Address == a
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b channel) int {
		return cmp.Or(cmp.Compare(b.Address.Kind(), a.Address.Kind()),
			cmp.Compare(a.Address.Value(), b.Address.Value()))
	})
	for _, kind := range []struct {
		mail.Kind
		name string
	}{{mail.ToEveryone, "Everybody"}, {mail.ToTag, "Tags"}, {mail.ToRole, "Roles"}} {
		g := channelGroup{Name: kind.name}
		for _, c := range all {
			if c.Address.Kind() == kind.Kind {
				g.Channels = append(g.Channels, c)
			}
		}
		if len(g.Channels) > 0 {
			p.Groups = append(p.Groups, g)
		}
	}
}

// maxAudience is how many of an audience are named.
const maxAudience = 30

// fill fills what the answer is to show of the channel.
func (c *channelPage) fill() error {
	q := mail.RosterQuery{Limit: maxAudience}
	switch c.Address.Kind() {
	case mail.ToEveryone: // what is sent to all waits for those who are away, too
		q.States = []mail.State{mail.Working, mail.Idle}
	case mail.ToRole:
		q.Role = c.Address.Value()
	default:
		q.Tag = string(c.Address)
	}
	audience, err := c.svc.Agents(c.ctx(), q)
	if err != nil {
		return err
	}
	for _, a := range audience.Agents {
		c.Audience = append(c.Audience, agentRow{view: c.view, Agent: a})
	}
	c.Others = audience.Total - len(c.Audience)
	path := c.ChannelHref(c.Address)
	if !c.partial("channels") && !c.partial("audience") && !c.partial("writing") {
		if c.Talk, err = c.talk(mail.HistoryQuery{To: string(c.Address)}, path); err != nil {
			return err
		}
	}
	if c.IsRole() {
		held, err := c.svc.Stuck(c.ctx(), mail.StuckQuery{Kind: mail.StuckHeld, For: c.Address, Mail: 1})
		if err != nil {
			return err
		}
		for _, g := range held.Groups {
			c.Held = g.Count
		}
	}
	c.Writing, err = c.writing(c.Address, path, strings.TrimPrefix(path, c.Base))
	return err
}

// ChannelHref is the address of a channel's page.
func (v *view) ChannelHref(a any) string { return v.Base + "/channels/" + url.PathEscape(who(a)) }

// IsRole reports whether the channel is a role's, whose mail is taken by one of its holders.
func (c *channel) IsRole() bool { return c.Address.Kind() == mail.ToRole }

// Name is the channel's name without its kind.
func (c *channel) Name() string {
	if c.Address.Kind() == mail.ToTag {
		return tagValue(string(c.Address))
	}
	return c.Address.Value()
}

// tagValue is a tag without its namespace.
func tagValue(tag string) string {
	_, value, _ := strings.Cut(tag, ":")
	return value
}

// Sort is what kind of tag it is: its namespace.
func (c *channel) Sort() string {
	if c.Address.Kind() == mail.ToTag {
		ns, _, _ := strings.Cut(string(c.Address), ":")
		return ns
	}
	return ""
}

// Heading is what the last message is about.
func (c *channel) Heading() string { return subject(&c.Last.Message) }

// ToRole reports whether the message was for a role, and so for one of those who hold it.
func (s said) ToRole() bool {
	return slices.ContainsFunc(s.To, func(a mail.Address) bool { return a.Kind() == mail.ToRole })
}
