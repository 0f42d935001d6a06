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
	maxShown   = 5   // messages listed per group
	maxActedOn = 10  // messages per group that its buttons act on
	maxGroups  = 12  // per kind
	oneKind    = 50  // when only that kind is shown
	maxLive    = 100 // agents suggested as recipients
)

// stuckPage lists stuck mail and other trouble, with reasons and remedies.
type stuckPage struct {
	*page.View
	Kind     string // the only kind shown; "": all
	Sections []stuckSection
	Closed   []closedRoom // with all rooms: the closed ones with stuck mail
	Missing  page.Missing
	Takers   []liveRoom // the rooms with mail to give away
}

// liveRoom is a room and the agents there that can take over its mail.
type liveRoom struct {
	*page.View
	Live []mail.Agent
}

// liveIn returns the live agents of a room.
func liveIn(v *page.View) (liveRoom, error) {
	live, err := v.Svc.Agents(v.Ctx(), mail.RosterQuery{States: mail.LiveStates(), Limit: maxLive})
	return liveRoom{v, live.Agents}, err
}

// LiveID is the id of the list of agents.
func (r liveRoom) LiveID() string { return liveID(r.Room) }

func liveID(room mail.RoomName) string { return "stuck-live-" + url.PathEscape(string(room)) }

// stuckSection is the groups of one kind that have waited longest.
type stuckSection struct {
	Kind, Title, Why string
	Groups           []*stuckGroup
	Total            int // with those not shown
}

// Rest is how many groups are not shown.
func (s stuckSection) Rest() int { return s.Total - len(s.Groups) }

// Here is the address of the page.
func (p *stuckPage) Here() string { return p.KindHref(p.Kind) }

// KindHref is the address of the page for one kind.
func (p *stuckPage) KindHref(kind string) string {
	return p.Scoped(page.Address(p.Base+"/stuck", "kind", kind))
}

// stuckGroup is one stuck thing: all mail of one kind for the same agent or address, a bridge, a notice.
type stuckGroup struct {
	*page.View
	Kind     string       // of its section
	Who      mail.Address // the recipient; "" if the group has a Title instead
	Title    string
	Why      string
	Since    mail.Time
	Items    []mail.Item  // the first messages, oldest first
	Count    int          // how many messages there are
	Many     bool         // there are more than Count
	Commands []string     // to type where the agents run
	Notice   mail.ID      // the post office's notice to the user about it
	Doors    []doorReport // the doors' answers, from the notice
	Bridge   string       // the id of a bridge
	Frozen   mail.Name    // a paused agent
	Waits    []waits.Link // unanswered questions
	Asks     []*mail.Card // the dialogs that Who is at
	Held     []waits.Held // claims of others that Who waits for
}

// doorReport is a door's answer to a ring, from the post office's notice.
type doorReport struct {
	Door   string `json:"door"`
	Answer string `json:"answer"`
}

// Key identifies the group across requests.
func (s *stuckGroup) Key() string {
	key := s.Kind + "-" + url.PathEscape(cmp.Or(string(s.Who), s.Bridge, string(s.Notice), s.Title))
	if s.View != nil && s.Several() {
		key += "-" + url.PathEscape(string(s.Room))
	}
	return key
}

// LiveID is the id of the list of agents that can take the group's mail.
func (s *stuckGroup) LiveID() string { return liveID(s.Room) }

// Shown are the messages listed on the page.
func (s *stuckGroup) Shown() []page.Post { return s.Posts(s.Items[:min(maxShown, len(s.Items))]) }

// Rest is how many messages the page does not list.
func (s *stuckGroup) Rest() int { return max(0, s.Count-maxShown) }

// About says how many messages the buttons act on, if not all.
func (s *stuckGroup) About() string {
	if s.Count > len(s.Items) {
		return " the first " + strconv.Itoa(len(s.Items))
	}
	return ""
}

// Role is the role that needs a holder for the mail to move, or "".
func (s *stuckGroup) Role() string {
	if s.Kind == "held" {
		return s.Who.Value()
	}
	return ""
}

