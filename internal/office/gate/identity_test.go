package gate

import (
	"context"
	"slices"
	"testing"

	"pennypost/internal/mail"
)

// TestP5_NameAndRoom checks that a caller speaks as the one that its credential names, in the room that it names.
func TestP5_NameAndRoom(t *testing.T) {
	bob := &visit{caller: mail.Caller{Name: "bob", Room: "a"}}
	stranger := &visit{err: mail.Errorf(mail.Unknown, "no credential")}
	for _, tt := range []struct {
		is   *visit
		room mail.RoomName
		name mail.Name
		code mail.Code
	}{
		{is: bob, room: "a", name: "bob"},
		{is: bob, room: "a", name: "ann", code: mail.Denied},
		{is: bob, room: "a", name: mail.User, code: mail.Denied},
		{is: bob, room: "b", name: "bob", code: mail.Denied},
		{is: stranger, room: "a", name: "bob", code: mail.Unknown},
		{room: "a", name: "bob", code: mail.Denied},
	} {
		ctx := t.Context()
		if tt.is != nil {
			ctx = context.WithValue(ctx, visitKey{}, tt.is)
		}
		id, err := Identify(ctx, tt.room, tt.name)
		if tt.code == "" && (err != nil || id.Name() != tt.name) || tt.code != "" && mail.CodeOf(err) != tt.code {
			t.Errorf("as %s in room %s it is %q: %v; want code %q", tt.name, tt.room, id.Name(), err, tt.code)
		}
	}
}

// A program that runs several sessions may have them in several rooms; the programs above it count.
func TestOuter(t *testing.T) {
	id := Identity{name: "a", peer: FarPeer([]string{"hook", "server", "outer"}, nil, true)}
	for _, tt := range []struct {
		opens string
		many  bool
		want  []string
	}{
		{"server", true, []string{"outer"}},
		{"all-of-server", true, []string{"outer"}},
		{"server", false, []string{"hook", "server", "outer"}},
		{"another", true, []string{"hook", "server", "outer"}},
	} {
		of, _ := id.Opening(tt.opens, "s", tt.many)
		if got := of.Outer(); !slices.Equal(got, tt.want) {
			t.Errorf("of %s, many %t: %q, want %q", tt.opens, tt.many, got, tt.want)
		}
	}
}
