package tui

import (
	"context"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// message is what the model hears of: a type below, or one that answers an effect. It changes the model, and returns
// what is to be done.
type message interface{ change(*model) []effect }

type (
	key     string // as keyName spells it
	pasted  string // text that was pasted, whatever characters are in it
	resized struct{ width, height int }
	// minute says that times are to be told again.
	minute struct{ now time.Time }
	// changed says that something happened in some room.
	changed struct{}
	// away says that the post office does not answer; nil: it does again.
	away struct {
		err error
		at  time.Time
	}
)

// effect is what the model wants done: one of the types below.
type effect any

type (
	// call asks the post office, and its answer is a message.
	call func(context.Context, mail.Office) message
	// later is a message in a while.
	later struct {
		in   time.Duration
		then message
	}
	// editor has the person edit a text in their editor; an edited answers.
	editor struct{ text, beside string }
	// suspend gives the terminal back to the shell until the person returns.
	suspend struct{}
	// quit ends the view.
	quit struct{}
)

// edited is what came out of the editor.
type edited struct {
	text string
	err  error
}

// tab is a list that fills the screen.
type tab int

const (
	needs tab = iota
	updates
	agents
	stuck
	waits
	tabs // how many
)

// model is what the person sees, and what they are about.
type model struct {
	width, height int
	now           time.Time
	room          mail.RoomName // the only one that is shown; "": all

	tab     tab
	lists   [agents]list               // needs and updates
	waiting int                        // how many conversations need the person
	unread  int                        // messages of the updates
	fleet   [tabs - agents]pane[entry] // agents, what is stuck, and who waits
	notRead []mail.RoomName            // rooms of the fleet that have not been read yet
	closed  []mail.RoomName            // rooms of the fleet that cannot be asked
	readsOn bool                       // they will be asked for again
	filter  filter

	desk     loading   // of the lists
	people   loading   // of the fleet
	stale    bool      // the last look at the desk failed
	lost     error     // the post office cannot be heard, as the connection of the watch says
	since    time.Time // since when
	shut     []mail.RoomName
	trouble  string // how old the lists are, while what keeps rooms cannot be reached
	degraded string // what is not as it should be with it

	talk   *talk   // the conversation that is open
	dialog *dialog // the dialog that is open
	peek   peek    // what stands beside the list
	box    *box    // what is being written
	choice *choice // what is being asked
	help   bool
	first  bool // the first question is opened as soon as it is known
	plain  bool // there are no colours

	drafts  map[string]string // what was written and not sent, by key of the conversation
	held    []*pending        // what the post office did not take; S sends it again
	pending []*pending        // what leaves soon
	answers int               // answers to dialogs that are on their way
	last    *undo             // what z takes back when nothing is pending
	made    int               // how many pending there ever were
	leaving bool              // the view ends when nothing is pending any more

	notice string // what has just happened
	// failedLook is the notice of the last look at the office that failed.
	failedLook string
}

// filter is what of the lists is shown.
type filter struct {
	words  string // that stand somewhere in a row
	from   mail.Name
	status bool // the status messages that are one row otherwise
	search string
}

// loading keeps a look at the post office from running beside another, and its answer from being taken for the present
// when something was done meanwhile.
type loading struct {
	running, again bool
}

// begin reports whether to look now; if not, it will be when the look that runs has ended.
func (l *loading) begin() bool {
	l.again = l.running
	if l.running {
		return false
	}
	l.running = true
	return true
}

// end notes that a look has ended, and reports whether to look again instead of believing it.
func (l *loading) end() bool {
	l.running = false
	return l.again
}

func newModel(room mail.RoomName, now time.Time) *model {
	return &model{room: room, now: now, lists: [agents]list{newList(), newList()}, fleet: newFleet(),
		drafts: map[string]string{}}
}

// start returns what is to be done first.
func (m *model) start() []effect {
	return append(m.reload(), later{time.Minute, minute{}})
}

// update changes m by a message, and returns what is to be done.
func (m *model) update(msg message) []effect {
	out := msg.change(m)
	return append(out, m.glance()...)
}

func (k key) change(m *model) []effect { return m.key(string(k)) }

func (text pasted) change(m *model) []effect {
	if m.box == nil {
		return nil
	}
	m.box.insert(string(text))
	return m.boxChanged()
}

func (size resized) change(m *model) []effect {
	m.width, m.height = size.width, size.height
	m.settle()
	return nil
}

func (msg minute) change(m *model) []effect {
	m.now = msg.now
	out := []effect{later{time.Minute, minute{}}}
	if m.stale && m.lost == nil {
		out = append(out, m.reload()...)
	}
	return out
}

func (changed) change(m *model) []effect { return m.reload() }

func (msg away) change(m *model) []effect {
	back := m.lost != nil && msg.err == nil
	if m.lost == nil {
		m.since = msg.at
		if msg.err != nil && m.notice == m.failedLook {
			m.notice = "" // which only said this
		}
	}
	m.lost = msg.err
	if back {
		if n := len(m.held); n > 0 {
			m.notice = "The post office is back. Not sent yet: " + wording.Plural(n, "message") + " · S sends it"
		}
		return m.reload()
	}
	return nil
}

// reload looks at everything that is shown.
func (m *model) reload() []effect {
	var out []effect
	if m.desk.begin() {
		out = append(out, m.loadDesk())
	}
	out = append(out, m.lookAround()...)
	if m.twoPanes() {
		out = append(out, m.loadPeek()...)
	}
	if m.talk != nil {
		out = append(out, loadTalk(m.talk.room, m.talk.root))
	}
	if m.dialog != nil {
		out = append(out, loadDialog(m.dialog.card.ID))
	}
	return out
}

// rooms are those that are shown; nil: all.
func (m *model) rooms() []mail.RoomName {
	if m.room == "" {
		return nil
	}
	return []mail.RoomName{m.room}
}
