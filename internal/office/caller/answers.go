package caller

import (
	"context"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/openalice"
	"pennypost/internal/office/gate"
	"pennypost/internal/office/rooms"
)

// Answers are the functions that answer other machines, by subject.
func (o *Rooms) Answers() map[string]func(context.Context, mail.Machine, []byte) ([]byte, error) {
	return map[string]func(context.Context, mail.Machine, []byte) ([]byte, error){
		openalice.DocumentSubject: func(ctx context.Context, _ mail.Machine, request []byte) ([]byte, error) {
			return o.Documents().Answer(gate.Own(ctx), o, request)
		},
		rooms.BridgesSubject: func(ctx context.Context, _ mail.Machine, room []byte) ([]byte, error) {
			return o.Set.BridgesHere(ctx, mail.RoomName(room))
		},
		rooms.CopySubject: func(_ context.Context, _ mail.Machine, room []byte) ([]byte, error) {
			return o.Set.CopyHere(mail.RoomName(room))
		},
		rooms.SurveySubject: func(ctx context.Context, _ mail.Machine, room []byte) ([]byte, error) {
			return o.Set.SurveyHere(ctx, mail.RoomName(room))
		},
		rooms.RestoreSubject: func(ctx context.Context, _ mail.Machine, room []byte) ([]byte, error) {
			return o.Set.RestoreHere(ctx, mail.RoomName(room))
		},
	}
}

// Documents reads documents on all machines.
func (o *Rooms) Documents() *openalice.Documents {
	return &openalice.Documents{Here: o.Set.Config.MachineName(), Ask: o.Set.Ask, Heard: o.Set.Heard}
}
