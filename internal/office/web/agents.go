package web

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"pennypost/internal/mail"
)

// goneRows is how many of the agents that are gone the roster shows unless it is asked for all.
const goneRows = 20

// agentsPage is the roster.
type agentsPage struct {
	*view
	Groups []agentGroup
	Hidden int  // how many that are gone are not shown
	All    bool // all that are gone are shown
}

// agentGroup is the agents of which the same can be expected.
type agentGroup struct {
	Name   string
	Note   string
	Agents []agentRow
}

// agentRow is an agent in a list, or at the head of its page.
type agentRow struct {
	*view
	mail.Agent
	Depth int        // how far it is indented below the agent that started it
	Last  *mail.Item // the last message that it sent, if that is not long past
}

// agents shows who is there.
func agents(v *view) error {
	v.Place, v.Title = "agents", "Agents"
	p := &agentsPage{view: v, All: v.r.URL.Query().Get("gone") == "all"}
	if v.svc == nil {
		return v.render("agents", p)
	}
	if name := v.r.URL.Query().Get("name"); name != "" {
		return v.agentNamed(mail.Name(name))
	}
	list, err := v.svc.Agents(v.ctx())
	if err != nil {
		return err
	}
	last, err := v.lastWords()
	if err != nil {
		return err
	}
	var live, frozen, gone []mail.Agent
	for _, a := range list {
		switch {
		case a.State.Live():
			live = append(live, a)
		case a.State == mail.Frozen:
			frozen = append(frozen, a)
		default:
			gone = append(gone, a)
		}
	}
	slices.SortStableFunc(gone, func(a, b mail.Agent) int { return cmp.Compare(b.Since, a.Since) })
	if len(gone) > goneRows && !p.All {
		p.Hidden, gone = len(gone)-goneRows, gone[:goneRows]
	}
	p.add("Live", "", live, last)
	p.add("Frozen", "paused; their mail waits and does not expire", frozen, last)
	p.add("Gone", "their next session adopts what is unread", gone, last)
	return v.render("agents", p, "roster")
}

// add adds a group, if there is anybody in it.
func (p *agentsPage) add(name, note string, list []mail.Agent, last map[mail.Address]*mail.Item) {
	if len(list) == 0 {
		return
	}
	g := agentGroup{Name: name, Note: note}
	for _, f := range family(list) {
		g.Agents = append(g.Agents, agentRow{view: p.view, Agent: f.Agent, Depth: f.depth,
			Last: last[mail.AgentAddress(f.Name)]})
	}
	p.Groups = append(p.Groups, g)
}

// relative is an agent below those that it descends from.
type relative struct {
	mail.Agent
	depth int
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

// lastWords returns the last message of everybody who sent one lately.
func (v *view) lastWords() (map[mail.Address]*mail.Item, error) {
	page, err := v.svc.History(v.ctx(), mail.HistoryQuery{Limit: mail.MaxLimit})
	last := make(map[mail.Address]*mail.Item)
	for i := range page.Messages {
		last[page.Messages[i].From] = &page.Messages[i]
	}
	return last, err
}

// AgentHref is the address of an agent's page. A name of dots alone would lead elsewhere as a piece of a path.
func (v *view) AgentHref(name any) string {
	n := who(name)
	if n == "." || n == ".." {
		return v.Base + "/agents?name=" + n
	}
	return v.Base + "/agents/" + url.PathEscape(n)
}

// AgentRef is the id of an agent's row.
func (a agentRow) AgentRef() string { return "agent-" + url.QueryEscape(string(a.Name)) }

// Heading is what the last message is about.
func (a agentRow) Heading() string { return subject(&a.Last.Message) }

// ComposeHref is the address of an empty letter to the agent.
func (a agentRow) ComposeHref() string {
	return a.Base + "/compose?to=" + url.QueryEscape("agent:"+string(a.Name))
}

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
	*view
	Agent   agentRow
	Dir     string // its workspace
	Resume  string // the command that takes its session up again
	Waits   []post // what it has not read, oldest first
	More    int    // what else it has not read
	Lost    []post // what never reached it, the newest last
	Docs    []sentDoc
	Talk    *talk
	Writing box
}

