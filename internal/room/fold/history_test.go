package fold_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"pennypost/internal/mail"
)

// act is an event in a room, or something that leads to one or several.
type act struct {
	What string    `json:"what,omitempty"` // "": the event
	At   mail.Time `json:"at,omitempty"`
	mail.Event
	IDs []mail.ID `json:"ids,omitempty"` // of trim, erase
}

// The acts that are not events.
const (
	trims    = "trim"    // retention takes those of some messages for which no one waits
	marks    = "mark"    // a checkpoint
	compacts = "compact" // the events that the last checkpoint releases leave the journal
	erases   = "erase"   // a user wants a message erased
	finishes = "finish"  // messages to be erased leave the journal
	reopens  = "reopen"  // the state is replayed from the journal
	repeats  = "repeat"  // the last event comes once more
)

func (a *act) String() string {
	b, err := json.Marshal(a)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// The subjects of the acts. The fewer there are, the more often they meet.
var (
	modelNames = []mail.Name{"ann", "bob", "cy", "orchestrator", "ann-2", "dan", "eve"}
	modelRoles = []string{"builder", "orchestrator", "scout"}
	modelKeys  = []string{"k1", "k2", mail.MadeKey + "1", mail.MadeKey + "2"}
	modelTexts = []string{"text 1", "text 2"}
)

const modelTag = "project:x"

// author makes up a history.
type author struct {
	*rand.Rand
	acts []act
	now  mail.Time
	sent []*mail.Message
	made []mail.ID // of scheduled messages
}

// history returns a random history of some acts.
func history(seed uint64, length int) []act {
	h := &author{Rand: rand.New(rand.NewPCG(seed, 1)), now: 1_000_000_000_000}
	for _, name := range modelNames[:3] {
		h.add(act{Event: mail.Event{Agent: &mail.AgentChange{Name: name, Roles: []string{"builder"}}}})
	}
	for len(h.acts) < length {
		h.pass()
		h.next()
	}
	return h.acts
}

func (h *author) add(a act) {
	a.At = h.now
	a.Event.At = h.now
	h.acts = append(h.acts, a)
}

func pick[T any](h *author, from []T) T { return from[h.IntN(len(from))] }

// one reports whether something happens that happens once in n times.
func (h *author) one(in int) bool { return h.IntN(in) == 0 }

// pass lets time pass: mostly so little that a session still holds its name.
func (h *author) pass() {
	switch h.IntN(12) {
	case 0:
		h.now += mail.Time(h.IntN(30*60*60) * 1000)
	case 1, 2:
		h.now += mail.Time(h.IntN(300) * 60 * 1000)
	default:
		h.now += mail.Time(h.IntN(60) * 1000)
	}
}

func (h *author) next() {
	switch n := h.IntN(100); {
	case n < 28:
		h.send()
	case n < 52:
		h.mark()
	case n < 60:
		h.presence()
	case n < 68:
		h.session()
	case n < 71:
		h.dialog()
	case n < 74:
		h.claim()
	case n < 75:
		h.schedule()
	case n < 77:
		h.person()
	case n < 80:
		h.settle()
	case n < 83:
		h.grant()
	case n < 89:
		h.add(act{What: trims, IDs: h.some()})
	case n < 92:
		h.add(act{What: marks})
		if h.one(2) {
			h.add(act{What: compacts})
		}
	case n < 94 && len(h.sent) > 0:
		id := h.id()
		if len(h.made) > 0 && h.one(4) {
			id = pick(h, h.made)
		}
		h.add(act{What: erases, IDs: []mail.ID{id}})
	case n < 95:
		h.add(act{What: finishes})
	case n < 96:
		h.add(act{What: compacts})
	case n < 98:
		h.add(act{What: reopens})
	default:
		h.add(act{What: repeats})
	}
}

// id returns one of the last messages.
func (h *author) id() mail.ID {
	if len(h.sent) == 0 {
		return "none"
	}
	return h.sent[max(0, len(h.sent)-1-h.IntN(8))].ID
}

func (h *author) some() (ids []mail.ID) {
	for _, m := range h.sent {
		if h.one(3) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// who returns someone who may write or read.
func (h *author) who() mail.Address {
	switch h.IntN(12) {
	case 0, 1:
		return mail.ToUser
	case 2:
		return "agent:stranger"
	}
	return mail.AgentAddress(pick(h, modelNames[:5]))
}

func (h *author) to() mail.Address {
	switch h.IntN(10) {
	case 0, 1:
		return "role:builder"
	case 2:
		return pick(h, []mail.Address{mail.ToOrchestrator, "role:scout", "far:ann@yard", "agent:nobody"})
	case 3, 4:
		return modelTag
	case 5:
		return mail.ToAll
	}
	return h.who()
}

func (h *author) send() {
	m := &mail.Message{ID: mail.ID(fmt.Sprint("m", len(h.sent)+1)), From: h.who(), Body: "x",
		Type: pick(h, mail.Types())}
	if h.one(3) {
		m.Type = mail.Question
	}
	for range 1 + h.IntN(2)*h.IntN(3) {
		if a := h.to(); !slices.Contains(m.To, a) {
			m.To = append(m.To, a)
		}
	}
	if h.one(5) {
		m.Priority = mail.Urgent
	}
	if h.one(6) {
		m.TTLSeconds = int64(pick(h, []int{60, 3600, 40 * 3600}))
	}
	if h.one(8) {
		m.Audience = pick(h, []string{mail.AudiencePresent, mail.AudienceTeam, mail.AudienceHolders,
			mail.AudienceHolders})
	}
	if h.one(4) {
		m.Key = pick(h, modelKeys)
	}
	if h.one(8) {
		m.Same = pick(h, modelTexts)
	}
	if h.one(12) {
		m.Sent = h.now.Add(-5 * day / 24)
	}
	if len(h.sent) > 0 && h.one(3) {
		h.answer(m)
	}
	if h.one(30) && len(h.sent) > 0 {
		m.ID = h.id()
	} else {
		h.sent = append(h.sent, m)
	}
	h.add(act{Event: mail.Event{Message: m}})
}

// answer makes m a reply, or a suggestion.
func (h *author) answer(m *mail.Message) {
	q := h.sent[max(0, len(h.sent)-1-h.IntN(8))]
	m.ReplyTo, m.Thread = q.ID, q.ThreadRoot()
	if h.one(2) {
		m.Type = pick(h, []mail.Type{mail.Answer, mail.ReviewResult})
		m.Suggests = h.one(5)
		if h.one(5) {
			m.Metadata = mail.Metadata(`{"declined":true}`)
		}
	}
}

func (h *author) mark() {
	rc := &mail.Receipt{Message: h.id(), Reader: h.who()}
	rc.Mark = pick(h, []mail.Mark{mail.MarkRead, mail.MarkRead, mail.MarkRead, mail.MarkRead, mail.MarkUnread,
		mail.MarkArchived, mail.MarkUnarchived, mail.MarkSnoozed, mail.MarkNotified, mail.MarkTold, mail.MarkUntold,
		mail.MarkPresented, mail.MarkPresented})
	switch rc.Mark {
	case mail.MarkSnoozed:
		rc.Until, rc.Reader = h.now.Add(day/24), mail.ToUser
	case mail.MarkNotified, mail.MarkPresented:
		rc.Door = pick(h, []string{mail.HookDoor, mail.InboxDoor, "exec", "tmux"})
	}
	h.add(act{Event: mail.Event{Receipt: rc}})
}

// presence is a registration of an agent without a session.
func (h *author) presence() {
	c := &mail.AgentChange{Name: pick(h, modelNames)}
	if h.one(2) {
		c.By = mail.User
	}
	if h.one(2) {
		c.Roles = []string{}
		for _, role := range modelRoles {
			if h.one(2) {
				c.Roles = append(c.Roles, role)
			}
		}
	}
	if h.one(2) {
		c.Tags = []string{modelTag}[:h.IntN(2)]
	}
	if h.one(3) {
		c.Parent = new(pick(h, modelNames))
	}
	if h.one(2) {
		c.State = pick(h, []mail.State{mail.Working, mail.Idle, mail.Frozen, mail.Gone})
	}
	c.TakeOver = h.one(12)
	h.add(act{Event: mail.Event{Agent: c}})
}

// session is a session that starts, reports something, or ends.
func (h *author) session() {
	c := &mail.AgentChange{Name: pick(h, modelNames[:5]), Session: pick(h, []string{"s1", "s2", "s3"})}
	switch h.IntN(6) {
	case 0:
		c.End = true
		if h.one(3) {
			c.By = mail.System
		}
	case 1, 2:
		c.Turn = mail.TurnStart
	case 3, 4:
		c.Turn, c.Over = mail.TurnEnd, h.one(4)
	default:
		c.TakeOver, c.Summed = h.one(3), h.one(3)
	}
	h.add(act{Event: mail.Event{Agent: c}})
}

// dialog is a dialog of a session that opens, is in doubt or ends. The post office of the session's machine reports
// it, which may be late: then the session, or the dialog, is no longer there.
func (h *author) dialog() {
	c := &mail.DialogChange{Agent: pick(h, modelNames[:2]), Session: pick(h, []string{"s1", "s2"})}
	c.Dialog = mail.Dialog{ID: pick(h, []mail.ID{"d-1", "d-2", "d-3"}), Kind: mail.AsksPermission, Tool: "Bash"}
	switch h.IntN(5) {
	case 0:
		c.Doubt = true
	case 1, 2:
		c.Outcome = pick(h, []mail.DialogOutcome{mail.DialogAllowed, mail.DialogDenied, mail.DialogEnded})
	}
	h.add(act{Event: mail.Event{Dialog: c}})
}

// person is an act of the person on an agent.
func (h *author) person() {
	c := &mail.AgentChange{Name: pick(h, modelNames), By: mail.User, Retired: true}
	if h.one(2) {
		c.Retired, c.Renamed = false, pick(h, modelNames)
		if c.Merge = h.one(3); c.Merge && h.one(3) {
			c.Renamed = mail.User
		}
	}
	h.add(act{Event: mail.Event{Agent: c}})
}

func (h *author) settle() {
	st := &mail.Settlement{Message: h.id(), By: mail.ToUser, As: mail.Withdrawn}
	if h.one(3) {
		st.As, st.Answer = mail.Answered, h.id()
	}
	h.add(act{Event: mail.Event{Settled: st}})
}

func (h *author) grant() {
	g := &mail.Grant{Agent: pick(h, modelNames), By: mail.User, At: h.now, Refused: h.one(4)}
	if h.one(2) {
		g.Role = "orchestrator"
	}
	if h.one(3) {
		g.Question, g.Answer = h.id(), h.id()
	}
	h.add(act{Event: mail.Event{Grant: g}})
}

// tell writes a history down, one act a line.
func tell(acts []act) string {
	var b strings.Builder
	for i := range acts {
		fmt.Fprintln(&b, acts[i].String())
	}
	return b.String()
}

// reduced returns the shortest history it finds that fails too: without acts, then without parts of them.
func reduced(acts []act, fails func([]act) bool) []act {
	for again := true; again; {
		again = false
		for size := len(acts) / 2; size > 0; size /= 2 {
			for at := 0; at+size <= len(acts); {
				if less := slices.Delete(slices.Clone(acts), at, at+size); fails(less) {
					acts, again = less, true
				} else {
					at += size
				}
			}
		}
		for at := range acts {
			for _, a := range simpler(acts[at]) {
				less := slices.Clone(acts)
				if less[at] = a; a.String() != acts[at].String() && fails(less) {
					acts, again = less, true
					break // the next round finds simpler ones
				}
			}
		}
	}
	return acts
}

// simpler returns versions of an act with less in it, each without another part.
func simpler(a act) (out []act) {
	if m := a.Message; m != nil {
		for _, less := range []func(*mail.Message){
			func(m *mail.Message) { m.To = m.To[:min(1, len(m.To))] },
			func(m *mail.Message) { m.To = m.To[max(0, len(m.To)-1):] },
			func(m *mail.Message) { m.Priority, m.TTLSeconds, m.Sent = "", 0, 0 },
			func(m *mail.Message) { m.Audience, m.Key, m.Same = "", "", "" },
			func(m *mail.Message) { m.ReplyTo, m.Thread, m.Metadata = "", "", nil },
			func(m *mail.Message) { m.Type = mail.Custom },
		} {
			a.Message = new(*m)
			less(a.Message)
			out = append(out, a)
		}
	}
	if c := a.Agent; c != nil {
		for _, less := range []func(*mail.AgentChange){
			func(c *mail.AgentChange) { c.Tags, c.Parent = nil, nil },
			func(c *mail.AgentChange) { c.Roles = c.Roles[:min(1, len(c.Roles))] },
			func(c *mail.AgentChange) { c.State, c.TakeOver, c.Summed = "", false, false },
			func(c *mail.AgentChange) { c.Session, c.Turn = "", "" },
		} {
			a.Agent = new(*c)
			less(a.Agent)
			out = append(out, a)
		}
	}
	for i := range a.IDs {
		less := a
		less.IDs = slices.Delete(slices.Clone(a.IDs), i, i+1)
		out = append(out, less)
	}
	return out
}
