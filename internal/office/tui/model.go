package tui

import (
	"context"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// message is an input of the model: a type below, or the result of an effect. It changes the model, and returns the
// effects to carry out.
type message interface{ change(*model) []effect }

type (
	key     string // as named by keyName
	pasted  string // pasted text, with any characters
	resized struct{ width, height int }
	// minute says that displayed times must be updated.
	minute struct{ now time.Time }
	// changed says that some room changed.
	changed struct{}
	// away says that the post office does not answer; nil: it answers again.
	away struct {
		err error
		at  time.Time
	}
)

// effect is something to carry out: one of the types below.
type effect any

type (
	// call calls the post office and returns the result as a message.
	call func(context.Context, mail.Office) message
	// later delivers a message after a while.
	later struct {
		in   time.Duration
		then message
	}
	// editor opens a text in the person's editor; the result is an edited.
	editor struct{ text, beside string }
	// suspend gives the terminal back to the shell until the person returns.
	suspend struct{}
	// quit ends the view.
	quit struct{}
)

// edited is the result of the editor.
type edited struct {
	text string
	err  error
}

// tab is a full-screen list.
type tab int

const (
	needs tab = iota
	updates
	agents
	stuck
	waits
	tabs // the number of tabs
)

// model is the view and its state.
type model struct {
	width, height int
	now           time.Time
	room          mail.RoomName // the only room shown; "": all

	tab     tab
	lists   [agents]list               // needs and updates
	waiting int                        // conversations that need the person
	unread  int                        // unread updates
	fleet   [tabs - agents]pane[entry] // agents, stuck mail and waits
	notRead []mail.RoomName            // rooms of the fleet not read yet
	closed  []mail.RoomName            // rooms of the fleet that cannot be read
	readsOn bool                       // a readOn for notRead is scheduled
	filter  filter

	desk     loading   // of the lists
	people   loading   // of the fleet
	stale    bool      // the last look at the desk failed
	lost     error     // the watch's connection broke
	since    time.Time // since when
	shut     []mail.RoomName
	trouble  string // the age of the lists, while the rooms' store cannot be reached
	degraded string // the store's degraded state

	talk   *talk   // the open conversation
	dialog *dialog // the open dialog
	peek   peek    // shown beside the list
	box    *box    // the text being written
	choice *choice // the view's own question
	help   bool
	first  bool // open the first question once it is loaded
	plain  bool // no colours

	drafts  map[string]string // unsent text by conversation key
	held    []*pending        // mail that failed to send; S sends it again
	pending []*pending        // mail to be sent soon
	answers int               // answers to dialogs being sent
	last    *undo             // what z undoes when no mail is pending
	made    int               // how many pending there have been
	leaving bool              // quit once nothing is being sent

	notice string // the latest news for the person
	// failedLook is the notice of the last failed look at the post office.
	failedLook string
}

// filter restricts the lists.
type filter struct {
	words  string // words that a row must contain
	from   mail.Name
	status bool // show the status messages that are otherwise folded into one row
	search string
}

// loading prevents concurrent looks at the post office, and discards a result that changes have made stale.
type loading struct {
	running, again bool
}

// begin reports whether to look now; if a look is running, another follows it.
func (l *loading) begin() bool {
	l.again = l.running
	if l.running {
		return false
	}
	l.running = true
	return true
}

// end records the end of a look, and reports whether to discard the result and look again.
func (l *loading) end() bool {
	l.running = false
	return l.again
}

func newModel(room mail.RoomName, now time.Time) *model {
	return &model{room: room, now: now, lists: [agents]list{newList(), newList()}, fleet: newFleet(),
		drafts: map[string]string{}}
}

// start returns the first effects.
func (m *model) start() []effect {
	return append(m.reload(), later{time.Minute, minute{}})
}

// update applies a message to m, and returns the effects to carry out.
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
			m.notice = "" // the notice of the same failure
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

// reload refreshes everything on the screen.
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

// rooms are the rooms shown; nil: all.
func (m *model) rooms() []mail.RoomName {
	if m.room == "" {
		return nil
	}
	return []mail.RoomName{m.room}
}
