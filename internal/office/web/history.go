package web

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pennypost/internal/mail"
	"pennypost/internal/mail/find"
)

// historyPage is everything in the room, or what filters leave of it.
type historyPage struct {
	*view
	Filters filters
	Problem string // what is wrong with the filters
	Days    []today
	Shown   int      // rows
	Total   int      // what fits, up to mail.MaxLimit
	Many    bool     // more than Total fit
	Threads int      // to which these belong
	Oldest  mail.Seq // the place of the last row
	More    string   // where the list goes on
	Loosen  []loosened
	Roster  []mail.Agent
}

// today is what was sent on one day.
type today struct {
	Name string
	Rows []event
}

// event is a message in the timeline.
type event struct {
	*view
	mail.Item
	search string
}

// loosened says how many messages fit when one of the filters is left out.
type loosened struct {
	Name, Label, Href string
	Count             int
	Many              bool
}

func history(v *view) error {
	v.Place, v.Title = "history", "History"
	q := v.r.URL.Query()
	p := &historyPage{view: v, Filters: filtersOf(q)}
	if v.svc == nil {
		return v.render("history", p)
	}
	if !v.scripted() {
		var err error
		if p.Roster, err = v.someAgents(""); err != nil {
			return err
		}
	}
	// the form names empty fields too, which the address does not need
	if strings.HasSuffix(v.r.Header.Get("HX-Source"), "#filters") {
		v.w.Header().Set("HX-Push-Url", p.Here())
	}
	err := p.list(q)
	status := http.StatusOK
	// a filter that is not understood leaves the page as it is, with a word about it
	if code := mail.CodeOf(err); code == mail.Invalid || code == mail.NotFound {
		p.Problem, status = err.Error(), http.StatusBadRequest
	} else if err != nil {
		return err
	}
	return p.answer(status, "history", p.wanted("list", "found", "rows", "more"), p)
}

// list fills the list from before the place that the address names, or down to a place if it names one: what is shown
// already is kept.
func (p *historyPage) list(q url.Values) error {
	before, err := seqOf(q.Get("before"))
	if err != nil {
		return err
	}
	down, err := seqOf(q.Get("down"))
	if err != nil {
		return err
	}
	ask, err := p.Filters.query(p.Now)
	if err != nil {
		return err
	}
	if before == 0 && down == 0 {
		if err := p.count(ask); err != nil || p.partial("found") {
			return err
		}
	}
	found, err := p.page(ask, before, down)
	if err != nil {
		return err
	}
	last := q.Get("day") // of the part before, whose heading stands already
	for _, it := range slices.Backward(p.shown(found.Messages)) {
		name := date(p.Now, it.Sent)
		if n := len(p.Days); n == 0 || p.Days[n-1].Name != name {
			p.Days = append(p.Days, today{Name: name})
		}
		d := &p.Days[len(p.Days)-1]
		d.Rows = append(d.Rows, event{view: p.view, Item: it, search: ask.Search})
		p.Oldest = it.Seq
		p.Shown++
	}
	if n := len(p.Days); found.More && n > 0 {
		p.More = p.href(map[string]string{"before": strconv.FormatUint(uint64(found.Next), 10),
			"day": p.Days[n-1].Name})
	}
	if len(p.Days) > 0 && p.Days[0].Name == last {
		p.Days[0].Name = ""
	}
	return nil
}

// page returns a page of the list. What has come since one was shown may be more than a page may have: then the list
// begins anew.
func (p *historyPage) page(ask mail.HistoryQuery, before, down mail.Seq) (mail.Page, error) {
	ask.Deliveries = true
	if down > 1 {
		ask.After, ask.Limit = down-1, mail.MaxLimit
		page, err := p.svc.History(p.ctx(), ask)
		if err != nil || !page.More {
			return page, err
		}
	}
	ask.Before, ask.After, ask.Limit = before, 0, pageRows
	return p.svc.History(p.ctx(), ask)
}

