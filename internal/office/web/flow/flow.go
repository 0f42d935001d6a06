package flow

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/picture"
	"pennypost/internal/office/web/waits"
	"pennypost/internal/office/web/words"
)

// mostArrows is how many messages one picture has: more are not looked at, and slow a browser down.
const mostArrows = 300

// flowPage is a picture of some hours.
type flowPage struct {
	*page.View
	Picture string // "" for the sequence, "talk" for who talks to whom, "waiting" for who waits for whom
	Window  window
	Until   mail.Time // the end of the hours; 0: they end now
	Kind    mail.Type // the only type that is shown; "": all

	Since  mail.Time // the beginning of the hours; 0: all that there is
	Items  int
	Cut    mail.Time // of the messages before this none is drawn, because there are too many; 0: all are
	Counts map[mail.Type]int
	Chart  picture.Chart
	Web    picture.Talk
	Strip  []bar
	Last   mail.Time // if there is nothing in these hours: when there was something before

	Chains []waits.Chain // who waits for whom now
	Others int           // chains and questions that are not shown
}

// window is how much time a picture shows.
type window struct {
	Name, Title string
	Long        time.Duration // 0: all
}

// windows are the choices, from near to far.
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
	if p.Picture == "waiting" {
		draw = p.wait
	}
	if err := draw(); err != nil {
		return err
	}
	return v.Render("flow", p, "flow")
}

