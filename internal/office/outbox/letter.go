package outbox

import (
	"time"

	"pennypost/internal/mail"
)

// Letter is mail that waits for the way to its room.
type Letter struct {
	Room   mail.RoomName `json:"room"`
	Key    string        `json:"key"`
	Sender Sender        `json:"sender"`
	Draft  mail.Draft    `json:"draft"` // its key is Key
	Since  mail.Time     `json:"since"`
	Why    string        `json:"why"` // the way was away
}

// Sender is who sent a letter, as the gate found it out. By it the letter is sent as nobody who has more rights.
type Sender struct {
	Name  mail.Name  `json:"name"`
	Means mail.Means `json:"means,omitempty"` // of the user, where the room is
	// What a relay says of a process, as client.Whence has it.
	Session  string   `json:"session,omitempty"`
	Guessed  bool     `json:"guessed,omitzero"`
	Programs []string `json:"programs,omitempty"`
	Threads  []string `json:"threads,omitempty"`
	Inside   bool     `json:"inside,omitzero"`
}

// settled is what became of a letter.
type settled struct {
	Room mail.RoomName `json:"room"`
	Name mail.Name     `json:"name"`
	Key  string        `json:"key"`
	As   outcome       `json:"as"`
	Why  string        `json:"why,omitempty"`
	At   mail.Time     `json:"at"`
}

type outcome string

const (
	asSent      outcome = "sent"
	asRefused   outcome = "refused"
	asWithdrawn outcome = "withdrawn" // by the person, before it was sent or after it was refused
)

// sameText is for how long the room takes the same text for a repetition.
const sameText = 5 * time.Minute

// ToSend returns the draft as it is sent now. What is left of its time to live counts, and an error says that nothing
// is. Each letter was sent on purpose as long after another as the room asks for, though they are sent together now.
func (l *Letter) ToSend(now time.Time) (mail.Draft, error) {
	d := l.Draft
	d.Key = l.Key
	if d.TTLSeconds > 0 {
		d.TTLSeconds -= int64(now.Sub(l.Since.Std()) / time.Second)
		if d.TTLSeconds <= 0 {
			return d, mail.Errorf(mail.Invalid, "its time to live was over before the way to the room was back")
		}
	}
	return d, nil
}

func (l *Letter) kept() mail.Kept {
	return mail.Kept{Key: l.Key, Room: l.Room, From: l.Sender.Name, To: l.Draft.To, Type: l.Draft.Type,
		Subject: l.Draft.Subject, Since: l.Since, Why: l.Why}
}