// Lost reports whether the mail will not be read without help.
func (s *stuckGroup) Lost() bool { return s.Kind == "dead" || s.Kind == "expired" }

// Movable reports whether the mail can go to another reader. Held mail goes to the next holder of its role, so moving
// it would duplicate it.
func (s *stuckGroup) Movable() bool { return s.Lost() || s.Kind == "waiting" }

// Tellable reports whether an agent should hear that its mail was not read.
func (s *stuckGroup) Tellable() bool {
	return s.Lost() && slices.ContainsFunc(s.Items, func(it mail.Item) bool { return isAgent(it.From) })
}

// Written is the group's only message if the user wrote it, so it can be deleted; "" otherwise.
func (s *stuckGroup) Written() mail.ID {
	if s.Lost() && s.Count == 1 && s.Items[0].From == mail.ToUser {
		return s.Items[0].ID
	}
	return ""
}

// WhoHref is the page of the recipient; "" if there is none.
func (s *stuckGroup) WhoHref() string {
	switch {
	case s.Who == "":
		return ""
	case s.Who.Kind() == mail.ToAgent:
		return s.AgentHref(s.Who)
	}
	return s.ChannelHref(s.Who)
}

// isAgent reports whether a sender is an agent of this room that can be answered.
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
	q := mail.StuckQuery{Limit: maxGroups, Mail: maxActedOn}
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

// here lists the stuck groups of the room.
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

// changed answers a change made on this page.
func changed(v *page.View, format string, args ...any) error {
	return v.Changed("/stuck", "pp-resolved, pp-sent", "toast-done",
		page.Toast{View: v, Text: fmt.Sprintf(format, args...), MS: 6000})
}

// named returns the messages named in a form of this page.
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

// sendOn sends unread messages to another recipient as the user. A note above each names its first sender.
func sendOn(v *page.View) error {
	items, err := named(v)
	if err != nil {
		return err
	}
	to := strings.TrimSpace(v.R.PostForm.Get("to"))
	if to == "" || len(items) == 0 {
		return mail.Errorf(mail.Invalid, "name the agent or role to forward it to. Nothing was sent")
	}
	for i, it := range items {
		if _, err := v.Svc.Send(v.Ctx(), again(it, to)); err != nil {
			if i > 0 {
				return mail.Errorf(mail.CodeOf(err), "%d of %s forwarded to %s; the next was not: %v", i,
					wording.Plural(len(items), "message"), to, err)
			}
			return err
		}
	}
	return changed(v, "%s forwarded to %s", wording.Plural(len(items), "message"), to)
}

// again returns the draft that sends a message to another reader. It replies to the original, which settles that.
func again(it mail.Item, to string) mail.Draft {
	note := "*Forwarded by the user: it was for " + words.Names(it.To) + " and was not read.*"
	if it.From != mail.ToUser {
		note = "*Forwarded by the user: " + words.Sender(it.Message) + " wrote it to " + words.Names(it.To) +
			"; it was not read.*"
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

// tellSenders answers mail that will not be read, so that its senders stop waiting.
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
			Body: words.Names(it.To) + " did not read this and will not. Do not wait for an answer.",
			Key:  "not-read-" + string(it.ID),
		})
		if err != nil {
			return err
		}
		senders[it.From] = true
	}
	if len(senders) == 0 {
		return mail.Errorf(mail.Invalid, "no agent of this room wrote it; no sender was told")
	}
	return changed(v, "%s told", wording.Plural(len(senders), "sender"))
}

// giveRole gives an agent a role, and so the mail held for it.
func giveRole(v *page.View) error {
	name, role := mail.Name(strings.TrimPrefix(strings.TrimSpace(v.R.PostForm.Get("agent")),
		"agent:")), v.R.PostForm.Get("role")
	a, ok, err := mail.OneAgent(v.Ctx(), v.Svc, name)
	if err != nil {
		return err
	}
	if !ok {
		return mail.Errorf(mail.NotFound, "there is no agent %q in this room; the role %s was not assigned", name,
			role)
	}
	if !a.State.Live() {
		return mail.Errorf(mail.Conflict, "%s is %s and would not get the mail; choose a live agent", name,
			a.State)
	}
	roles := a.Roles
	if !slices.Contains(roles, role) {
		roles = append(roles, role)
	}
	if _, err := v.Svc.Register(v.Ctx(), mail.Presence{Name: name, Roles: roles, Update: true}); err != nil {
		return err
	}
	return changed(v, "%s has the role %s", name, role)
}

