package inbox

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/openalice"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/words"
)

// inboxPage is the inbox: conversations that need the user, and updates.
type inboxPage struct {
	*page.View
	known     *workspaces
	Shelf     string       // the part of the mailbox: "", "updates", "unread", "snoozed" or "archived"
	All       bool         // covers all rooms
	Workspace mail.Name    // mail of this workspace only; "": of every sender
	Unfolded  bool         // status reports have their own rows
	Focus     bool         // items that need the user are shown one by one, at full width
	Scopes    []scope      // other scopes to choose; none with one room and no workspaces
	Waiting   int          // how many conversations need the user
	Asked     []dialogCard // dialogs of agents' clients, above the mail that needs the user
	NeedsYou  []deskRow
	Kept      []deskRow             // archived questions that are still open
	Groups    []page.Group[deskRow] // the updates
	Reports   []deskRow             // folded status reports, if Unfolded
	Away      []mail.RoomName
	Trouble   string // the age of this data, while the rooms' store cannot be reached
	Degraded  string // the store's degraded state
	Total     int    // rows
	Last      string // the position of the last update
	More      string // the address of the next page
	Open      *letter
	Dialog    *dialogCard // shown instead of Open
	Over      *dialogEnd  // how a shown dialog ended
	Working   int         // agents
	Asking    int
	Idle      int
	Steps     *steps // for a person whose agents have not come yet
}

// deskRow is a conversation in the inbox. Its view is that of its room.
type deskRow struct {
	*page.View
	mail.Conversation
	Href      string
	Open      bool   // the page shows it in full
	Elsewhere bool   // the list covers several rooms
	All       string // names the row's conversations in forms, if it folds several
	Unfolded  bool   // they are listed below it
}

// shelves are the parts of the mailbox.
var shelves = []string{"", "updates", "unread", "snoozed", "archived"}

// Shelves lists them for the page's tabs.
func (p *inboxPage) Shelves() []string { return shelves }

func (w *workspaces) inbox(v *page.View) error {
	v.Place, v.Title = "inbox", "Inbox"
	q := v.R.URL.Query()
	p := &inboxPage{View: v, known: w, Shelf: q.Get("show"), All: v.AllRooms(),
		Workspace: mail.Name(q.Get("ws")), Unfolded: q.Has("reports"), Focus: q.Has("focus")}
	if !slices.Contains(shelves, p.Shelf) {
		return mail.Errorf(mail.Invalid, "the inbox has no part %q: use updates, unread, snoozed or archived",
			p.Shelf)
	}
	if p.Shelf == "updates" {
		v.Place = "updates"
	}
	if v.Svc == nil {
		p.Steps = new(steps)
		return v.Render("inbox", p)
	}
	if p.All {
		p.Workspace = ""
	}
	if !v.Partial("rows") && !v.Partial("more") {
		if err := p.opens(mail.ID(q.Get("m")), mail.ID(q.Get("d"))); err != nil {
			return err
		}
	}
	if !v.Partial("detail") {
		if err := p.list(q); err != nil {
			return err
		}
	}
	if err := p.focus(); err != nil {
		return err
	}
	if !v.Scripted() || v.Partial("list") {
		var err error
		if p.Scopes, err = p.scopes(); err != nil {
			return err
		}
	}
	return v.Render("inbox", p, "rows", "detail", "more", "list")
}

// opens shows a message, a dialog, or how a dialog ended.
func (p *inboxPage) opens(message, dialog mail.ID) (err error) {
	switch {
	case dialog != "":
		if p.Dialog, p.Over, err = cardOf(p.View, dialog); err != nil {
			return err
		}
		if p.Dialog != nil {
			p.Title = p.Dialog.Line()
		} else {
			p.Title = p.Over.Heading()
		}
	case message != "":
		if p.Open, err = letterAnywhere(p.View, message); err != nil {
			return err
		}
		p.Title = p.Open.Heading()
	}
	return nil
}

// focus opens the first item that needs the user, unless one is open. If none needs the user, it shows the list.
func (p *inboxPage) focus() error {
	opened := p.Dialog != nil || p.Over != nil || p.Open != nil
	switch {
	case !p.Focus || opened || p.Partial("rows") || p.Partial("more") || p.Partial("detail"):
	case len(p.Asked) > 0:
		p.Asked[0].Open = true
		return p.opens("", p.Asked[0].ID)
	case len(p.NeedsYou) > 0:
		first := &p.NeedsYou[0]
		first.Open = true
		in, err := p.Other(first.Conversation.Room)
		if err == nil {
			p.Open, err = letterOf(in, first.ID)
		}
		if err == nil {
			p.Title = p.Open.Heading()
		}
		return err
	default:
		p.Focus = false
	}
	return nil
}

