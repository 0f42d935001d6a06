package room

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/waits"
	"pennypost/internal/office/web/words"
)

const (
	maxShown  = 5   // messages of one group that the page lists
	maxMended = 10  // that its buttons are about
	maxGroups = 12  // of one kind
	oneKind   = 50  // if only that is shown
	maxLive   = 100 // agents that are proposed
)

// stuckPage is what does not move, why, and what mends it.
type stuckPage struct {
	*page.View
	Kind     string // the only one that is shown; "": all
	Sections []stuckSection
	Closed   []closedRoom // of all rooms: those that are closed, and in which something was stuck
	Missing  page.Missing
	Takers   []liveRoom // of those that have something to be given away
}

// liveRoom is a room, and who can be given what others left there.
type liveRoom struct {
	*page.View
	Live []mail.Agent
}

// liveIn asks who is there in a room.
func liveIn(v *page.View) (liveRoom, error) {
	live, err := v.Svc.Agents(v.Ctx(), mail.RosterQuery{States: mail.LiveStates(), Limit: maxLive})
	return liveRoom{v, live.Agents}, err
}

// LiveID is the id of the list of them.
func (r liveRoom) LiveID() string { return liveID(r.Room) }

func liveID(room mail.RoomName) string { return "stuck-live-" + url.PathEscape(string(room)) }

// stuckSection is the groups of one kind, those that have waited longest.
type stuckSection struct {
	Kind, Title, Why string
	Groups           []*stuckGroup
	Total            int // with those that are not shown
}

// Rest is how many groups are not shown.
func (s stuckSection) Rest() int { return s.Total - len(s.Groups) }

// Here is the address of the page.
func (p *stuckPage) Here() string { return p.KindHref(p.Kind) }

// KindHref is the address of the page with one kind only.
func (p *stuckPage) KindHref(kind string) string {
	return p.Scoped(page.Address(p.Base+"/stuck", "kind", kind))
}

// stuckGroup is one thing that does not move: all mail of one kind that waits for the same agent or address, a bridge,
// a notice.
type stuckGroup struct {
	*page.View
	Kind     string       // of its section
	Who      mail.Address // for whom the mail is; "" if the group has a Title instead
	Title    string
	Why      string
	Since    mail.Time
	Items    []mail.Item  // the first of the mail, oldest first
	Count    int          // how much there is
	Many     bool         // and more
	Commands []string     // to be typed where the agents run
	Notice   mail.ID      // what the post office told the user of it
	Doors    []doorReport // what doors answered, as it told
	Bridge   string       // the id of a bridge
	Frozen   mail.Name    // an agent that somebody has paused
	Waits    []waits.Link // questions that somebody waits for
	Asks     []*mail.Card // the dialogs at which Who stands
	Held     []waits.Held // what others hold that it waits for
}

// doorReport is what a door answered when it was rung, as the post office tells in its notices.
type doorReport struct {
	Door   string `json:"door"`
	Answer string `json:"answer"`
}

// Key names the group among all, and stays the same from one look to the next.
func (s *stuckGroup) Key() string {
	key := s.Kind + "-" + url.PathEscape(cmp.Or(string(s.Who), s.Bridge, string(s.Notice), s.Title))
	if s.View != nil && s.Several() {
		key += "-" + url.PathEscape(string(s.Room))
	}
	return key
}

// LiveID is the id of the list of those who can be given what is in the group.
func (s *stuckGroup) LiveID() string { return liveID(s.Room) }

// Shown are the messages that the page lists.
func (s *stuckGroup) Shown() []page.Post { return s.Posts(s.Items[:min(maxShown, len(s.Items))]) }

// Rest is how many messages the page does not list.
func (s *stuckGroup) Rest() int { return max(0, s.Count-maxShown) }

// About says of how much of the mail the buttons are.
func (s *stuckGroup) About() string {
	if s.Count > len(s.Items) {
		return " the first " + strconv.Itoa(len(s.Items))
	}
	return ""
}

