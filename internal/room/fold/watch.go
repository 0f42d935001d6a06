package fold

import (
	"pennypost/internal/mail"
)

// Awaited reports whether r is what a wait is for.
func Awaited(q mail.WaitQuery, r *Record) bool {
	return r.Seq > q.After && hasType(q.Types, r.Msg.Type) && (q.ReplyTo == "" || q.ReplyTo == r.Msg.ReplyTo())
}