// letterAnywhere returns a message of this room or, if the address names no room, of any open room.
func letterAnywhere(v *page.View, id mail.ID) (*letter, error) {
	l, err := letterOf(v, id)
	for i := 0; v.Everywhere && mail.CodeOf(err) == mail.NotFound && i < len(v.Rooms); i++ {
		if v.Rooms[i].Open {
			in, failed := v.Other(v.Rooms[i].Name)
			if failed != nil {
				return nil, failed
			}
			if there, none := letterOf(in, id); none == nil {
				return there, nil
			}
		}
	}
	return l, err
}

// underFocus limits the updates listed under Focus, where they are hidden. Leaving Focus loads the rest.
const underFocus = 4

// list fills the list with conversations from after the position in the query or, to refresh rows already shown, down
// to a position.
func (p *inboxPage) list(q url.Values) error {
	down, err := mail.ParseDeskSpot(q.Get("down"))
	if err != nil {
		return err
	}
	ask := p.query()
	ask.After, ask.Limit = q.Get("after"), page.Rows
	if q.Has("down") {
		ask.Limit = mail.MaxLimit
	}
	desk, err := p.Site.Office.Desk(p.Ctx(), ask)
	if err != nil {
		return err
	}
	if q.Get("down") != "" {
		desk.Updates = slices.DeleteFunc(desk.Updates, func(c mail.Conversation) bool {
			return c.Spot().Compare(down) > 0
		})
		desk.Next = ""
	}
	if p.Focus && ask.After == "" && !q.Has("down") && len(desk.Updates) > underFocus {
		desk.Updates = desk.Updates[:underFocus]
		desk.Next = desk.Updates[underFocus-1].Spot().String()
	}
	p.Waiting, p.Away, p.Trouble, p.Degraded = desk.Waiting, desk.Away, desk.Trouble, desk.Degraded
	if ask.After == "" {
		p.cards()
		p.needs(desk.Needs)
	}
	p.updates(desk.Updates)
	if last := page.Continued(p.Groups, q.Get("in")); desk.Next != "" {
		p.More = p.href("after", desk.Next, "in", last)
	}
	if p.Unfolded && ask.After == "" {
		if err := p.reports(ask); err != nil {
			return err
		}
	}
	if p.Empty() {
		return p.nothing()
	}
	return nil
}

// query is the desk query of the list.
func (p *inboxPage) query() mail.DeskQuery {
	q := mail.DeskQuery{Unread: p.Shelf == "unread"}
	if !p.All {
		q.Rooms = []mail.RoomName{p.Room}
	}
	switch p.Shelf {
	case "snoozed", "archived":
		q.Place = mail.Place(p.Shelf)
	case "updates":
		q.Part = mail.Updates
	}
	if p.Workspace != "" {
		q.From = "agent:" + string(p.Workspace)
	}
	return q
}

// needs makes rows of the conversations that need the user. It skips those being answered, and puts archived
// questions last.
func (p *inboxPage) needs(list []mail.Conversation) {
	for i := range list {
		r, ok := p.row(&list[i])
		switch {
		case !ok:
			p.Waiting--
		case r.State == mail.Archived:
			p.Kept = append(p.Kept, r)
		default:
			p.NeedsYou = append(p.NeedsYou, r)
		}
	}
	p.Total += len(p.NeedsYou) + len(p.Kept)
}

// Needy reports whether anything needs the user.
func (p *inboxPage) Needy() bool { return len(p.Asked)+len(p.NeedsYou)+len(p.Kept) > 0 }

// updates makes rows of the other conversations.
func (p *inboxPage) updates(list []mail.Conversation) {
	for i := range list {
		c := &list[i]
		p.Last = c.Spot().String()
		if r, ok := p.row(c); ok {
			p.Groups = page.Grouped(p.Groups, words.Day(p.Now, c.Sent), r)
			p.Total++
		}
	}
}

// reports makes rows of the folded status reports.
func (p *inboxPage) reports(ask mail.DeskQuery) error {
	ask.Status, ask.Part = true, mail.Updates
	desk, err := p.Site.Office.Desk(p.Ctx(), ask)
	if err != nil {
		return err
	}
	for i := range desk.Updates {
		if r, ok := p.row(&desk.Updates[i]); ok {
			p.Reports = append(p.Reports, r)
		}
	}
	return nil
}

// row makes the row of a conversation, unless its message is being deleted or answered.
func (p *inboxPage) row(c *mail.Conversation) (deskRow, bool) {
	in := p.In(c.Room, nil)
	r := deskRow{View: in, Conversation: *c, Elsewhere: p.All && len(p.Rooms) > 1, Href: in.Base + p.path("m",
		string(c.ID)), Open: p.Open != nil && p.Open.ID == c.ID && p.Open.Room == c.Room}
	if a, _ := in.Site.Undo.Answering(in.Target(c.ID)); a != nil && a.Settles {
		return r, false
	}
	if c.Folded > 0 {
		other := *p
		other.Unfolded = !p.Unfolded
		r.Unfolded, r.All, r.Href = p.Unfolded, p.reportLine(c.Sent), other.href()
		return r, true
	}
	return r, !in.Hides(c.ID)
}

