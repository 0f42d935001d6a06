package mailroom

import (
	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
)

// Signed returns as whom a service sees the room, and by which means the user is known. known is false for an agent
// that is not on the roster: its first message would put it there.
func Signed(as mail.Service) (who mail.Name, means mail.Means, known bool) {
	v := as.(*view)
	known = v.IsUser()
	v.read(func(s *fold.State, _ mail.Time) { known = known || s.Agent(v.Who) != nil })
	return v.Who, v.Means, known
}

// Left returns the room for a message that its sender, as returned by Signed, left to be sent: that is no sign of the
// sender's life. A sender that is no longer on the roster sends nothing.
func (r *Room) Left(who mail.Name, means mail.Means) (mail.Service, error) {
	v := r.view(check.Caller{Who: who, Means: means, Absent: true})
	if _, _, known := Signed(v); !known {
		return nil, r.noAgent(who)
	}
	return v, nil
}

func (r *Room) noAgent(who mail.Name) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.on(r.state, r.now()).NoAgent(who)
}
