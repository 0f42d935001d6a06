package page

import (
	"sync"

	"pennypost/internal/mail"
)

// dialogs are what the clients of agents ask the person while a page is made. The copies of a View share them.
type dialogs struct {
	mu    sync.Mutex
	asked bool
	cards []mail.Card
}

// Cards are the dialogs of all rooms, those that have waited longest first, without the rest of long texts. They are
// asked for once. If they cannot be had now there are none: their agents' terminals show them.
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
		v.Site.Log.Warn("what agents' clients ask cannot be listed", "err", err)
	}
	d.cards = list.Cards
	return d.cards
}

// CardsAgain has the dialogs be asked for once more.
func (v *View) CardsAgain() { v.dialogs = new(dialogs) }

// CardsIn are those of one room.
func (v *View) CardsIn(room mail.RoomName) (list []mail.Card) {
	for _, c := range v.Cards() {
		if c.Room == room {
			list = append(list, c)
		}
	}
	return list
}

// CardOf is the dialog of an agent of this room that has waited longest; nil if there is none.
func (v *View) CardOf(agent mail.Name) *mail.Card {
	cards := v.Cards()
	for i := range cards {
		if cards[i].Room == v.Room && cards[i].Agent == agent {
			return &cards[i]
		}
	}
	return nil
}

// CardPath is where a dialog is shown in full.
func CardPath(id mail.ID) string { return Query("/", "d", string(id)) }
