package room

import (
	"cmp"
	"maps"
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
	rosterRows = 100 // for a state shown by itself, and for live states
	otherRows  = 20  // for paused and gone agents on the full page
)

// agentsPage is the roster, or a part of it.
type agentsPage struct {
	*page.View
	Query   string     // the search
	Only    mail.State // the one state to show; "": all
	After   string     // list the agents after this name
	ByRoom  bool       // with all rooms: group by room instead of by state
	Groups  []agentGroup
	Total   int
	Missing page.Missing
	Tree    []waitNode // who waits for whom
	holders map[mail.RoomName][]waits.Holder
}

// agentGroup is the agents of one state, or of one room.
type agentGroup struct {
	Name   string
	Note   string
	Agents []agentRow
	Total  int
	Rest   string // the address of the agents not shown; "" if all are
}

// agentRow is an agent in a list, or at the head of its page. Its view is that of its room.
type agentRow struct {
	*page.View
	mail.Agent
	waits.OfAgent
	Holds *waits.Holder // nil: it holds nothing and waits for no claim
	Last  *mail.Item    // its last message
	AsOf  mail.Time     // for a closed room: when its state was recorded; 0: now
}

// rosterState is a state with its heading and note on the page.
type rosterState struct {
	State      mail.State
	Name, Note string
	Rows       int
}

// rosterStates returns the states in page order.
func rosterStates() []rosterState {
	return []rosterState{
		{mail.Asking, "Asking", "at a dialog of their client", rosterRows},
		{mail.Working, "Working", "", rosterRows}, {mail.Idle, "Idle", "", rosterRows},
		{mail.Frozen, "Frozen", "paused; their mail waits and does not expire", otherRows},
		{mail.Gone, "Gone", "the next session with the name gets the unread mail", otherRows},
	}
}

// agents shows the roster.
func agents(v *page.View) error {
	v.Place, v.Title = "agents", "Agents"
	q := v.R.URL.Query()
	p := &agentsPage{View: v, Query: strings.TrimSpace(wording.ClipRunes(q.Get("q"), page.MaxQuery+1)),
		Only: mail.State(q.Get("show")), After: q.Get("after"), ByRoom: q.Get("by") == "room"}
	if v.Svc == nil {
		return v.Render("agents", p)
	}
	if name := q.Get("name"); name != "" {
		return agentNamed(v, mail.Name(name))
	}
	if p.Only != "" && !slices.ContainsFunc(rosterStates(), func(s rosterState) bool { return s.State == p.Only }) {
		return mail.Errorf(mail.Invalid,
			"the roster has no part %q: use asking, working, idle, frozen or gone", p.Only)
	}
	rooms, _, missing, err := waits.Shown(v)
	if err != nil {
		return err
	}
	p.Missing, p.Tree = missing, treeOf(rooms)
	if p.holders, err = waits.HoldersByRoom(v); err != nil {
		return err
	}
	list := p.here
	if v.Several() {
		list = p.everywhere
	}
	if err := list(rooms); err != nil {
		return err
	}
	return v.Render("agents", p, "roster")
}

// here lists the agents of one room by state.
func (p *agentsPage) here(rooms []waits.InRoom) error {
	of := waits.ByAgent(rooms[0].Links)
	for _, s := range rosterStates() {
		if p.Only != "" && p.Only != s.State {
			continue
		}
		ask := mail.RosterQuery{Search: p.Query, States: []mail.State{s.State}, Limit: s.Rows,
			Latest: s.State == mail.Gone}
		if p.Only != "" {
			ask.After, ask.Limit, ask.Latest = mail.Name(p.After), rosterRows, false
		}
		list, err := p.Svc.Agents(p.Ctx(), ask)
		if err != nil {
			return err
		}
		if len(list.Agents) == 0 {
			continue
		}
		g := agentGroup{Name: s.Name, Note: s.Note, Total: list.Total}
		if list.More && p.Only != "" {
			g.Rest = p.href(s.State, string(list.Next))
		} else if list.More {
			g.Rest = p.href(s.State, "") // sorted by name, which this list need not be
		}
		for _, a := range list.Agents {
			row := agentRow{View: p.View, Agent: a, OfAgent: of[a.Name],
				Holds: waits.HolderOf(p.holders[p.Room], a.Name)}
			if a.Task == "" && a.State != mail.Asking {
				if row.Last, err = lastWord(p.View, a.Name); err != nil {
					return err
				}
			}
			g.Agents = append(g.Agents, row)
		}
		p.Groups, p.Total = append(p.Groups, g), p.Total+list.Total
	}
	return nil
}

// everywhere lists the agents of all rooms, by state or by room.
func (p *agentsPage) everywhere(rooms []waits.InRoom) error {
	ask := mail.FleetQuery{Part: mail.FleetAgents, Search: p.Query, Limit: rosterRows}
	if p.Only != "" {
		ask.States = []mail.State{p.Only}
	}
	fleet, err := p.Site.Office.Fleet(p.Ctx(), ask)
	if err != nil {
		return err
	}
	p.Missing = page.Missing{NotRead: fleet.NotRead, Away: fleet.Away}
	of := make(map[mail.RoomName]map[mail.Name]waits.OfAgent)
	for _, r := range rooms {
		of[r.Room] = waits.ByAgent(r.Links)
	}
	groups := make(map[string]*agentGroup)
	for i := range fleet.Rooms {
		r := &fleet.Rooms[i]
		in := p.In(r.Room, nil)
		for _, s := range rosterStates() {
			if p.Only == "" || p.Only == s.State {
				p.group(groups, string(r.Room), s).Total += r.Agents.States[s.State]
				p.Total += r.Agents.States[s.State]
			}
		}
		for _, a := range r.Agents.Agents {
			s := rosterStates()[rank(a.State)]
			g := p.group(groups, string(r.Room), s)
			g.Agents = append(g.Agents, agentRow{View: in, Agent: a, OfAgent: of[r.Room][a.Name], AsOf: r.AsOf,
				Holds: waits.HolderOf(p.holders[r.Room], a.Name)})
		}
	}
	p.settle(groups)
	return nil
}

