package caller

import (
	"context"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialog/codexdialogs"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/wake/sessions"
)

// TendCodexDialogs keeps the dialogs of Codex sessions that share an app-server on the desk, until ctx ends.
func (o *Rooms) TendCodexDialogs(ctx context.Context) {
	w := codexdialogs.Watch{
		Desk: o.Asked, Log: o.Set.Log,
		Sessions: func() []sessions.Session { return o.Set.Reach.Sessions.Live("codex") },
		Agent: func(room mail.RoomName, agent mail.Name) hook.Service {
			return o.Own(context.WithoutCancel(ctx), room, agent)
		},
	}
	w.Run(context.WithValue(ctx, hookKey{}, true))
}