// count counts what fits, and if that is nothing, what would fit if one filter were left out.
func (p *historyPage) count(ask mail.HistoryQuery) error {
	ask.Limit = mail.MaxLimit
	found, err := p.svc.History(p.ctx(), ask)
	if err != nil {
		return err
	}
	found.Messages = p.shown(found.Messages)
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
		less, err := p.Filters.without(c.Name).query(p.Now)
		if err != nil {
			return err
		}
		less.Limit = mail.MaxLimit
		if found, err = p.svc.History(p.ctx(), less); err != nil {
			return err
		}
		if n := len(found.Messages); n > 0 {
			p.Loosen = append(p.Loosen, loosened{Name: c.Name, Label: c.Label, Href: c.Href, Count: n,
				Many: found.More})
		}
	}
	return nil
}

// shown leaves out what is about to be deleted.
func (v *view) shown(items []mail.Item) []mail.Item {
	return slices.DeleteFunc(items, func(it mail.Item) bool { return v.hides(it.ID) })
}

// href is the address of the list with something more.
func (p *historyPage) href(more map[string]string) string {
	return p.Base + "/history" + p.Filters.address(more)
}

// Here is the address of the list.
func (p *historyPage) Here() string { return p.href(nil) }

// Live is the address of what the page shows first of the list, for its refreshing. What was loaded behind that stays
// as it is.
func (p *historyPage) Live() string {
	if p.More == "" && !p.r.URL.Query().Has("down") { // all of it
		return p.Here()
	}
	return p.href(map[string]string{"down": strconv.FormatUint(uint64(p.Oldest), 10)})
}

// ExportHref is the address from which the whole result is had as a file.
func (p *historyPage) ExportHref(format string) string {
	return p.Base + "/history/export" + p.Filters.address(map[string]string{"format": format})
}

// Types and States are the choices of the form, with what the address says and the form does not know.
func (p *historyPage) Types() []string {
	var all []string
	for _, t := range mail.Types() {
		all = append(all, string(t))
	}
	return withChosen(all, p.Filters["type"])
}

// States are those of deliveries.
func (p *historyPage) States() []string {
	var all []string
	for _, s := range mail.DeliveryStates() {
		all = append(all, string(s))
	}
	return withChosen(all, p.Filters["state"])
}

func withChosen(all []string, chosen string) []string {
	if chosen != "" && !slices.Contains(all, chosen) {
		all = append(all, chosen)
	}
	return all
}

// Addresses are what mail of the room can be addressed to, as far as the roster tells.
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
	slices.Sort(roles)
	slices.Sort(tags)
	return append(append(all, slices.Compact(roles)...), slices.Compact(tags)...)
}

// chip is a filter that holds.
type chip struct {
	Name, Label, Value string
	Href               string // without it
}

// Chips are the filters that hold.
func (p *historyPage) Chips() []chip {
	var out []chip
	for _, f := range filterNames {
		if value := p.Filters[f.name]; value != "" {
			if f.name == "archive" {
				value = ""
			}
			out = append(out, chip{Name: f.name, Label: f.label, Value: value, Href: p.Base + "/history" +
				p.Filters.without(f.name).address(nil)})
		}
	}
	return out
}

// Href is the address of the conversation, at this message.
func (e event) Href() string { return post{view: e.view, Item: e.Item}.ThreadHref() }

// Heading is the subject, or what serves as one, with what was searched for marked.
func (e event) Heading() template.HTML { return marked(subject(&e.Message), e.search) }

// Snippet is what stands behind the heading: the first line, or what surrounds a word that was searched for and is not
// in the heading.
func (e event) Snippet() template.HTML {
	line := firstLine(e.Body)
	for _, s := range find.Parse(e.search).Spans(e.Body) {
		if e.Subject == "" && strings.Contains(line, e.Body[s.From:s.To]) {
			continue
		}
		return marked(around(e.Body, s.From, s.To), e.search)
	}
	if e.Subject == "" {
		return ""
	}
	return template.HTML(template.HTMLEscapeString(line))
}

// around cuts what stands at text[i:j] out of text, with some of its surroundings, on one line.
func around(text string, i, j int) string {
	const most = 60 // bytes on either side: what a row can show
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

// marked returns text as HTML in which what was searched for is marked.
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

// Fate is the one word for what became of a message, and whether that is true of all its recipients.
func (e event) Fate() outcome { return outcomeOf(e.Deliveries) }