// Role is the role that somebody is to have for the mail to move, or "".
func (s *stuckGroup) Role() string {
	if s.Kind == "held" {
		return s.Who.Value()
	}
	return ""
}

// Lost reports whether the mail will not be read unless somebody does something with it.
func (s *stuckGroup) Lost() bool { return s.Kind == "dead" || s.Kind == "expired" }

// Movable reports whether the mail can go to another reader. What is held goes to whoever is given the role, and would
// then be there twice.
func (s *stuckGroup) Movable() bool { return s.Lost() || s.Kind == "waiting" }

// Tellable reports whether there is an agent who should know that its mail was not read.
func (s *stuckGroup) Tellable() bool {
	return s.Lost() && slices.ContainsFunc(s.Items, func(it mail.Item) bool { return isAgent(it.From) })
}

// Written is the one message of the user's own that is lost here: it can be deleted. "" if there is none, or others.
func (s *stuckGroup) Written() mail.ID {
	if s.Lost() && s.Count == 1 && s.Items[0].From == mail.ToUser {
		return s.Items[0].ID
	}
	return ""
}

// WhoHref is the page of the agent or the address for which the mail is; "" if there is none.
func (s *stuckGroup) WhoHref() string {
	switch {
	case s.Who == "":
		return ""
	case s.Who.Kind() == mail.ToAgent:
		return s.AgentHref(s.Who)
	}
	return s.ChannelHref(s.Who)
}

// isAgent reports whether a sender is an agent of this room, and so can be answered.
func isAgent(from mail.Address) bool {
	return (from.Kind() == mail.ToAgent || from == mail.ToOrchestrator) && from != mail.FromSystem &&
		!strings.Contains(string(from), "@")
}

func (t *tallies) stuck(v *page.View) error {
	v.Place, v.Title = "stuck", "Stuck"
	p := &stuckPage{View: v, Kind: v.R.URL.Query().Get("kind")}
	if v.Svc == nil {
		return v.Render("stuck", p, "stuck-groups")
	}
	q := mail.StuckQuery{Limit: maxGroups, Mail: maxMended}
	if p.Kind != "" {
		q.Kind, q.Limit = mail.StuckKind(p.Kind), oneKind
	}
	list := p.here
	if v.Several() {
		list = p.everywhere
	}
	if err := list(t, q); err != nil {
		return err
	}
	return v.Render("stuck", p, "stuck-groups")
}

// here lists what is stuck in the room.
func (p *stuckPage) here(t *tallies, q mail.StuckQuery) error {
	live, err := liveIn(p.View)
	if err != nil {
		return err
	}
	p.Takers = []liveRoom{live}
	if p.Sections, err = t.groups(p.View, q); err != nil {
		return err
	}
	return nil
}

// Total is how many groups there are.
func (p *stuckPage) Total() int {
	n := countStuck(p.Sections)
	for _, c := range p.Closed {
		n += c.Total
	}
	return n
}

func countStuck(sections []stuckSection) int {
	n := 0
	for _, s := range sections {
		n += s.Total
	}
	return n
}

// mended answers a change on this page.
func mended(v *page.View, format string, args ...any) error {
	return v.Changed("/stuck", "pp-mended, pp-sent", "toast-done",
		page.Toast{View: v, Text: fmt.Sprintf(format, args...), MS: 6000})
}

