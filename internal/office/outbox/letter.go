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
	Why    string        `json:"why"` // why the way was away
}

// Sender is the sender of a letter, as the gate identified it. The letter is sent with no more rights than the sender
// had then.
type Sender struct {
	Name  mail.Name  `json:"name"`
	Means mail.Means `json:"means,omitempty"` // for the user, in the post office of the room
	// A relay's facts about a process, as in client.Whence.
	Session  string   `json:"session,omitempty"`
	Guessed  bool     `json:"guessed,omitzero"`
	Programs []string `json:"programs,omitempty"`
	Threads  []string `json:"threads,omitempty"`
	Inside   bool     `json:"inside,omitzero"`
}

// settled is the outcome of a letter.
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

// sameText is how long the room takes the same text for a repetition.
const sameText = 5 * time.Minute

// ToSend returns the draft to send now. Its time to live is reduced by the time waited; an error says that it is over.
func (l *Letter) ToSend(now time.Time) (mail.Draft, error) {
	d := l.Draft
	d.Key = l.Key
	if d.TTLSeconds > 0 {
		d.TTLSeconds -= int64(now.Sub(l.Since.Std()) / time.Second)
		if d.TTLSeconds <= 0 {
			return d, mail.Errorf(mail.Invalid, "its time to live ended before the room was reachable")
		}
	}
	return d, nil
}

func (l *Letter) kept() mail.Kept {
	return mail.Kept{Key: l.Key, Room: l.Room, From: l.Sender.Name, To: l.Draft.To, Type: l.Draft.Type,
		Subject: l.Draft.Subject, Since: l.Since, Why: l.Why}
}
