package page

import (
	"sync"

	"pennypost/internal/mail"
)

// dialogs caches the clients' dialogs while a page is rendered. Copies of a View share it.
type dialogs struct {
	mu    sync.Mutex
	asked bool
	cards []mail.Card
}

// Cards are the open dialogs of all rooms, longest waiting first, with long texts truncated. They are loaded once. On
// an error there are none; the agents' terminals still show them.
func (v *View) Cards() []mail.Card {
	if v.Svc == nil && len(v.Rooms) == 0 || v.dialogs == nil {
		return nil
	}
	d := v.dialogs
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked {
		return d.cards
	}
	d.asked = true
	list, err := v.Site.Office.Dialogs(v.Ctx(), mail.DialogQuery{})
	if err != nil && v.Ctx().Err() == nil {
		v.Site.Log.Warn("dialogs not listed", "err", err)
	}
	d.cards = list.Cards
	return d.cards
}

// CardsAgain reloads the dialogs on the next use.
func (v *View) CardsAgain() { v.dialogs = new(dialogs) }

// CardsIn are the dialogs of one room.
func (v *View) CardsIn(room mail.RoomName) (list []mail.Card) {
	for _, c := range v.Cards() {
		if c.Room == room {
			list = append(list, c)
		}
	}
	return list
}

// CardOf is the longest waiting dialog of an agent in this room; nil if none.
func (v *View) CardOf(agent mail.Name) *mail.Card {
	cards := v.Cards()
	for i := range cards {
		if cards[i].Room == v.Room && cards[i].Agent == agent {
			return &cards[i]
		}
	}
	return nil
}

// CardPath is the path that shows a dialog in full.
func CardPath(id mail.ID) string { return Query("/", "d", string(id)) }
