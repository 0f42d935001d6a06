package tui

import (
	"context"
	"time"

	"pennypost/internal/mail"
)

// message is what the model hears of: one of the types below, or a key.
type message any

type (
	key     string // as keyName spells it
	pasted  string // text that was pasted, whatever characters are in it
	resized struct{ width, height int }
	// minute says that times are to be told again.
	minute struct{ now time.Time }
	// changed says that something happened in some room.
	changed struct{}
	// away says that the post office does not answer; nil: it does again.
	away struct{ err error }
	// closing says that the view is to end.
	closing struct{}
)

// effect is what the model wants done: one of the types below.
type effect any

type (
	// call asks the post office, and its answer is a message.
	call func(context.Context, mail.Office) message
	// pause is a message in a while.
	pause struct {
		length time.Duration
		then   message
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
	tabs // how many
)

// model is what the person sees, and what they are about.
type model struct {
	width, height int
	now           time.Time
	room          mail.RoomName // the only one that is shown; "": all

	tab     tab
	lists   [agents]list // needs and updates
	waiting int          // how many conversations need the person
	unread  int          // messages of the updates
	roster  roster
	filter  filter

	desk    loading // of the lists
	people  loading // of the roster
	stale   bool    // the last look at the desk failed
	lost    error   // the post office cannot be heard, as the connection of the watch says
	shut    []mail.RoomName
	trouble string // how old the lists are, while what keeps rooms cannot be reached

	talk   *talk   // the conversation that is open
	box    *box    // what is being written
	choice *choice // what is being asked
	help   bool

	drafts  map[string]string // what was written and not sent, by key of the conversation
	failed  map[string]bool   // which of them the post office did not take
	pending []*pending        // what leaves soon
	last    *undo             // what z takes back when nothing is pending
	made    int               // how many pending there ever were
	leaving bool              // the view ends when nothing is pending any more

	notice string // what has just happened
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
	return &model{room: room, now: now, drafts: map[string]string{}, failed: map[string]bool{}}
}

// start returns what is to be done first.
func (m *model) start() []effect {
	return append(m.reload(), pause{time.Minute, minute{}})
}

// update changes m by a message, and returns what is to be done.
func (m *model) update(msg message) []effect {
	switch msg := msg.(type) {
	case key:
		return m.key(string(msg))
	case pasted:
		if m.box != nil {
			m.box.insert(string(msg))
			return m.boxChanged()
		}
	case resized:
		m.width, m.height = msg.width, msg.height
		m.settle()
	case minute:
		m.now = msg.now
		out := []effect{pause{time.Minute, minute{}}}
		if m.stale && m.lost == nil {
			out = append(out, m.reload()...)
		}
		return out
	case changed:
		return m.reload()
	case away:
		return m.heard(msg.err)
	case deskLoaded:
		return m.deskLoaded(msg)
	case moreLoaded:
		m.moreLoaded(msg)
	case found:
		m.found(msg)
	case rosterLoaded:
		return m.rosterLoaded(msg)
	case talkLoaded:
		return m.talkLoaded(msg)
	case due:
		return m.due(msg)
	case left:
		return m.left(msg)
	case done:
		return m.done(msg)
	case beside:
		return m.beside(msg)
	case edited:
		return m.edited(msg)
	case closing:
		return m.quit()
	}
	return nil
}

// heard notes whether the post office answers.
func (m *model) heard(err error) []effect {
	back := m.lost != nil && err == nil
	m.lost = err
	if back {
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
	if m.tab == agents && m.people.begin() {
		out = append(out, loadRoster(m.room))
	}
	if m.talk != nil {
		out = append(out, loadTalk(m.talk.room, m.talk.root))
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
