package room

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"pennypost/internal/mail"
	"pennypost/internal/mail/find"
	render "pennypost/internal/office/markdown"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/words"
)

// historyPage is the room's mail, filtered.
type historyPage struct {
	*page.View
	Filters page.Filters
	Problem string // the error in the filters
	Days    []page.Group[event]
	Shown   int       // rows
	Total   int       // matching messages, up to mail.MaxLimit
	Many    bool      // more than Total match
	Threads int       // threads that the matches belong to
	On      page.Spot // where the list continues
	More    string    // the address of the next page; "" at the end
	Loosen  []loosened
	Roster  []mail.Agent
	Missing page.Missing // with all rooms
}

// event is a message in the timeline.
type event struct {
	page.Post
	search string
}

// loosened says how many messages match without one of the filters.
type loosened struct {
	Name, Label, Href string
	Count             int
	Many              bool
}

func history(v *page.View) error {
	v.Place, v.Title = "history", "History"
	q := v.R.URL.Query()
	p := &historyPage{View: v, Filters: page.FiltersOf(q)}
	if v.Svc == nil {
		return v.Render("history", p)
	}
	if !v.Scripted() {
		var err error
		if p.Roster, err = v.SomeAgents(""); err != nil {
			return err
		}
	}
	// the form also sends empty fields, which the address omits
	if strings.HasSuffix(v.R.Header.Get("HX-Source"), "#filters") {
		v.W.Header().Set("HX-Push-Url", p.Here())
	}
	err := p.list(q)
	status := http.StatusOK
	// an invalid filter leaves the page as it is and shows the error
	if code := mail.CodeOf(err); code == mail.Invalid || code == mail.NotFound {
		p.Problem, status = err.Error(), http.StatusBadRequest
	} else if err != nil {
		return err
	}
	return p.Answer(status, "history", p.Wanted("list", "found", "rows", "more"), p)
}

// list fills the list.
func (p *historyPage) list(q url.Values) error {
	ask, err := p.Filters.Query(p.Now)
	if err != nil {
		return err
	}
	if p.Several() {
		return p.everywhere(ask, q.Get("day"))
	}
	return p.here(ask, q)
}

// here fills the list of one room with messages before the spot in the address or, to refresh rows already shown,
// down to a spot.
func (p *historyPage) here(ask mail.HistoryQuery, q url.Values) error {
	before, err := page.ParseSpot(q.Get("before"))
	if err != nil {
		return err
	}
	down, err := page.ParseSpot(q.Get("down"))
	if err != nil {
		return err
	}
	if before == (page.Spot{}) && down == (page.Spot{}) {
		if err := p.count(ask); err != nil || p.Partial("found") {
			return err
		}
	}
	ask.Conversations = ask.Search != "" && ask.Thread == ""
	found, err := p.page(ask, before, down, q.Has("down"))
	if err != nil {
		return err
	}
	p.Missing.Partly = found.Partly
	if found.More {
		p.On = page.Spot{Sent: found.Messages[0].Sent, Seq: found.Next}
	}
	if ask.Conversations { // sort a page's conversations by the message shown, to fit under its day
		slices.SortFunc(found.Messages, func(a, b mail.Item) int { return page.SpotOf(&a).Compare(page.SpotOf(&b)) })
	}
	for _, it := range slices.Backward(p.Undeleted(found.Messages)) {
		p.Days = page.Grouped(p.Days, words.Date(p.Now, it.Sent), event{page.Post{View: p.View, Item: it}, ask.Search})
		p.Shown++
	}
	if last := page.Continued(p.Days, q.Get("day")); found.More && len(p.Days) > 0 {
		p.More = p.href("before", p.On.String(), "day", last)
	}
	return nil
}

// page returns a page of the list, by time sent or, where that order is not available, by arrival. If a refresh would
// exceed mail.MaxLimit, the list starts again.
func (p *historyPage) page(ask mail.HistoryQuery, before, down page.Spot, again bool) (mail.Page, error) {
	ask.Deliveries = true
	ask.BySent = !ask.Archive && ask.Search == ""
	if again {
		fresh := ask
		fresh.Limit = mail.MaxLimit
		if down != (page.Spot{}) {
			fresh.After = down.Seq - 1
		}
		if ask.BySent && down != (page.Spot{}) {
			fresh.Since = down.Sent
		}
		got, err := p.Svc.History(p.Ctx(), fresh)
		if err != nil || !got.More {
			return got, err
		}
	}
	if ask.Before = before.Seq; ask.BySent && before != (page.Spot{}) {
		ask.Until = before.Sent
	}
	ask.Limit = page.Rows
	return p.Svc.History(p.Ctx(), ask)
}

