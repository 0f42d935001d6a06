package web

import (
	"net/url"
	"slices"
	"strconv"

	"pennypost/internal/mail"
)

// place is an entry of the places at the side.
type place struct {
	Name, Title, Path, Key string
	Count                  int
}

// Places lists the places, with the numbers that ask for attention.
func (v *view) Places() []place {
	return []place{
		{"inbox", "Inbox", "/", "i", v.Unread()},
		{"agents", "Agents", "/agents", "a", 0},
		{"channels", "Channels", "/channels", "c", 0},
		{"history", "History", "/history", "h", 0},
		{"flow", "Flow", "/flow", "f", 0},
		{"stuck", "Stuck", "/stuck", "s", v.Stuck()},
	}
}

// pageRows is how many rows a list has before it asks for more.
const pageRows = 50

// inboxPage is the inbox: what agents sent to the user.
type inboxPage struct {
	*view
	Shelf   string // which part of the mailbox: "", "unread", "snoozed" or "archived"
	Groups  []group
	Total   int      // rows
	Oldest  mail.Seq // the place of the last of them
	More    string   // where the list goes on
	Open    *letter
	Working int // agents
	Idle    int
}

// group is the rows of a list that belong to one time.
type group struct {
	Name  string
	Begun bool // above, by what the page has already
	Rows  []row
}

// shelves are the parts of the mailbox that the page can show.
var shelves = []string{"", "unread", "snoozed", "archived"}

// Shelves lists them for the page's tabs.
func (p *inboxPage) Shelves() []string { return shelves }

func inbox(v *view) error {
	v.Place, v.Title = "inbox", "Inbox"
	q := v.r.URL.Query()
	p := &inboxPage{view: v, Shelf: q.Get("show")}
	if !slices.Contains(shelves, p.Shelf) {
		return mail.Errorf(mail.Invalid, "the inbox has no part %q; it has unread, snoozed and archived", p.Shelf)
	}
	if v.svc == nil {
		return v.render("inbox", p)
	}
	if id := q.Get("m"); id != "" && !v.partial("rows") && !v.partial("more") {
		open, err := v.letter(mail.ID(id))
		if err != nil {
			return err
		}
		p.Open, v.Title = open, open.Heading()
	}
	if !v.partial("detail") {
		if err := p.list(q); err != nil {
			return err
		}
	}
	return v.render("inbox", p, "rows", "detail", "more")
}

// list fills the list from before the place that the address names, or down to a place if it names one: what is shown
// already is kept.
func (p *inboxPage) list(q url.Values) error {
	before, err := seqOf(q.Get("before"))
	if err != nil {
		return err
	}
	from, err := seqOf(q.Get("from"))
	if err != nil {
		return err
	}
	ask := mail.InboxQuery{Newest: true, Before: before, Limit: pageRows, All: p.Shelf != "unread"}
	if from > 0 {
		ask.After, ask.Limit = from-1, mail.MaxLimit
	}
	if p.Shelf == "snoozed" || p.Shelf == "archived" {
		ask.Place = mail.Place(p.Shelf)
	}
	found, err := p.svc.Inbox(p.ctx(), ask)
	if err != nil {
		return err
	}
	p.fill(found.Messages, q.Get("in"))
	if found.More {
		p.More = p.href("before", strconv.FormatUint(uint64(found.Next), 10), "in", p.Groups[len(p.Groups)-1].Name)
	}
	if p.Empty() {
		return p.agents()
	}
	return nil
}

// fill makes rows of messages, and groups of rows. The first group goes on with one that the page has.
func (p *inboxPage) fill(items []mail.Item, begun string) {
	p.Groups = []group{{Name: begun, Begun: true}}
	for _, it := range items {
		p.Oldest = it.Seq
		if p.hides(it.ID) {
			continue
		}
		r := row{view: p.view, Item: it, Href: p.href("m", string(it.ID)), Open: p.Open != nil && p.Open.ID == it.ID}
		r.Asks = it.Open
		if name := day(p.Now, it.Sent); p.Groups[len(p.Groups)-1].Name != name {
			p.Groups = append(p.Groups, group{Name: name})
		}
		last := &p.Groups[len(p.Groups)-1]
		last.Rows = append(last.Rows, r)
		p.Total++
	}
}

// agents counts who is at work, for a person who has nothing to do.
func (p *inboxPage) agents() error {
	list, err := p.svc.Agents(p.ctx(), mail.RosterQuery{Limit: 1})
	p.Working, p.Idle = list.States[mail.Working], list.States[mail.Idle]
	return err
}

// hides reports whether the message is about to be deleted.
func (v *view) hides(id mail.ID) bool { return v.site.undo.hides(target{v.Room, id}) }

// href returns the address of this part of the inbox with more in its query: keys and values.
func (p *inboxPage) href(more ...string) string {
	q := url.Values{}
	if p.Shelf != "" {
		q.Set("show", p.Shelf)
	}
	for i := 0; i < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	if len(q) == 0 {
		return p.Base + "/"
	}
	return p.Base + "/?" + q.Encode()
}

// Empty reports whether there is nothing to list, and not only nothing more.
func (p *inboxPage) Empty() bool {
	q := p.r.URL.Query()
	return p.Total == 0 && !q.Has("before") && !q.Has("from")
}

// Here is the address of the list.
func (p *inboxPage) Here() string { return p.href() }

// Live is the address of what the page shows first of the list, for its refreshing. What was loaded behind that stays
// as it is.
func (p *inboxPage) Live() string {
	if p.More == "" { // all of it
		return p.href()
	}
	return p.href("from", strconv.FormatUint(uint64(p.Oldest), 10))
}

// ShelfHref is the address of a part of the mailbox.
func (p *inboxPage) ShelfHref(name string) string {
	if name == "" {
		return p.Base + "/"
	}
	return p.Base + "/?show=" + name
}

// seqOf reads a place of the journal; "" is none.
func seqOf(text string) (mail.Seq, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, mail.Errorf(mail.Invalid, "%q is no place in a list", text)
	}
	return mail.Seq(n), nil
}