// thaw resumes a paused agent.
func thaw(v *page.View) error {
	a, err := v.Svc.Register(v.Ctx(), mail.Presence{Name: mail.Name(v.R.PostForm.Get("agent")), State: mail.Idle,
		Update: true})
	if err != nil {
		return err
	}
	return changed(v, "%s resumed", a.Name)
}

// dismiss archives notices of the post office to the user.
func dismiss(v *page.View) error {
	items, err := named(v)
	if err != nil {
		return err
	}
	for _, it := range items {
		if it.From != mail.FromSystem {
			return mail.Errorf(mail.Invalid, "only notices of the post office can be dismissed")
		}
		if _, err := v.Svc.Mark(v.Ctx(), mail.Marking{IDs: []mail.ID{it.ID}, Mark: mail.MarkArchived}); err != nil {
			return err
		}
	}
	return changed(v, "Dismissed")
}

// syncBridge syncs a bridge's files now.
func (t *tallies) syncBridge(v *page.View) error {
	b, err := v.Svc.SyncBridge(v.Ctx(), v.R.PostForm.Get("bridge"))
	if err != nil {
		return err
	}
	t.Forget(v.Room)
	if b.Failing != "" {
		return changed(v, "%s still fails: %s", b.ID, b.Failing)
	}
	return changed(v, "%s is in sync", b.ID)
}

// verifyRoom checks every line of the room's files.
func verifyRoom(v *page.View) error {
	found, err := v.Svc.Verify(v.Ctx())
	if err != nil {
		return err
	}
	if len(found.Problems) == 0 {
		return changed(v, "All %s of %s are intact", wording.Plural(found.Lines, "line"),
			wording.Plural(found.Files, "file"))
	}
	p := found.Problems[0]
	return changed(v, "%s in %s; the first: %s line %d: %s", wording.Plural(len(found.Problems), "bad line"),
		wording.Plural(found.Lines, "line"), p.File, p.Line, p.Text)
}

// tallies caches the stuck count of each room.
type tallies struct {
	rooms sync.Map // room name to tally
}

// tally is the number of stuck groups at one sequence number.
type tally struct {
	seq  mail.Seq
	at   time.Time
	took time.Duration // to count
	n    int
}

const (
	tallyAge  = 30 * time.Second     // the longest delay before a count includes things stuck by time alone
	tallyFree = 5 * time.Millisecond // a slower count may use at most a twentieth of the time
)

// Get returns the count. It counts only if the sequence number changed or the count is old, and less often if
// counting is slow.
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

// put caches a count.
func (t *tallies) put(room mail.RoomName, n tally) { t.rooms.Store(room, n) }

// Forget drops a room's count, so that the next Get counts again.
func (t *tallies) Forget(room mail.RoomName) { t.rooms.Delete(room) }

// count is the number of stuck groups in the rooms of a page.
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
		v.Site.Log.Warn("stuck mail of closed rooms not counted", "err", err)
	}
	for _, c := range rooms {
		n += c.Total
	}
	return n
}

// countIn is the number of stuck groups in a room, or 0 on an error, which the page itself will show.
func (t *tallies) countIn(v *page.View) int {
	return t.Get(v.Room, v.At, func() int {
		sections, err := stuckGroups(v, mail.StuckQuery{Limit: 1, Mail: 1})
		if err != nil {
			return 0
		}
		return countStuck(sections)
	})
}

// groups finds the stuck groups of a room, and caches their number if q asks for every kind.
func (t *tallies) groups(v *page.View, q mail.StuckQuery) ([]stuckSection, error) {
	began := time.Now()
	sections, err := stuckGroups(v, q)
	if err == nil && q.Kind == "" {
		t.put(v.Room, tally{seq: v.At, at: v.Now, took: time.Since(began), n: countStuck(sections)})
	}
	return sections, err
}
