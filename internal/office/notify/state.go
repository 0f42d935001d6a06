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

// tellable is how old mail may be that nobody was told of: older mail is history, and what was told of it need not be
// remembered.
const tellable = 7 * 24 * time.Hour

// remembered is the file in which a Notifier keeps what a restart must know.
type remembered struct {
	Key      []byte             `json:"key"` // of the tokens of buttons
	Channels map[string]*memory `json:"channels"`
	// Chats are the channels that are chats. What they tell may change without unpairing them.
	Chats map[string]*chatMemory `json:"chats,omitempty"`
}

// memory is what is kept of a channel.
type memory struct {
	What  config.What `json:"what"`  // what it tells
	Since mail.Time   `json:"since"` // since when it does: nothing that was sent before is told
	// Told are the letters that need not be told any more, by room and id, and when that was found.
	Told   map[string]mail.Time `json:"told,omitempty"`
	Last   mail.Time            `json:"last,omitzero"`    // when it last told something
	Answer string               `json:"answer,omitempty"` // what the other side answered then
	Failed string               `json:"failed,omitempty"` // why it does not get through at present
	From   mail.Time            `json:"from,omitzero"`    // since when it does not
	Notice string               `json:"notice,omitempty"` // the day on which the person was last told that
	Rooms  []mail.RoomName      `json:"rooms,omitempty"`  // where letters waited when this was written
	// Asked are the questions with buttons, by room and id, and until when these count; Heard is the last that came
	// back through them.
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
		err = fmt.Errorf("read what was told (nothing is told twice, and what waited is left out): %w", err)
		k = &remembered{Channels: make(map[string]*memory)}
	}
	if len(k.Key) < 32 {
		k.Key = make([]byte, 32)
		_, _ = rand.Read(k.Key) // it does not fail
	}
	return k, err
}

// of returns what is kept of a channel that tells what from now on.
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

// chat returns what is kept of a chat.
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
		n.opts.Log.Warn("what the person was told is not kept; a restart may tell it again", "err", err)
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
