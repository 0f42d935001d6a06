package cli

import (
	"context"
	"time"

	"pennypost/internal/client"
	"pennypost/internal/mail"
)

// Bounds of the pauses before a line is asked for again that was not to be had.
const (
	minAttend = time.Second
	maxAttend = 30 * time.Second
)

// attend waits at a line and gives each ring to take, until ctx ends, take fails or the post office refuses. One that is away comes back, and so does
// an agent that is not on the roster: a session outlives many. warn is told of that, each time once.
func attend(ctx context.Context, office *client.Office, room mail.RoomName, name mail.Name, at mail.Line, take func(*mail.Rung) error, warn func(error)) error {
	pause, told := minAttend, mail.Code("")
	for ctx.Err() == nil {
		began := time.Now()
		rung, err := office.Ring(ctx, room, name, at)
		code := mail.CodeOf(err)
		switch {
		case code == mail.Denied, code == mail.Invalid, code == mail.Unknown:
			return err // which no other time mends
		case err == nil && rung != nil && rung.Text != "":
			if err := take(rung); err != nil {
				return err
			}
			continue
		case err == nil && time.Since(began) >= minAttend:
			pause, told = minAttend, ""
			continue
		case err != nil && code != told && ctx.Err() == nil:
			warn(err)
		}
		told = code
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, maxAttend)
	}
	return nil
}