// count counts the matches. If there are none, it counts the matches without each filter in turn.
func (p *historyPage) count(ask mail.HistoryQuery) error {
	ask.Limit = mail.MaxLimit
	found, err := p.Svc.History(p.Ctx(), ask)
	if err != nil {
		return err
	}
	found.Messages = p.Undeleted(found.Messages)
	p.Total, p.Many = len(found.Messages), found.More
	threads := make(map[mail.ID]bool)
	for i := range found.Messages {
		threads[found.Messages[i].ThreadRoot()] = true
	}
	p.Threads = len(threads)
	if p.Total > 0 {
		return nil
	}
	for _, c := range p.Chips() {
		less, err := p.Filters.Without(c.Name).Query(p.Now)
		if err != nil {
			return err
		}
		less.Limit = mail.MaxLimit
		if found, err = p.Svc.History(p.Ctx(), less); err != nil {
			return err
		}
		if n := len(found.Messages); n > 0 {
			p.Loosen = append(p.Loosen, loosened{Name: c.Name, Label: c.Label, Href: c.Href, Count: n,
				Many: found.More})
		}
	}
	return nil
}

// href is the address of the list with more parameters.
func (p *historyPage) href(more ...string) string { return p.with(p.Filters, more...) }

// with is the address of the list with other filters.
func (p *historyPage) with(f page.Filters, more ...string) string {
	return p.Scoped(f.Href(p.Base+"/history", more...))
}

// Here is the address of the list.
func (p *historyPage) Here() string { return p.href() }

// Live is the address of the first rows, used to refresh them.
func (p *historyPage) Live() string {
	if p.Several() {
		return p.Here()
	}
	return p.Again(p.Here(), p.More, p.On.String())
}

// ExportHref is the address that exports the whole result as a file.
func (p *historyPage) ExportHref(format string) string {
	return p.Filters.Href(p.Base+"/history/export", "format", format)
}

// Types are the choices of the form, and the one in the address if the form lacks it.
func (p *historyPage) Types() []mail.Type { return withChosen(mail.Types(), p.Filters["type"]) }

// States are the delivery states, in the same way.
func (p *historyPage) States() []mail.DeliveryState {
	return withChosen(mail.DeliveryStates(), p.Filters["state"])
}

func withChosen[T ~string](all []T, chosen string) []T {
	if chosen != "" && !slices.Contains(all, T(chosen)) {
		all = append(slices.Clip(all), T(chosen))
	}
	return all
}

// Addresses are the addresses in the room that the roster implies.
func (p *historyPage) Addresses() []string {
	all := []string{string(mail.ToUser), string(mail.ToAll)}
	var roles, tags []string
	for i := range p.Roster {
		a := &p.Roster[i]
		all = append(all, string(a.Name))
		for _, role := range a.Roles {
			roles = append(roles, string(mail.RoleAddress(role)))
		}
		tags = append(tags, a.Tags...)
	}
	slices.SortFunc(roles, mail.CompareNames)
	slices.SortFunc(tags, mail.CompareNames)
	return append(append(all, slices.Compact(roles)...), slices.Compact(tags)...)
}

// chip is an active filter.
type chip struct {
	Name, Label, Value string
	Href               string // without this filter
}

// Chips are the active filters.
func (p *historyPage) Chips() []chip {
	var out []chip
	for _, f := range page.FilterNames {
		if value := p.Filters[f.Name]; value != "" {
			if f.Name == "archive" {
				value = ""
			}
			out = append(out, chip{Name: f.Name, Label: f.Label, Value: value,
				Href: p.with(p.Filters.Without(f.Name))})
		}
	}
	return out
}

// Heading is the subject, or its substitute, with matches marked.
func (e event) Heading() template.HTML { return marked(words.Subject(&e.Message), e.search) }

// Snippet is the text after the heading: the beginning of the body, or the text around a match that the heading
// lacks.
func (e event) Snippet() template.HTML {
	line := words.FirstLine(e.Body)
	wanted := find.Parse(e.search)
	text := e.Body
	if !wanted.Empty() {
		text = render.Preview(e.Body, len(e.Body))
		if len(wanted.Spans(text)) == 0 { // the match is in an address or in other hidden text
			text = e.Body
		}
	}
	for _, s := range wanted.Spans(text) {
		if e.Subject == "" && strings.Contains(line, text[s.From:s.To]) {
			continue
		}
		return marked(around(text, s.From, s.To), e.search)
	}
	if e.Subject == "" {
		return ""
	}
	return template.HTML(template.HTMLEscapeString(line))
}

// around returns text[i:j] and some of the text around it on one line.
func around(text string, i, j int) string {
	const most = 60 // bytes on either side that a row can show
	from, to := max(0, i-most/2), min(len(text), j+most)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	cut := strings.Join(strings.Fields(text[from:to]), " ")
	if from > 0 {
		cut = "…" + cut
	}
	if to < len(text) {
		cut += "…"
	}
	return cut
}

// marked returns text as HTML with the matches marked.
func marked(text, search string) template.HTML {
	var b strings.Builder
	at := 0
	for _, s := range find.Parse(search).Spans(text) {
		b.WriteString(template.HTMLEscapeString(text[at:s.From]) + "<mark>" +
			template.HTMLEscapeString(text[s.From:s.To]) + "</mark>")
		at = s.To
	}
	b.WriteString(template.HTMLEscapeString(text[at:]))
	return template.HTML(b.String())
}

// More is how many other matches its conversation has.
func (e event) More() int { return max(0, e.Hits-1) }
