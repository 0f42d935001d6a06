package room

import (
	"net/url"
	"slices"
	"strings"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/waits"
	"pennypost/internal/office/web/words"
)

const (
	rosterRows = 100 // of a group that is shown by itself, and of those who are live
	otherRows  = 20  // of those who are paused or gone, beside them
)

// agentsPage is the roster, or a part of it.
type agentsPage struct {
	*page.View
	Query  string // what is searched for
	Only   string // the one group that is shown; "": all
	After  string // the name behind which it begins
	Groups []agentGroup
	Waits  map[mail.Name]waits.OfAgent
}

// agentGroup is the agents of which the same can be expected.
type agentGroup struct {
	Name   string
	Note   string
	Agents []agentRow
	Total  int
	Rest   string // the address of those that are not shown; "" if there are none
}

// agentRow is an agent in a list, or at the head of its page.
type agentRow struct {
	*page.View
	mail.Agent
	waits.OfAgent
	Depth int        // how far it is indented below the agent that started it
	Last  *mail.Item // the last message that it sent, if that is not long past
}

// agents shows who is there.
func agents(v *page.View) error {
	v.Place, v.Title = "agents", "Agents"
	q := v.R.URL.Query()
	p := &agentsPage{View: v, Query: strings.TrimSpace(wording.ClipRunes(q.Get("q"), page.MaxQuery+1)),
		Only: q.Get("show"), After: q.Get("after")}
	if v.Svc == nil {
		return v.Render("agents", p)
	}
	if name := q.Get("name"); name != "" {
		return agentNamed(v, mail.Name(name))
	}
	if !slices.Contains([]string{"", "live", "frozen", "gone"}, p.Only) {
		return mail.Errorf(mail.Invalid, "the roster has no part %q; it has live, frozen and gone", p.Only)
	}
	links, _, err := waits.In(v)
	if err != nil {
		return err
	}
	p.Waits = waits.ByAgent(links)
	for _, g := range []struct {
		key, name, note string
		states          []mail.State
		rows            int
	}{
		{"live", "Live", "", []mail.State{mail.Working, mail.Idle}, rosterRows},
		{"frozen", "Frozen", "paused; their mail waits and does not expire", []mail.State{mail.Frozen}, otherRows},
		{"gone", "Gone", "their next session adopts what is unread", []mail.State{mail.Gone}, otherRows},
	} {
		if p.Only != "" && p.Only != g.key {
			continue
		}
		ask := mail.RosterQuery{Search: p.Query, States: g.states, Limit: g.rows, Latest: g.key == "gone"}
		if p.Only != "" {
			ask.After, ask.Limit, ask.Latest = mail.Name(p.After), rosterRows, false
		}
		if err := p.add(g.key, g.name, g.note, ask); err != nil {
			return err
		}
	}
	return v.Render("agents", p, "roster")
}

// add adds a group, if there is anybody in it.
func (p *agentsPage) add(key, name, note string, ask mail.RosterQuery) error {
	list, err := p.Svc.Agents(p.Ctx(), ask)
	if err != nil || len(list.Agents) == 0 {
		return err
	}
	g := agentGroup{Name: name, Note: note, Total: list.Total}
	switch {
	case list.More && p.Only != "":
		g.Rest = p.href(key, string(list.Next))
	case list.More:
		g.Rest = p.href(key, "") // by name, which these need not be
		if list.Agents, err = p.first(ask); err != nil {
			return err
		}
	}
	for _, f := range family(list.Agents) {
		row := agentRow{View: p.View, Agent: f.Agent, OfAgent: p.Waits[f.Name], Depth: f.Depth}
		if row.Last, err = lastWord(p.View, f.Name); err != nil {
			return err
		}
		g.Agents = append(g.Agents, row)
	}
	p.Groups = append(p.Groups, g)
	return nil
}

// first returns the first agents of a group that is cut: those of its first state, and of the others what else there
// is room for.
func (p *agentsPage) first(ask mail.RosterQuery) ([]mail.Agent, error) {
	var out []mail.Agent
	for _, state := range ask.States {
		one := ask
		one.States, one.Limit = []mail.State{state}, ask.Limit-len(out)
		if one.Limit == 0 {
			break
		}
		list, err := p.Svc.Agents(p.Ctx(), one)
		if err != nil {
			return nil, err
		}
		out = append(out, list.Agents...)
	}
	return out, nil
}

// href is the address of one group, of those agents that are searched for, behind a name.
func (p *agentsPage) href(only, after string) string {
	return page.Address(p.Base+"/agents", "after", after, "q", p.Query, "show", only)
}

// Here is the address of what is shown, for its refreshing.
func (p *agentsPage) Here() string { return p.href(p.Only, p.After) }

// relative is an agent below those that it descends from.
type relative struct {
	mail.Agent
	Depth int
}

// family puts agents behind those that started them. Who has no parent among them begins at the margin, and so does
// one of a ring.
func family(list []mail.Agent) []relative {
	there := make(map[mail.Name]bool)
	children := make(map[mail.Name][]mail.Agent)
	for _, a := range list {
		there[a.Name] = true
	}
	for _, a := range list {
		if there[a.Parent] && a.Parent != a.Name {
			children[a.Parent] = append(children[a.Parent], a)
		}
	}
	var out []relative
	placed := make(map[mail.Name]bool)
	var place func(a mail.Agent, depth int)
	place = func(a mail.Agent, depth int) {
		if placed[a.Name] {
			return
		}
		placed[a.Name] = true
		out = append(out, relative{a, depth})
		for _, c := range children[a.Name] {
			place(c, min(depth+1, 3))
		}
	}
	for _, a := range list {
		if !there[a.Parent] || a.Parent == a.Name {
			place(a, 0)
		}
	}
	for _, a := range list {
		place(a, 0)
	}
	return out
}

