package flow

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/picture"
	"pennypost/internal/office/web/waits"
	"pennypost/internal/office/web/words"
)

// mostLetters limits the messages in one picture: no one reads more, and more slow the browser down.
const mostLetters = 220

// flowPage is a picture of some hours, or of the current waits or claims.
type flowPage struct {
	*page.View
	// Picture is "" for messages, "talk" for who talks to whom, "waiting" for who waits for whom, "held" for who
	// holds what.
	Picture string
	Window  window
	Until   mail.Time // the end of the hours; 0: now
	Kind    mail.Type // the only type shown; "": all

	Since   mail.Time // the beginning of the hours; 0: the first message
	Items   int
	Cut     mail.Time // earlier messages are left out, since there are too many; 0: all are drawn
	Counts  map[mail.Type]int
	Missing page.Missing // with all rooms
	Chart   picture.Chart
	Letters []letter // newest first
	Web     picture.Talk
	Pairs   []pair // with all rooms
	Strip   strip
	Last    mail.Time // if there are no messages in these hours: when the last one before was sent

	Chains []waits.Chain // the current waits
	Others int           // chains and questions, or holders, not shown

	Holders []waits.Holder // the current claims
}

// window is the length of time a picture shows.
type window struct {
	Name, Title string
	Long        time.Duration // 0: all
}

// windows are the choices, shortest first.
var windows = []window{
	{"1h", "1 hour", time.Hour}, {"6h", "6 hours", 6 * time.Hour}, {"1d", "day", 24 * time.Hour},
	{"7d", "week", 7 * 24 * time.Hour}, {"all", "all", 0},
}

func flow(v *page.View) error {
	v.Place, v.Title = "flow", "Flow"
	p := &flowPage{View: v}
	if err := p.choose(v.R.URL.Query()); err != nil {
		return err
	}
	if v.Svc == nil {
		return v.Render("flow", p, "flow")
	}
	draw := p.draw
	switch p.Picture {
	case "waiting":
		draw = p.wait
	case "held":
		draw = p.held
	}
	if err := draw(); err != nil {
		return err
	}
	return v.Render("flow", p, "flow")
}

// choose parses the query.
func (p *flowPage) choose(q url.Values) error {
	p.Picture = q.Get("view")
	if !slices.Contains([]string{"", "talk", "waiting", "held"}, p.Picture) {
		return mail.Errorf(mail.Invalid,
			"the flow has no view %q: use talk, waiting or held, or none for the letters",
			p.Picture)
	}
	name := q.Get("w")
	if name == "" {
		name = "1d"
	}
	i := slices.IndexFunc(windows, func(w window) bool { return w.Name == name })
	if i < 0 {
		return mail.Errorf(mail.Invalid, "the flow cannot show %q: use 1h, 6h, 1d, 7d or all", name)
	}
	p.Window = windows[i]
	if kind := q.Get("type"); kind != "" {
		var err error
		if p.Kind, err = mail.ParseType(kind); err != nil {
			return err
		}
	}
	var err error
	if p.Until, err = mail.ParseWhen(q.Get("until"), p.Now, mail.Until); err != nil {
		return err
	}
	if p.Window.Long > 0 {
		p.Since = p.End().Add(-p.Window.Long)
	}
	return nil
}

// End is the end of the hours.
func (p *flowPage) End() mail.Time {
	if p.Until != 0 {
		return p.Until
	}
	return mail.TimeOf(p.Now)
}

// draw loads the messages of these hours and draws them.
func (p *flowPage) draw() error {
	posts, more, err := p.posts(mail.HistoryQuery{Since: p.Since, Until: p.Until, Deliveries: true,
		Archive: p.Window.Long == 0, Limit: mail.MaxLimit})
	if err != nil {
		return err
	}
	p.Counts = make(map[mail.Type]int)
	for i := range posts {
		p.Counts[posts[i].Type]++
	}
	p.Strip = p.strip(posts, more)
	if p.Kind != "" {
		posts = slices.DeleteFunc(posts, func(post page.Post) bool { return post.Type != p.Kind })
	}
	if len(posts) == 0 {
		return p.nothing()
	}
	if p.Picture == "" && len(posts) > mostLetters {
		posts, more = posts[:mostLetters], true
	}
	if more {
		p.Cut = posts[len(posts)-1].Sent
	}
	switch p.Items = len(posts); {
	case p.Picture == "":
		p.letters(posts)
	case p.Several():
		p.Pairs = pairsOf(posts)
	default:
		items := make([]mail.Item, len(posts))
		for i, post := range posts {
			items[len(posts)-1-i] = post.Item
		}
		p.Web = picture.NewTalk(items)
	}
	return nil
}

