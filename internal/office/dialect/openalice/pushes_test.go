package openalice

import (
	"context"
	"slices"
	"testing"

	"pennypost/internal/mail"
)

// asked is a room that records the sequence numbers after which its history was requested.
type asked struct {
	mail.Service
	after []mail.Seq
}

func (a *asked) History(ctx context.Context, q mail.HistoryQuery) (mail.Page, error) {
	a.after = append(a.after, q.After)
	return a.Service.History(ctx, q)
}

// TestPushesAreReadOnce: a look reads only the pushes since the last one, but returns all.
func TestPushesAreReadOnce(t *testing.T) {
	b := newFixture(t)
	room := &asked{Service: b.As(mail.User)}
	var p pushes
	look := func(want ...string) {
		t.Helper()
		list, err := p.all(t.Context(), room)
		var got []string
		for _, s := range list {
			got = append(got, string(s.id))
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("found %q, %v; want %q", got, err, want)
		}
	}
	one := b.says("ws-abc", "one")
	look(one)
	st, err := room.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	two := b.says("ws-def", "two")
	b.Send("ws-abc", mail.Draft{To: mail.Recipients{"agent:ws-def"}, Body: "not to the user"})
	look(one, two)
	look(one, two)
	if len(room.after) != 3 || room.after[0] != 0 || room.after[1] != st.Seq || room.after[2] <= st.Seq+1 {
		t.Errorf("asked for what is behind %d; the room was at %d after the first look", room.after, st.Seq)
	}
	p.forget(mail.ID(one))
	look(two)
}