// lastWord returns the last message of an agent that is not in the archive; nil if there is none.
func lastWord(v *page.View, n mail.Name) (*mail.Item, error) {
	got, err := v.Svc.History(v.Ctx(), mail.HistoryQuery{From: string(mail.AgentAddress(n)), Limit: 1})
	if err != nil || len(got.Messages) == 0 {
		return nil, err
	}
	return &got.Messages[0], nil
}

// AgentRef is the id of an agent's row.
func (a agentRow) AgentRef() string { return "agent-" + url.QueryEscape(string(a.Name)) }

// Heading is what the last message is about.
func (a agentRow) Heading() string { return words.Subject(&a.Last.Message) }

// RoleAddresses are the addresses of the agent's roles.
func (a agentRow) RoleAddresses() []mail.Address {
	var out []mail.Address
	for _, r := range a.Roles {
		out = append(out, mail.RoleAddress(r))
	}
	return out
}

// Sender is how the agent signs.
func (a agentRow) Sender() mail.Address { return mail.AgentAddress(a.Name) }

// agentPage is one agent and its mail.
type agentPage struct {
	*page.View
	Agent   agentRow
	Dir     string      // its workspace
	Resume  string      // the command that takes its session up again
	Waits   []page.Post // what it has not read, oldest first
	More    int         // what else it has not read
	Lost    []page.Post // what never reached it, the newest last
	Docs    []sentDoc
	Talk    *talk
	Writing page.Box
}

// sentDoc is a document, and the last message with which the agent sent it.
type sentDoc struct {
	mail.Doc
	With page.Post
}

// agentMail shows one agent.
func agentMail(v *page.View) error { return agentNamed(v, mail.Name(v.R.PathValue("name"))) }

func agentNamed(v *page.View, name mail.Name) error {
	v.Place, v.Title = "agents", string(name)
	a, ok, err := mail.OneAgent(v.Ctx(), v.Svc, name)
	if err != nil {
		return err
	}
	if !ok {
		return formerAgent(v, name)
	}
	p := &agentPage{View: v, Agent: agentRow{View: v, Agent: a}}
	path := v.AgentHref(name)
	if p.wants("talk") {
		if p.Talk, err = talkOf(v, mail.HistoryQuery{Agent: name}, path); err != nil {
			return err
		}
	}
	if p.wants("about") {
		if err := p.about(); err != nil {
			return err
		}
	}
	if p.Writing, err = writingTo(v, mail.Address("agent:"+name), path); err != nil {
		return err
	}
	return v.Render("agent", p, "talk", "about", "writing")
}

// formerAgent leads to what is left of an agent that was retired: its mail.
func formerAgent(v *page.View, name mail.Name) error {
	address := string(mail.AgentAddress(name))
	for _, f := range []page.Filters{{"from": address}, {"to": address}} {
		ask, err := f.Query(v.Now)
		if err != nil {
			return err
		}
		ask.Limit = 1
		if got, err := v.Svc.History(v.Ctx(), ask); err == nil && len(got.Messages) > 0 && name != mail.User {
			return v.Redirect(f.Href("/history"))
		}
	}
	_, err := v.Svc.Inbox(v.Ctx(), mail.InboxQuery{Agent: name, Limit: 1}) // names those that are spelled like it
	if err == nil {
		err = mail.Errorf(mail.NotFound, "%q is not on the roster", name)
	}
	return err
}

// wants reports whether the answer has that part in it.
func (p *agentPage) wants(part string) bool {
	for _, other := range []string{"talk", "about", "writing"} {
		if p.Partial(other) {
			return other == part
		}
	}
	return true
}

const (
	waitRows = 20  // messages and documents that the side of an agent's page lists
	docsFrom = 200 // messages among which the documents are
)

// about fills the side of the page.
func (p *agentPage) about() error {
	name := p.Agent.Name
	unread, err := p.Svc.Inbox(p.Ctx(), mail.InboxQuery{Agent: name, Limit: waitRows})
	if err != nil {
		return err
	}
	p.Waits, p.More = p.Posts(unread.Messages), max(unread.Unread-len(unread.Messages), 0)
	lost, err := p.Svc.History(p.Ctx(), mail.HistoryQuery{To: "agent:" + string(name),
		States: []mail.DeliveryState{mail.Dead, mail.Expired}, Limit: waitRows})
	if err != nil {
		return err
	}
	p.Lost = p.Posts(lost.Messages)
	sent, err := p.Svc.History(p.Ctx(), mail.HistoryQuery{From: string(p.Agent.Sender()), Limit: docsFrom})
	if err != nil {
		return err
	}
	if n := len(sent.Messages); n > 0 {
		p.Agent.Last = &sent.Messages[n-1]
	}
	p.docs(sent.Messages)
	links, _, err := waits.In(p.View)
	if err != nil {
		return err
	}
	p.Agent.OfAgent = waits.ByAgent(links)[name]
	places, err := p.Svc.Workspaces(p.Ctx())
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(places, func(w mail.Workspace) bool { return w.ID == name }); i >= 0 {
		p.Dir = places[i].Dir
	}
	p.Resume = page.Resume(&p.Agent.Agent, p.Dir)
	return nil
}

// docs lists the documents of messages, the newest first, each once.
func (p *agentPage) docs(items []mail.Item) {
	seen := make(map[string]bool)
	for _, it := range slices.Backward(items) {
		for _, d := range it.Docs {
			if !seen[d.Path] && len(p.Docs) < waitRows {
				p.Docs = append(p.Docs, sentDoc{d, page.Post{View: p.View, Item: it}})
			}
			seen[d.Path] = true
		}
	}
}
