package cli

import (
	"context"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/wire/client"
)

// Bounds of the pauses before another request for a line that failed.
const (
	MinRingPause = time.Second
	MaxRingPause = 30 * time.Second
)

// FollowRings listens at a door and passes each ring to take, until ctx ends, take fails or the post office refuses.
// If the post office is away, or the agent is not on the roster, it waits for them to come back, because a session
// outlives many post offices. It calls warn once each time that happens.
func FollowRings(ctx context.Context, office *client.Office, room mail.RoomName, name mail.Name, at mail.Listener,
	take func(*mail.Rung) error, warn func(error)) error {
	wait, warned := MinRingPause, mail.Code("")
	for ctx.Err() == nil {
		began := time.Now()
		rung, err := office.Ring(ctx, room, name, at)
		code := mail.CodeOf(err)
		switch {
		case code == mail.Denied, code == mail.Invalid, code == mail.Unknown:
			return err // retrying will not help
		case err == nil && rung != nil && rung.Text != "":
			if err := take(rung); err != nil {
				return err
			}
			continue
		case err == nil && time.Since(began) >= MinRingPause:
			wait, warned = MinRingPause, ""
			continue
		case err != nil && code != warned && ctx.Err() == nil:
			warn(err)
		}
		warned = code
		pause.For(ctx, wait)
		wait = min(2*wait, MaxRingPause)
	}
	return nil
}
