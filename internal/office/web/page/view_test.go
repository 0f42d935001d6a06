package page

import (
	"testing"

	"pennypost/internal/mail"
)

func TestLatest(t *testing.T) {
	for _, c := range []struct {
		rooms []mail.RoomStatus
		want  mail.RoomName
	}{{nil, ""}, {[]mail.RoomStatus{{Name: "a"}, {Name: "b"}}, "a"},
		{[]mail.RoomStatus{{Name: "a", Last: 1}, {Name: "b", Last: 2}, {Name: "c", Last: 2}}, "b"}} {
		if got := latest(c.rooms); got != c.want {
			t.Errorf("latest(%v) = %s, want %s", c.rooms, got, c.want)
		}
	}
}