// sentDoc is a document, and the last message with which the agent sent it.
type sentDoc struct {
	mail.Doc
	With post
}

// agentMail shows one agent.
func agentMail(v *view) error { return v.agentNamed(mail.Name(v.r.PathValue("name"))) }

func (v *view) agentNamed(name mail.Name) error {
	v.Place, v.Title = "agents", string(name)
	list, err := v.svc.Agents(v.ctx())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(a mail.Agent) bool { return a.Name == name })
	if i < 0 {
		return v.formerAgent(name)
	}
	p := &agentPage{view: v, Agent: agentRow{view: v, Agent: list[i]}}
	path := v.AgentHref(name)
	if p.wants("talk") {
		if p.Talk, err = v.talk(mail.HistoryQuery{Agent: name}, path); err != nil {
			return err
		}
	}
	if p.wants("about") {
		if err := p.about(); err != nil {
			return err
		}
	}
	if p.Writing, err = v.writing(mail.Address("agent:"+name), path, strings.TrimPrefix(path, v.Base)); err != nil {
		return err
	}
	return v.render("agent", p, "talk", "about", "writing")
}

// formerAgent leads to what is left of an agent that was retired: its mail.
func (v *view) formerAgent(name mail.Name) error {
	address := string(mail.AgentAddress(name))
	for _, f := range []filters{{"from": address}, {"to": address}} {
		ask, err := f.query(v.Now)
		if err != nil {
			return err
		}
		ask.Limit = 1
		if page, err := v.svc.History(v.ctx(), ask); err == nil && len(page.Messages) > 0 && name != mail.User {
			return v.redirect("/history" + f.address(nil))
		}
	}
	_, err := v.svc.Inbox(v.ctx(), mail.InboxQuery{Agent: name, Limit: 1}) // names those that are spelled like it
	if err == nil {
		err = mail.Errorf(mail.NotFound, "%q is not on the roster", name)
	}
	return err
}

// wants reports whether the answer has that part in it.
func (p *agentPage) wants(part string) bool {
	for _, other := range []string{"talk", "about", "writing"} {
		if p.partial(other) {
			return other == part
		}
	}
	return true
}

// waitRows is how many messages and documents the side of an agent's page lists.
const waitRows = 20

// about fills the side of the page.
func (p *agentPage) about() error {
	name := p.Agent.Name
	waits, err := p.svc.Inbox(p.ctx(), mail.InboxQuery{Agent: name, Limit: waitRows})
	if err != nil {
		return err
	}
	p.Waits, p.More = p.posts(waits.Messages), max(waits.Unread-len(waits.Messages), 0)
	lost, err := p.svc.History(p.ctx(), mail.HistoryQuery{To: "agent:" + string(name),
		States: []mail.DeliveryState{mail.Dead, mail.Expired}, Limit: waitRows})
	if err != nil {
		return err
	}
	p.Lost = p.posts(lost.Messages)
	sent, err := p.svc.History(p.ctx(), mail.HistoryQuery{From: string(p.Agent.Sender()), Limit: mail.MaxLimit})
	if err != nil {
		return err
	}
	if n := len(sent.Messages); n > 0 {
		p.Agent.Last = &sent.Messages[n-1]
	}
	p.docs(sent.Messages)
	places, err := p.svc.Workspaces(p.ctx())
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(places, func(w mail.Workspace) bool { return w.ID == name }); i >= 0 {
		p.Dir = places[i].Dir
	}
	p.Resume = resume(&p.Agent.Agent, p.Dir)
	return nil
}

func (p *agentPage) posts(items []mail.Item) []post {
	var out []post
	for _, it := range items {
		out = append(out, post{view: p.view, Item: it})
	}
	return out
}

// docs lists the documents of messages, the newest first, each once.
func (p *agentPage) docs(items []mail.Item) {
	seen := make(map[string]bool)
	for _, it := range slices.Backward(items) {
		for _, d := range it.Docs {
			if !seen[d.Path] && len(p.Docs) < waitRows {
				p.Docs = append(p.Docs, sentDoc{d, post{view: p.view, Item: it}})
			}
			seen[d.Path] = true
		}
	}
}