// choose reads what the address asks for.
func (p *flowPage) choose(q url.Values) error {
	p.Picture = q.Get("view")
	if !slices.Contains([]string{"", "talk", "waiting"}, p.Picture) {
		return mail.Errorf(mail.Invalid,
			"there is no picture %q of the flow; there are talk, waiting and the sequence",
			p.Picture)
	}
	name := q.Get("w")
	if name == "" {
		name = "1d"
	}
	i := slices.IndexFunc(windows, func(w window) bool { return w.Name == name })
	if i < 0 {
		return mail.Errorf(mail.Invalid, "the flow cannot show %q; it shows 1h, 6h, 1d, 7d or all", name)
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

// End is when the hours end.
func (p *flowPage) End() mail.Time {
	if p.Until != 0 {
		return p.Until
	}
	return mail.TimeOf(p.Now)
}

// draw asks for the messages of these hours and makes the picture.
func (p *flowPage) draw() error {
	ask := mail.HistoryQuery{Since: p.Since, Until: p.Until, Deliveries: true, Archive: p.Window.Long == 0,
		Limit: mail.MaxLimit}
	got, err := p.Svc.History(p.Ctx(), ask)
	if err != nil {
		return err
	}
	items := p.Undeleted(got.Messages)
	p.Counts = make(map[mail.Type]int)
	for i := range items {
		p.Counts[items[i].Type]++
	}
	p.Strip = p.bars(items, got.More)
	if p.Kind != "" {
		items = slices.DeleteFunc(items, func(it mail.Item) bool { return it.Type != p.Kind })
	}
	if len(items) == 0 {
		return p.nothing()
	}
	// What was imported stands in the journal when it came, and not when it was sent.
	slices.SortStableFunc(items, func(a, b mail.Item) int { return int(a.Sent - b.Sent) })
	more := got.More
	if p.Picture == "" && len(items) > mostArrows {
		items, more = items[len(items)-mostArrows:], true
	}
	if more {
		p.Cut = items[0].Sent
	}
	if p.Items = len(items); p.Picture == "talk" {
		p.Web = picture.NewTalk(items)
	} else {
		p.Chart = picture.NewChart(items, p.Now)
	}
	return nil
}

// mostChains is how many chains one picture has.
const mostChains = 100

// wait finds who waits for whom.
func (p *flowPage) wait() error {
	links, rest, err := waits.In(p.View)
	p.Chains = waits.ChainsOf(links)
	p.Others = rest + max(len(p.Chains)-mostChains, 0)
	p.Chains = p.Chains[:min(len(p.Chains), mostChains)]
	return err
}

// nothing finds what there was before these hours.
func (p *flowPage) nothing() error {
	ask := mail.HistoryQuery{Until: p.End(), Archive: true, Limit: 1}
	if p.Kind != "" {
		ask.Types = []mail.Type{p.Kind}
	}
	got, err := p.Svc.History(p.Ctx(), ask)
	if len(got.Messages) > 0 {
		p.Last = got.Messages[0].Sent
	}
	return err
}

// Here is the address of the picture, for its refreshing.
func (p *flowPage) Here() string { return p.With("", "") }

// With is the address of this picture with one thing changed.
func (p *flowPage) With(key, value string) string {
	is := map[string]string{"view": p.Picture, "w": p.Window.Name, "until": p.Until.String(), "type": string(p.Kind)}
	is[key] = value
	if is["w"] == "1d" {
		is["w"] = ""
	}
	return page.Address(p.Base+"/flow", "type", is["type"], "until", is["until"], "view", is["view"], "w", is["w"])
}

// Windows are the choices of how much is shown.
func (p *flowPage) Windows() []window { return windows }

// zoom is the address of the window n steps farther; "" if there is none.
func (p *flowPage) zoom(n int) string {
	if i := slices.Index(windows, p.Window) + n; i >= 0 && i < len(windows) {
		return p.With("w", windows[i].Name)
	}
	return ""
}

// In and Out are the addresses of less and more time.
func (p *flowPage) In() string { return p.zoom(-1) }

// Out see In.
func (p *flowPage) Out() string { return p.zoom(1) }

// Earlier is the address of the hours before; "" if all is shown.
func (p *flowPage) Earlier() string {
	if p.Since == 0 {
		return ""
	}
	return p.With("until", p.Since.String())
}

// Later is the address of the hours behind; "" if they have not come.
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

// BeforeHref is the address of what was left out.
func (p *flowPage) BeforeHref() string { return p.With("until", p.Cut.String()) }

// LastHref is the address of the hours in which something happened last.
func (p *flowPage) LastHref() string { return p.With("until", p.Last.Add(time.Minute).String()) }

// Span says which hours are shown.
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

// kind is an entry of the legend.
type kind struct {
	Type  mail.Type
	Count int
	Href  string
	Only  bool // it is the only one that is shown
}

// Glyph is the type's sign.
func (k kind) Glyph() string { return picture.Glyph(k.Type, 7, 8) }

// Legend lists the types that these hours have. Choosing one shows only that; choosing it again shows all.
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

// Summary is the picture in words.
func (p *flowPage) Summary() string {
	if p.Picture == "talk" {
		return "Who talks to whom, " + p.Span() + ": " + wording.Plural(len(p.Web.Pairs), "pair") + " with " +
			wording.Plural(p.Items, "message") + ". The table has the same numbers."
	}
	names := make([]string, 0, len(p.Chart.Lanes))
	for _, l := range p.Chart.Lanes {
		names = append(names, l.Label)
	}
	return "Sequence of messages, " + p.Span() + ": " + wording.Plural(p.Items, "message") + " between " +
		strings.Join(names, ", ") + ". Each link is a message, in the order of time."
}

// Newest are the messages of the picture as a list, the newest first.
func (p *flowPage) Newest() []page.Post {
	out := make([]page.Post, 0, len(p.Chart.Arrows))
	for _, a := range slices.Backward(p.Chart.Arrows) {
		out = append(out, page.Post{View: p.View, Item: a.Item})
	}
	return out
}

// ArrowHref is the conversation of an arrow.
func (p *flowPage) ArrowHref(a picture.Arrow) string {
	return page.Post{View: p.View, Item: a.Item}.ThreadHref()
}

// ArrowTitle is a message in words.
func (p *flowPage) ArrowTitle(a picture.Arrow) string {
	state := words.OutcomeOf(a.Item.Deliveries).String()
	if a.Item.Settled != nil {
		state = words.Settled(p.Now, a.Item.Settled)
	}
	return words.Moment(p.Now, a.Item.Sent) + " " + words.Sender(a.Item.Message) + " to " + words.Names(a.Item.To) +
		": " +
		words.Subject(&a.Item.Message) + " (" + string(a.Item.Type) + ", " + state + ")"
}

// PairHref is what one wrote to another in these hours.
func (p *flowPage) PairHref(e picture.Pair) string {
	pair := page.Filters{"from": string(mail.AgentAddress(e.From)), "agent": string(e.To)}
	return pair.Href(p.Base+"/history", "since", p.Since.String(), "until", p.Until.String(), "type", string(p.Kind))
}

// PairTitle is a pair in words.
func (p *flowPage) PairTitle(e picture.Pair) string {
	return string(e.From) + " to " + string(e.To) + ": " + wording.Plural(e.Count, "message") + ", " +
		strconv.Itoa(e.Read) + " read"
}

// bar is a piece of the time that is shown, and how much was sent in it.
type bar struct {
	X, Y, Width, Height int
	Count               int
	Label               string // below it; "" for most
	Title, Href         string
}

const (
	bars      = 48
	barWidth  = 22
	barHeight = 28
)

// bars cuts the time that is shown into pieces; choosing one goes there. With more, there are earlier messages than
// items.
func (p *flowPage) bars(items []mail.Item, more bool) []bar {
	from, to := p.Since, p.End()
	if (from == 0 || more) && len(items) > 0 { // of the time before, nothing is known
		from = slices.MinFunc(items, func(a, b mail.Item) int { return int(a.Sent - b.Sent) }).Sent
	}
	step := (to - from) / bars
	if from == 0 || step <= 0 {
		return nil
	}
	var counts [bars]int
	most := 1
	for i := range items {
		n := min(max(int((items[i].Sent-from)/step), 0), bars-1)
		counts[n]++
		most = max(most, counts[n])
	}
	near := p.nearer(time.Duration(step) * time.Millisecond)
	out := make([]bar, 0, bars)
	for i, n := range counts {
		begin := from + mail.Time(i)*step
		b := bar{X: i * barWidth, Width: barWidth - 2, Count: n, Height: n * barHeight / most}
		if n > 0 {
			b.Height = max(b.Height, 2)
		}
		b.Y = barHeight - b.Height
		if i%8 == 0 {
			b.Label = words.Moment(p.Now, begin)
		}
		b.Title = words.Moment(p.Now, begin) + " – " + words.Clock(begin+step) + ": " + wording.Plural(n, "message")
		q := *p
		q.Window, q.Until = near, begin+step
		if near.Long > step.Sub(0) { // the piece stands in the middle
			q.Until = min(begin+step/2+mail.Time((near.Long/2).Milliseconds()), mail.TimeOf(p.Now))
		}
		b.Href = q.Here()
		out = append(out, b)
	}
	return out
}

// nearer is the window to which a piece of that length is opened.
func (p *flowPage) nearer(step time.Duration) window {
	for _, w := range windows {
		if w.Long >= step {
			return w
		}
	}
	return windows[len(windows)-2]
}
