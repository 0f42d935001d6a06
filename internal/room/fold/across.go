package fold

import (
	"slices"

	"pennypost/internal/mail"
)

// OtherRooms returns the rooms in which r stands besides this one.
func (r *Record) OtherRooms() (rooms []mail.RoomName) {
	for _, a := range append([]mail.Address{r.Msg.From}, r.Msg.To...) {
		if _, room, far := a.Far(); far && !slices.Contains(rooms, room) {
			rooms = append(rooms, room)
		}
	}
	return rooms
}
