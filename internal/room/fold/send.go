package fold

import (
	"pennypost/internal/mail"
)

// SentBefore reports whether a message with this key was sent.
func (s *State) SentBefore(k SentKey) bool {
	_, spent := s.Spent.ByKey[k]
	return spent || k.Record() != nil
}

// DepthOf returns how many replies stand above a reply, up to the person's last word or where hot messages end.
func (s *State) DepthOf(replyTo mail.ID, limit int) int {
	depth := 0
	for replyTo != "" && depth <= limit {
		parent := s.Records[replyTo]
		if parent == nil || parent.Msg.From == mail.ToUser {
			break
		}
		depth++
		replyTo = parent.Msg.ReplyTo()
	}
	return depth
}