// posts returns messages of the page's rooms, newest first, and whether there are earlier ones. It sorts by time
// sent, since imported mail is in the journal at the time of its import.
func (p *flowPage) posts(ask mail.HistoryQuery) (posts []page.Post, more bool, err error) {
	if p.Several() {
		ask.Limit = mostLetters // per room, and there may be a thousand
		fleet, err := p.Site.Office.FleetMail(p.Ctx(), mail.FleetMailQuery{HistoryQuery: ask})
		if err != nil {
			return nil, false, err
		}
		p.Missing = page.Missing{NotRead: fleet.NotRead, Away: fleet.Away}
		for _, r := range fleet.Rooms {
			in := p.View.In(r.Room, nil)
			posts, more = append(posts, in.Posts(in.Undeleted(r.Messages))...), more || r.More
		}
	} else {
		got, err := p.Svc.History(p.Ctx(), ask)
		if err != nil {
			return nil, false, err
		}
		posts, more = p.Posts(p.Undeleted(got.Messages)), got.More
	}
	slices.SortStableFunc(posts, func(a, b page.Post) int {
		return page.SpotOf(&b.Item).Compare(page.SpotOf(&a.Item))
	})
	if len(posts) > mail.MaxLimit {
		posts, more = posts[:mail.MaxLimit], true
	}
	return posts, more, nil
}

// mostChains limits the chains in one picture.
const mostChains = 100

// wait loads the waits.
func (p *flowPage) wait() error {
	rooms, rest, missing, err := waits.Shown(p.View)
	p.Chains, p.Missing = waits.ChainsIn(rooms), missing
	p.Others = rest + max(len(p.Chains)-mostChains, 0)
	p.Chains = p.Chains[:min(len(p.Chains), mostChains)]
	return err
}

// mostHolders limits the agents in one picture, and mostHeld the claims of each.
const mostHolders, mostHeld = 60, 12

// held loads the claims of open rooms. A closed room has none for long.
func (p *flowPage) held() error {
	rooms, err := waits.HoldersByRoom(p.View)
	for _, name := range slices.Sorted(maps.Keys(rooms)) {
		for _, h := range rooms[name] {
			if len(h.Holds) > 0 {
				p.Holders = append(p.Holders, h)
			}
		}
	}
	p.Others = max(len(p.Holders)-mostHolders, 0)
	p.Holders = p.Holders[:min(len(p.Holders), mostHolders)]
	return err
}

// Shown are a holder's claims in the picture.
func (p *flowPage) Shown(h waits.Holder) []waits.Held { return h.Most(mostHeld) }

// Unshown is how many more claims a holder has.
func (p *flowPage) Unshown(h waits.Holder) int { return max(len(h.Holds)-mostHeld, 0) }

// OfHours reports whether the picture covers some hours rather than the present.
func (p *flowPage) OfHours() bool { return p.Picture == "" || p.Picture == "talk" }

// nothing finds the last message before these hours.
func (p *flowPage) nothing() error {
	ask := mail.HistoryQuery{Until: p.End(), Archive: true, Limit: 1}
	if p.Kind != "" {
		ask.Types = []mail.Type{p.Kind}
	}
	got, _, err := p.posts(ask)
	if len(got) > 0 {
		p.Last = got[0].Sent
	}
	return err
}

// Here is the address of the picture, used to refresh it.
func (p *flowPage) Here() string { return p.With("", "") }

