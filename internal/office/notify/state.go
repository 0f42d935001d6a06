package notify

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/kept"
	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// tellable is the maximum age of mail that is offered: older mail is history, and need not be remembered as told.
const tellable = 7 * 24 * time.Hour

// remembered is a Notifier's saved state.
type remembered struct {
	Key      []byte             `json:"key"` // of the buttons' tokens
	Channels map[string]*memory `json:"channels"`
	// Chats are the chats' states. Changing the filter of a chat's channel does not unpair it.
	Chats map[string]*chatMemory `json:"chats,omitempty"`
}

// memory is a channel's saved state.
type memory struct {
	What  config.What `json:"what"`  // its filter
	Since mail.Time   `json:"since"` // earlier mail is not sent
	// Told has the letters that need not be sent any more, by room and id, with the time of that decision.
	Told   map[string]mail.Time `json:"told,omitempty"`
	Last   mail.Time            `json:"last,omitzero"`    // when it last sent something
	Answer string               `json:"answer,omitempty"` // the other side's answer then
	Failed string               `json:"failed,omitempty"` // why it fails at present
	From   mail.Time            `json:"from,omitzero"`    // since when it fails
	Notice string               `json:"notice,omitempty"` // the day when the person was last told of that
	Rooms  []mail.RoomName      `json:"rooms,omitempty"`  // rooms of waiting letters at the time of saving
	// Asked has the questions with buttons, by room and id, and the buttons' expiry; Heard is the position of the
	// last answer through them.
	Asked map[string]mail.Time `json:"asked,omitempty"`
	Heard string               `json:"heard,omitempty"`
}

// load reads the file. Without one, everything begins now.
func load(file string) (*remembered, error) {
	k := &remembered{Channels: make(map[string]*memory)}
	var err error
	if file != "" {
		err = kept.Load(file, k)
	}
	if err != nil {
		err = fmt.Errorf("read the state of notifications (waiting ones are dropped, none is sent twice): %w", err)
		k = &remembered{Channels: make(map[string]*memory)}
	}
	if len(k.Key) < 32 {
		k.Key = make([]byte, 32)
		_, _ = rand.Read(k.Key) // it never fails
	}
	return k, err
}

// of returns the state of a channel. A new filter starts a new state.
func (k *remembered) of(name string, what config.What) *memory {
	m := k.Channels[name]
	if m == nil || m.What != what {
		m = &memory{What: what, Since: mail.TimeOf(time.Now())}
		k.Channels[name] = m
	}
	if m.Told == nil {
		m.Told = make(map[string]mail.Time)
	}
	if m.Asked == nil {
		m.Asked = make(map[string]mail.Time)
	}
	return m
}

// chat returns the state of a chat.
func (k *remembered) chat(name string) *chatMemory {
	m := k.Chats[name]
	if m == nil {
		m = &chatMemory{}
		if k.Chats == nil {
			k.Chats = make(map[string]*chatMemory)
		}
		k.Chats[name] = m
	}
	if m.Shown == nil {
		m.Shown = make(map[string]*shownMessage)
	}
	return m
}

// save writes the file.
func (n *Notifier) save() {
	if err := n.saved(); err != nil {
		n.opts.Log.Warn("state of notifications not saved; a restart may repeat some", "err", err)
	}
}

func (n *Notifier) saved() error {
	if n.opts.File == "" {
		return nil
	}
	n.saving.Lock()
	defer n.saving.Unlock()
	n.mu.Lock()
	old := mail.TimeOf(time.Now().Add(-2 * tellable))
	for _, l := range n.lines {
		for key, at := range l.Told {
			if at < old {
				delete(l.Told, key)
			}
		}
		l.Rooms = l.rooms()
	}
	text, err := json.Marshal(n.kept)
	n.mu.Unlock()
	if err != nil {
		return err
	}
	return durable.WriteFile(n.opts.File, append(text, '\n'), 0o600)
}