// named returns the messages that a form of this page names.
func named(v *page.View) ([]mail.Item, error) {
	var items []mail.Item
	for _, id := range v.R.PostForm["id"] {
		it, err := v.Svc.Message(v.Ctx(), mail.ID(id))
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return items, nil
}

// sendOn sends messages that nobody reads to somebody else, as the user's: whose they were stands above them.
func sendOn(v *page.View) error {
	items, err := named(v)
	if err != nil {
		return err
	}
	to := strings.TrimSpace(v.R.PostForm.Get("to"))
	if to == "" || len(items) == 0 {
		return mail.Errorf(mail.Invalid, "say to whom it is to be sent: an agent or a role. Nothing was sent")
	}
	for i, it := range items {
		if _, err := v.Svc.Send(v.Ctx(), again(it, to)); err != nil {
			if i > 0 {
				return mail.Errorf(mail.CodeOf(err), "%d of %s went to %s; the next did not: %v", i,
					wording.Plural(len(items), "message"), to, err)
			}
			return err
		}
	}
	return mended(v, "%s sent on to %s", wording.Plural(len(items), "message"), to)
}

// again is a message as it goes to another reader. The answer to it settles what became of the first.
func again(it mail.Item, to string) mail.Draft {
	note := "*Sent on by the user: it was for " + words.Names(it.To) + ", and was not read.*"
	if it.From != mail.ToUser {
		note = "*Sent on by the user: " + words.Sender(it.Message) + " wrote it to " + words.Names(it.To) +
			", and it was not read.*"
	}
	sum := sha256.Sum256([]byte(string(it.ID) + "\x00" + to))
	return mail.Draft{
		To: mail.Recipients{to}, Type: string(it.Type), Subject: words.Subject(&it.Message),
		Body:     note + "\n\n" + it.Body,
		ReplyTo:  it.ID,
		Priority: string(it.Priority), Issue: it.Issue, Docs: it.Docs, Metadata: it.Metadata,
		Key: "sent-on-" + hex.EncodeToString(sum[:]),
	}
}

// tellSenders answers mail that nobody will read, so that its sender does not wait.
func tellSenders(v *page.View) error {
	items, err := named(v)
	if err != nil {
		return err
	}
	senders := make(map[mail.Address]bool)
	for _, it := range items {
		if !isAgent(it.From) {
			continue
		}
		_, err := v.Svc.Send(v.Ctx(), mail.Draft{
			To: mail.Recipients{string(it.From)}, Type: string(mail.Answer), ReplyTo: it.ID, Subject: "Not read: " +
				wording.ClipRunes(words.Subject(&it.Message), 200),
			Body: words.Names(it.To) + " did not read this, and will not. Do not wait for an answer.",
			Key:  "not-read-" + string(it.ID),
		})
		if err != nil {
			return err
		}
		senders[it.From] = true
	}
	if len(senders) == 0 {
		return mail.Errorf(mail.Invalid, "no agent of this room wrote it: nobody was told")
	}
	return mended(v, "%s told", wording.Plural(len(senders), "sender"))
}

// giveRole gives an agent a role, and with it the mail that is held for it.
func giveRole(v *page.View) error {
	name, role := mail.Name(strings.TrimPrefix(strings.TrimSpace(v.R.PostForm.Get("agent")),
		"agent:")), v.R.PostForm.Get("role")
	a, ok, err := mail.OneAgent(v.Ctx(), v.Svc, name)
	if err != nil {
		return err
	}
	if !ok {
		return mail.Errorf(mail.NotFound, "there is no agent %q in this room; nobody was given the role %s", name,
			role)
	}
	if !a.State.Live() {
		return mail.Errorf(mail.Conflict, "%s is %s, and would not get the mail; choose one that is there", name,
			a.State)
	}
	roles := a.Roles
	if !slices.Contains(roles, role) {
		roles = append(roles, role)
	}
	if _, err := v.Svc.Register(v.Ctx(), mail.Presence{Name: name, Roles: roles, Update: true}); err != nil {
		return err
	}
	return mended(v, "%s has the role %s", name, role)
}

// thaw lets an agent go on that was paused.
func thaw(v *page.View) error {
	a, err := v.Svc.Register(v.Ctx(), mail.Presence{Name: mail.Name(v.R.PostForm.Get("agent")), State: mail.Idle,
		Update: true})
	if err != nil {
		return err
	}
	return mended(v, "%s goes on", a.Name)
}

// dismiss archives what the post office told the user.
func dismiss(v *page.View) error {
	items, err := named(v)
	if err != nil {
		return err
	}
	for _, it := range items {
		if it.From != mail.FromSystem {
			return mail.Errorf(mail.Invalid, "only what the post office says can be dismissed")
		}
		if _, err := v.Svc.Mark(v.Ctx(), mail.Marking{IDs: []mail.ID{it.ID}, Mark: mail.MarkArchived}); err != nil {
			return err
		}
	}
	return mended(v, "Dismissed")
}

// syncBridge brings a bridge's files in step now.
func (t *tallies) syncBridge(v *page.View) error {
	b, err := v.Svc.SyncBridge(v.Ctx(), v.R.PostForm.Get("bridge"))
	if err != nil {
		return err
	}
	t.Forget(v.Room)
	if b.Failing != "" {
		return mended(v, "%s still fails: %s", b.ID, b.Failing)
	}
	return mended(v, "%s is in step", b.ID)
}

// verifyRoom reads every line of the room's files.
func verifyRoom(v *page.View) error {
	found, err := v.Svc.Verify(v.Ctx())
	if err != nil {
		return err
	}
	if len(found.Problems) == 0 {
		return mended(v, "All %s of %s are whole", wording.Plural(found.Lines, "line"),
			wording.Plural(found.Files, "file"))
	}
	p := found.Problems[0]
	return mended(v, "%s in %s; the first: %s line %d: %s", wording.Plural(len(found.Problems), "bad line"),
		wording.Plural(found.Lines, "line"), p.File, p.Line, p.Text)
}

// tallies remember how much is stuck in each room.
type tallies struct {
	rooms sync.Map // of tally, by the name of the room
}

// tally is how much was stuck when the room's journal stood there.
type tally struct {
	seq  mail.Seq
	at   time.Time
	took time.Duration // to count
	n    int
}

const (
	tallyAge  = 30 * time.Second     // what time alone makes stuck is counted that late at most
	tallyFree = 5 * time.Millisecond // counting that takes longer may take a twentieth of the time
)

// Get returns the count, counting only if something happened since the last time. A large room in which much happens
// is counted less often.
func (t *tallies) Get(room mail.RoomName, seq mail.Seq, count func() int) int {
	began := time.Now()
	kept, _ := t.rooms.Load(room)
	old, known := kept.(tally)
	age := began.Sub(old.at)
	if known && (old.seq == seq && age < tallyAge || old.took > tallyFree && age < 20*old.took) {
		return old.n
	}
	n := count()
	t.put(room, tally{seq: seq, at: began, took: time.Since(began), n: n})
	return n
}

// put remembers a count.
func (t *tallies) put(room mail.RoomName, n tally) { t.rooms.Store(room, n) }

// Forget has the room counted again.
func (t *tallies) Forget(room mail.RoomName) { t.rooms.Delete(room) }

// count is how many things are stuck in the rooms that a page shows.
func (t *tallies) count(v *page.View) int {
	if !v.Several() {
		return t.countIn(v)
	}
	open, closed, _ := v.Apart()
	n := 0
	for _, in := range open {
		n += t.countIn(in)
	}
	rooms, _, err := closedRooms(v, closed)
	if err != nil && v.Ctx().Err() == nil {
		v.Site.Log.Warn("what is stuck in closed rooms is not counted", "err", err)
	}
	for _, c := range rooms {
		n += c.Total
	}
	return n
}

// countIn is how many things are stuck in a room. If it cannot be found out now, the page itself will say so.
func (t *tallies) countIn(v *page.View) int {
	return t.Get(v.Room, v.At, func() int {
		sections, err := stuckGroups(v, mail.StuckQuery{Limit: 1, Mail: 1})
		if err != nil {
			return 0
		}
		return countStuck(sections)
	})
}

// groups finds what is stuck in a room, and remembers how much if it is all that there is.
func (t *tallies) groups(v *page.View, q mail.StuckQuery) ([]stuckSection, error) {
	began := time.Now()
	sections, err := stuckGroups(v, q)
	if err == nil && q.Kind == "" {
		t.put(v.Room, tally{seq: v.At, at: v.Now, took: time.Since(began), n: countStuck(sections)})
	}
	return sections, err
}