// With is the address of this picture with one parameter changed.
func (p *flowPage) With(key, value string) string {
	is := map[string]string{"view": p.Picture, "w": p.Window.Name, "until": p.Until.String(), "type": string(p.Kind)}
	is[key] = value
	if is["w"] == "1d" {
		is["w"] = ""
	}
	return p.Scoped(page.Address(p.Base+"/flow", "type", is["type"], "until", is["until"], "view", is["view"], "w",
		is["w"]))
}

// Windows are the lengths of time to choose from.
func (p *flowPage) Windows() []window { return windows }

// zoom is the address of the window n steps longer; "" if there is none.
func (p *flowPage) zoom(n int) string {
	if i := slices.Index(windows, p.Window) + n; i >= 0 && i < len(windows) {
		return p.With("w", windows[i].Name)
	}
	return ""
}

// In is the address of the next shorter window.
func (p *flowPage) In() string { return p.zoom(-1) }

// Out is the address of the next longer window.
func (p *flowPage) Out() string { return p.zoom(1) }

// Earlier is the address of the preceding hours; "" if the picture starts with the first message.
func (p *flowPage) Earlier() string {
	if p.Since == 0 {
		return ""
	}
	return p.With("until", p.Since.String())
}

// Later is the address of the following hours; "" if they are in the future.
func (p *flowPage) Later() string {
	if p.Until == 0 || p.Until >= mail.TimeOf(p.Now) {
		return ""
	}
	next := p.Until.Add(p.Window.Long)
	if p.Window.Long == 0 || next >= mail.TimeOf(p.Now) {
		return p.With("until", "")
	}
	return p.With("until", next.String())
}

// BeforeHref is the address of the messages left out.
func (p *flowPage) BeforeHref() string { return p.With("until", p.Cut.String()) }

// LastHref is the address of the hours with the last message.
func (p *flowPage) LastHref() string { return p.With("until", p.Last.Add(time.Minute).String()) }

// Span describes the hours shown.
func (p *flowPage) Span() string {
	from := p.Since
	if from == 0 && p.Until == 0 {
		return "everything"
	} else if from == 0 {
		return "until " + words.Moment(p.Now, p.Until)
	}
	text := words.Moment(p.Now, from) + " – "
	if p.Until == 0 {
		return text + "now"
	}
	if words.Date(p.Now, from) == words.Date(p.Now, p.Until) {
		return text + words.Clock(p.Until)
	}
	return text + words.Moment(p.Now, p.Until)
}

// kind is an entry in the legend.
type kind struct {
	Type  mail.Type
	Count int
	Href  string
	Only  bool // the only type shown
}

// Legend lists the types of mail in these hours. Choosing one shows only that type; choosing it again shows all.
func (p *flowPage) Legend() []kind {
	var out []kind
	for _, t := range mail.Types() {
		if n := p.Counts[t]; n > 0 || t == p.Kind {
			k := kind{Type: t, Count: n, Only: t == p.Kind, Href: p.With("type", string(t))}
			if k.Only {
				k.Href = p.With("type", "")
			}
			out = append(out, k)
		}
	}
	return out
}

// Summary describes the talk picture in words.
func (p *flowPage) Summary() string {
	return "Messages between agents, " + p.Span() + ": " + wording.Plural(len(p.Web.Pairs), "pair") + " with " +
		wording.Plural(p.Items, "message") + ". The table has the same numbers."
}

// PairHref is the history of one agent's mail to another in these hours.
func (p *flowPage) PairHref(e picture.Pair) string { return p.pairHref(p.Base, e) }

func (p *flowPage) pairHref(base string, e picture.Pair) string {
	pair := page.Filters{"from": string(mail.AgentAddress(e.From)), "agent": string(e.To)}
	return pair.Href(base+"/history", "since", p.Since.String(), "until", p.Until.String(), "type", string(p.Kind))
}

// PairTitle describes a pair in words.
func (p *flowPage) PairTitle(e picture.Pair) string {
	return string(e.From) + " to " + string(e.To) + ": " + wording.Plural(e.Count, "message") + ", " +
		strconv.Itoa(e.Read) + " read"
}
