package web

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/web/inbox"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/words"
)

// palettePage searches everything: a field and its matches.
type palettePage struct {
	*page.View
	Query  string
	Groups []page.Group[paletteChoice]
}

// paletteChoice is a page to open, or an action.
type paletteChoice struct {
	ID    string       // of the element
	Label string       // the searched text, shown unless Who is set
	Who   mail.Address // an agent
	Note  string
	Href  string // "" for an action
	Do    string // the script's action: a value of data-do
	Form  string // the id of the form it submits
	Keys  string

	rank int // how well it matches
}

const (
	paletteMost    = 8 // per kind
	paletteThreads = 6
)

func palette(v *page.View) error {
	v.Title = "Go anywhere"
	p := &palettePage{View: v, Query: strings.TrimSpace(wording.ClipRunes(v.R.URL.Query().Get("q"), page.MaxQuery+1))}
	p.add("Places", len(p.Places()), p.places())
	if v.Svc != nil {
		if err := p.addresses(); err != nil {
			return err
		}
	}
	p.add("Rooms", paletteMost, p.otherRooms())
	p.add("Actions", paletteMost, p.actions())
	if p.Query != "" { // best first
		slices.SortStableFunc(p.Groups, func(a, b page.Group[paletteChoice]) int {
			return cmp.Compare(b.Rows[0].rank, a.Rows[0].rank)
		})
	}
	if v.Svc != nil && utf8.RuneCountInString(p.Query) >= 2 {
		if err := p.threads(); err != nil {
			return err
		}
	}
	return v.Render("palette", p, "dialog", "palette-results")
}

// Empty reports whether nothing matches.
func (p *palettePage) Empty() bool { return len(p.Groups) == 0 }

// add adds the best matches of a kind, at most that many.
func (p *palettePage) add(name string, most int, choices []paletteChoice) {
	for i := range choices {
		choices[i].rank = fits(p.Query, choices[i].Label)
	}
	fit := slices.DeleteFunc(choices, func(c paletteChoice) bool { return c.rank == 0 })
	slices.SortStableFunc(fit, func(a, b paletteChoice) int { return cmp.Compare(b.rank, a.rank) })
	if len(fit) > 0 {
		p.Groups = append(p.Groups, page.Group[paletteChoice]{Name: name, Rows: fit[:min(most, len(fit))]})
	}
}

// fits ranks how well label matches the typed text; 0 if not at all. Each typed word must be in the label, in any
// order. A label that begins with the whole text ranks best, then words that begin with the typed words, then other
// parts.
func fits(typed, label string) int {
	typed, label = strings.ToLower(typed), strings.ToLower(label)
	if strings.HasPrefix(label, typed) {
		return 4
	}
	worst := 3
	for word := range strings.FieldsSeq(typed) {
		worst = min(worst, fitsWord(word, label))
	}
	return worst
}

// fitsWord ranks one word: at the beginning of a word of the label, or inside one.
func fitsWord(word, label string) int {
	best := 0
	for rest, before := label, ' '; rest != ""; {
		i := strings.Index(rest, word)
		if i < 0 {
			break
		}
		if i > 0 {
			before, _ = utf8.DecodeLastRuneInString(rest[:i])
		}
		if !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			return 3
		}
		best = 2
		before, _ = utf8.DecodeRuneInString(rest[i:])
		_, n := utf8.DecodeRuneInString(rest[i:])
		rest = rest[i+n:]
	}
	return best
}

func (p *palettePage) places() []paletteChoice {
	var out []paletteChoice
	for _, pl := range p.Places() {
		c := paletteChoice{ID: "go-" + pl.Name, Label: pl.Title, Href: p.Base + pl.Path, Keys: "g " + pl.Key}
		out = append(out, c)
	}
	return out
}

// addresses adds the matching agents and channels and, once something is typed, the choices to write to them.
func (p *palettePage) addresses() error {
	letter := inbox.ComposePage{View: p.View}
	if err := letter.Choices(""); err != nil {
		return err
	}
	if p.Status().Agents > page.MaxChoices && p.Query != "" { // search a long roster for the text
		letter.Addresses = nil
		if err := letter.Choices(p.Query); err != nil {
			return err
		}
	}
	var agents, channels, write []paletteChoice
	for _, a := range letter.Addresses {
		c := paletteChoice{Label: words.Who(a.Address), Note: a.Note}
		if a.Address.Kind() == mail.ToAgent {
			c.ID, c.Who, c.Href = "agent-"+url.PathEscape(c.Label), a.Address, p.AgentHref(a.Address)+"#box"
			agents = append(agents, c)
		} else {
			c.Note = wording.ClipRunes(c.Note, 60)
			c.ID, c.Href = "channel-"+url.PathEscape(c.Label), p.ChannelHref(a.Address)
			channels = append(channels, c)
		}
		write = append(write, paletteChoice{
			ID: "write-" + url.PathEscape(string(a.Address)), Label: "Write to " + words.Who(a.Address),
			Href: p.ComposeHref(a.Address),
		})
	}
	if p.Several() {
		there, to, err := p.agentsElsewhere()
		if err != nil {
			return err
		}
		agents, write = append(agents, there...), append(write, to...)
	}
	p.add("Agents", paletteMost, agents)
	p.add("Channels", paletteMost, channels)
	if p.Query != "" {
		p.add("Write", 4, write)
	}
	return nil
}