// Heading is the subject, or its substitute.
func (r deskRow) Heading() string {
	return cmp.Or(label(&r.Message), r.Subject, r.Conversation.Preview, words.Subject(&r.Message))
}

// label is the sending workspace's label, which heads an entry that asks nothing.
func label(m *mail.Message) string {
	if m.Type.Asks() {
		return ""
	}
	label, _ := openalice.Label(m)
	return label
}

// Below is the text beside the heading: the beginning of the body, or the first document if the body is empty.
func (r deskRow) Below() string {
	if r.Heading() == r.Conversation.Preview {
		return ""
	}
	return r.Conversation.Preview
}

// Options are the answers that a question offers to press.
func (r deskRow) Options() []mail.Option {
	if !r.Item.Open || r.Folded > 0 {
		return nil
	}
	list := r.Metadata.Options()
	return list[:min(len(list), 9)]
}

// Lines names its messages as forms do: see messageLines.
func (r deskRow) Lines() string {
	if r.All != "" {
		return r.All
	}
	if len(r.IDs) == 0 {
		return messageLine(r.Conversation.Room, r.ID)
	}
	lines := make([]string, len(r.IDs))
	for i, id := range r.IDs {
		lines[i] = messageLine(r.Conversation.Room, id)
	}
	return strings.Join(lines, "\n")
}

// Due says when a snoozed message comes back.
func (r deskRow) Due() string { return words.Moment(r.Now, r.Snoozed) }

// Several reports whether the row has several messages.
func (r deskRow) Several() bool { return r.Messages > 1 && r.Folded == 0 }

// href is the address of this part of the inbox with more keys and values in its query.
func (p *inboxPage) href(more ...string) string { return p.Base + p.path(more...) }

// path is href without the room.
func (p *inboxPage) path(more ...string) string {
	rooms, reports, focus := "", "", ""
	if p.Focus {
		focus = "1"
	}
	if len(p.Rooms) > 1 {
		rooms = p.ScopeOf(p.All)
	}
	if p.Unfolded {
		reports = "1"
	}
	return page.Address(page.Address("/", more...),
		"focus", focus, "reports", reports, "rooms", rooms, "show", p.Shelf, "ws",
		string(p.Workspace))
}

// Empty reports whether the whole list is empty, not only its next page.
func (p *inboxPage) Empty() bool {
	q := p.R.URL.Query()
	return p.Total == 0 && q.Get("after") == "" && q.Get("down") == ""
}

// Updates reports whether the list has updates.
func (p *inboxPage) Updates() bool { return p.Total > len(p.Asked)+len(p.NeedsYou)+len(p.Kept) }

// At is when it was sent, in milliseconds.
func (r deskRow) At() int64 { return int64(r.Sent) }

// Here is the address of the list.
func (p *inboxPage) Here() string { return p.href() }

// Live is the address of the first rows, used to refresh them.
func (p *inboxPage) Live() string { return p.Again(p.href(), p.More, p.Last) }

// ListHref is the address of the list, for leaving Focus.
func (p *inboxPage) ListHref() string {
	other := *p
	other.Focus = false
	return other.href()
}

// FocusHref is the address that shows the items that need the user one by one.
func (p *inboxPage) FocusHref() string {
	other := inboxPage{View: p.View, All: p.All, Focus: true}
	return other.href()
}

// StateClass is the CSS class of the sender's letters.
func (r deskRow) StateClass() string {
	return r.View.StateClass(r.Conversation.Room, r.From, r.Item.Open)
}

// WaitingFor is how many agents wait for the asker.
func (r deskRow) WaitingFor() int {
	if !r.Item.Open {
		return 0
	}
	list, _ := r.WaitersFor(r.Conversation.Room, r.From.Signer())
	return len(list)
}

// ShelfName is the label of a part of the mailbox.
func (p *inboxPage) ShelfName(shelf string) string {
	switch shelf {
	case "":
		return "All"
	case "snoozed":
		return "Later"
	}
	return strings.ToUpper(shelf[:1]) + shelf[1:]
}

// ShelfHref is the address of a part of the mailbox.
func (p *inboxPage) ShelfHref(name string) string {
	other := *p
	other.Shelf, other.Unfolded = name, false
	return other.href()
}

// Lines names the rows of the list's own menu: the script fills them in.
func (p *inboxPage) Lines() string { return "" }