// group returns the group for a state, or for a room when grouping by room.
func (p *agentsPage) group(groups map[string]*agentGroup, room string, s rosterState) *agentGroup {
	g := &agentGroup{Name: s.Name, Note: s.Note}
	if p.ByRoom {
		rest := page.Query(page.RoomBase(mail.RoomName(room))+"/agents", "rooms", page.ScopeOne)
		g = &agentGroup{Name: room, Rest: rest}
	}
	if known := groups[g.Name]; known != nil {
		return known
	}
	groups[g.Name] = g
	return g
}

// settle sorts the groups and their agents, and truncates long groups.
func (p *agentsPage) settle(groups map[string]*agentGroup) {
	var names []string
	if p.ByRoom {
		names = slices.Sorted(maps.Keys(groups))
	} else {
		for _, s := range rosterStates() {
			names = append(names, s.Name)
		}
	}
	for _, name := range names {
		g := groups[name]
		if g == nil || len(g.Agents) == 0 {
			continue
		}
		slices.SortStableFunc(g.Agents, func(a, b agentRow) int {
			return cmp.Or(rank(a.State)-rank(b.State), cmp.Compare(a.Room, b.Room), mail.CompareNames(a.Name, b.Name))
		})
		most := rosterRows
		if !p.ByRoom && p.Only == "" {
			most = rosterStates()[rank(g.Agents[0].State)].Rows
		}
		shown := min(len(g.Agents), most)
		switch {
		case g.Total <= shown:
			g.Rest = ""
		case !p.ByRoom && p.Only == "":
			g.Rest = p.href(g.Agents[0].State, "")
		}
		g.Agents = g.Agents[:shown]
		p.Groups = append(p.Groups, *g)
	}
}

// rank is the position of a state on the page.
func rank(state mail.State) int {
	return max(0, slices.IndexFunc(rosterStates(), func(s rosterState) bool { return s.State == state }))
}

// href is the address of the agents in one state that match the search, from after a name.
func (p *agentsPage) href(only mail.State, after string) string {
	by := ""
	if p.ByRoom {
		by = "room"
	}
	return p.Scoped(page.Address(p.Base+"/agents", "after", after, "by", by, "q", p.Query, "show", string(only)))
}

// Here is the address of this list, used to refresh it.
func (p *agentsPage) Here() string { return p.href(p.Only, p.After) }

// ByHref is the address of the page grouped by room or by state.
func (p *agentsPage) ByHref(room bool) string {
	other := *p
	other.ByRoom = room
	return other.Here()
}

// lastWord returns the last message of an agent outside the archive; nil if there is none.
func lastWord(v *page.View, n mail.Name) (*mail.Item, error) {
	got, err := v.Svc.History(v.Ctx(), mail.HistoryQuery{From: string(mail.AgentAddress(n)), Limit: 1})
	if err != nil || len(got.Messages) == 0 {
		return nil, err
	}
	return &got.Messages[0], nil
}

// AgentRef is the id of an agent's row.
func (a agentRow) AgentRef() string {
	ref := "agent-" + url.QueryEscape(string(a.Name))
	if a.Several() {
		ref += "-" + url.QueryEscape(string(a.Room))
	}
	return ref
}

// Asks is the client dialog that the agent is at; nil if none.
func (a agentRow) Asks() *mail.Card {
	if a.State != mail.Asking {
		return nil
	}
	return a.CardOf(a.Name)
}

// Heading is the subject of the last message.
func (a agentRow) Heading() string { return words.Subject(&a.Last.Message) }

// RoleAddresses are the addresses of the agent's roles.
func (a agentRow) RoleAddresses() []mail.Address {
	var out []mail.Address
	for _, r := range a.Roles {
		out = append(out, mail.RoleAddress(r))
	}
	return out
}

// Sender is the agent's address.
func (a agentRow) Sender() mail.Address { return mail.AgentAddress(a.Name) }

// agentPage is one agent and its mail.
type agentPage struct {
	*page.View
	Agent   agentRow
	Dir     string      // its workspace directory
	Resume  string      // the command that resumes its session
	Waits   []page.Post // its unread mail, oldest first
	More    int         // how many more unread messages there are
	Lost    []page.Post // mail that never reached it, newest last
	Docs    []sentDoc
	Talk    *talk
	Writing page.Box
}

// sentDoc is a document and the last message in which the agent sent it.
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

// formerAgent redirects to the mail of a retired agent.
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
	_, err := v.Svc.Inbox(v.Ctx(), mail.InboxQuery{Agent: name, Limit: 1}) // the error names similar spellings
	if err == nil {
		err = mail.Errorf(mail.NotFound, "%q is not on the roster", name)
	}
	return err
}

// wants reports whether the response includes a part.
func (p *agentPage) wants(part string) bool {
	for _, other := range []string{"talk", "about", "writing"} {
		if p.Partial(other) {
			return other == part
		}
	}
	return true
}

const (
	waitRows = 5   // messages and documents beside an agent's mail; the column rarely scrolls
	docsFrom = 200 // messages searched for documents
)

// about fills the side column of the page.
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
	holders, err := waits.HoldersIn(p.View)
	if err != nil {
		return err
	}
	p.Agent.Holds = waits.HolderOf(holders, name)
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

// docs lists the distinct documents of messages, newest first.
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