// agentsElsewhere returns the matching agents of other rooms, and the choices to write to them.
func (p *palettePage) agentsElsewhere() (agents, write []paletteChoice, err error) {
	fleet, err := p.Site.Office.Fleet(p.Ctx(), mail.FleetQuery{Part: mail.FleetAgents, Search: p.Query,
		Limit: paletteMost})
	for i := range fleet.Rooms {
		r := &fleet.Rooms[i]
		if r.Room == p.Room {
			continue
		}
		in := p.In(r.Room, nil)
		for _, a := range r.Agents.Agents {
			to, id := mail.AgentAddress(a.Name), url.PathEscape(string(r.Room)+"/"+string(a.Name))
			agents = append(agents, paletteChoice{ID: "agent-" + id, Label: string(a.Name), Who: to,
				Note: string(r.Room) + " · " + string(a.State), Href: in.AgentHref(to) + "#box"})
			write = append(write, paletteChoice{ID: "write-" + id, Label: "Write to " + string(a.Name),
				Note: string(r.Room),
				Href: in.ComposeHref(to)})
		}
	}
	return agents, write, err
}

func (p *palettePage) otherRooms() []paletteChoice {
	var out []paletteChoice
	for i := range p.Rooms {
		r := &p.Rooms[i]
		if r.Name == p.Room {
			continue
		}
		c := paletteChoice{ID: "room-" + string(r.Name), Label: string(r.Name),
			Href: page.RoomBase(r.Name) + "/"}
		if r.Unread > 0 {
			c.Note = wording.Plural(r.Unread, "unread message")
		}
		out = append(out, c)
	}
	return out
}

func (p *palettePage) actions() []paletteChoice {
	out := []paletteChoice{{ID: "do-write", Label: "Write", Href: p.Base + "/compose", Keys: "c"},
		{ID: "do-scheduled", Label: "To be sent: scheduled messages", Href: p.Base + p.Scoped("/scheduled")}}
	if p.Base == "" {
		out = nil
	}
	return append(out,
		paletteChoice{ID: "do-theme", Label: "Theme: system, light, dark", Do: "theme"},
		paletteChoice{ID: "do-notify", Label: "Notifications of mail to you: on, off", Do: "notify"},
		paletteChoice{ID: "do-keys", Label: "Keys", Do: "keys", Keys: "?"},
		paletteChoice{ID: "do-logout", Label: "Log out", Form: "palette-logout"},
	)
}

// threads adds the newest conversations that match, each as its best message, and a link to the full search.
func (p *palettePage) threads() error {
	ask, err := page.FiltersOf(url.Values{"q": {p.Query}}).Query(p.Now)
	if err != nil {
		return nil // unfinished input: the history page explains the error
	}
	ask.Conversations, ask.Limit = true, paletteThreads
	found, err := p.find(ask)
	if code := mail.CodeOf(err); code == mail.Invalid || code == mail.NotFound {
		return nil
	} else if err != nil {
		return err
	}
	g := page.Group[paletteChoice]{Name: "Mail"}
	for _, post := range found {
		c := paletteChoice{
			ID: "mail-" + url.PathEscape(string(post.ID)), Label: words.Subject(&post.Message),
			Note: words.Sender(post.Message) + " · " + words.Ago(p.Now, post.Sent), Href: post.ThreadHref(),
		}
		if p.Several() {
			c.Note = string(post.Room) + " · " + c.Note
		}
		g.Rows = append(g.Rows, c)
	}
	g.Rows = append(g.Rows, paletteChoice{
		ID: "search", Label: "Search the history for “" + p.Query + "”",
		Href: page.Query(p.Base+"/history", "q", p.Query), Keys: "/",
	})
	p.Groups = append(p.Groups, g)
	return nil
}

// find searches the rooms of the page, and closed rooms only if the search names them.
func (p *palettePage) find(ask mail.HistoryQuery) (found []page.Post, err error) {
	if !p.Several() {
		got, err := p.Svc.History(p.Ctx(), ask)
		for _, it := range slices.Backward(got.Messages) {
			found = append(found, page.Post{View: p.View, Item: it})
		}
		return found, err
	}
	fleet, err := p.Site.Office.FleetMail(p.Ctx(), mail.FleetMailQuery{HistoryQuery: ask})
	for _, r := range fleet.Rooms {
		in := p.In(r.Room, nil)
		for _, it := range r.Messages {
			found = append(found, page.Post{View: in, Item: it})
		}
	}
	slices.SortStableFunc(found, func(a, b page.Post) int {
		return page.SpotOf(&b.Item).Compare(page.SpotOf(&a.Item))
	})
	return found[:min(len(found), paletteThreads)], err
}
