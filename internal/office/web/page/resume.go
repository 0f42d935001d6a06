package page

import (
	"cmp"

	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// Resume is the command that opens a's session in dir, or "" if none is known.
func Resume(a *mail.Agent, dir string) string {
	return config.Resume(a.Client, cmp.Or(a.Session, a.Left), dir)
}
