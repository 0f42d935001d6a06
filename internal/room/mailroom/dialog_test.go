package mailroom

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold/foldtest"
)

func aDialog(id mail.ID) mail.DialogChange {
	return mail.DialogChange{Session: "s1", Dialog: mail.Dialog{ID: id, Kind: mail.AsksPermission, Tool: "Bash",
		Sum: strings.Repeat("0f", 32)}}
}

// TestP5_WhoEndsDialogs: the user may end a dialog by an act of their own, the post office itself and a machine that
// has joined may, and no credential may; the journal records the means.
func TestP5_WhoEndsDialogs(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	must := (&lab{T: t}).must
	ann := room.As("ann")
	_, err := ann.Turn(t.Context(), mail.Turn{Moment: mail.TurnStart, Session: "s1"})
	must(err)
	w, err := room.As(mail.User).Watch(t.Context(), 0)
	must(err)
	defer w.Close()
	for _, tt := range []struct {
		means mail.Means
		says  string // in Where
		want  mail.Code
		where string
	}{
		{mail.ByScript, "", mail.Denied, ""},
		{mail.ByOperator, "", mail.Denied, ""},
		{mail.ByButton, "", mail.Denied, ""},
		{mail.ByBridge, "", mail.Denied, ""},
		{mail.BySystem, "", mail.Denied, ""},
		{mail.ByPages, "phone", "", "pages"},
		{mail.ByPhone, "", "", "phone"},
		{mail.ByTerminal, "", "", "terminal"},
		{mail.ByRelay, "phone", "", "phone"},
		{"", "pages", "", "pages"},
	} {
		must(ann.Dialog(t.Context(), aDialog("d-1")))
		user, err := room.From(mail.User, check.Whence{Means: tt.means})
		must(err)
		end := aDialog("d-1")
		end.Agent, end.Outcome, end.By, end.Where = "ann", mail.DialogDenied, mail.User, tt.says
		err = user.Dialog(t.Context(), end)
		if mail.CodeOf(err) != tt.want {
			t.Errorf("by %q: %v, want %s", tt.means, err, tt.want)
		}
		if open := len(room.Asking()); (open == 0) != (err == nil) {
			t.Errorf("by %q: %d agents are asking", tt.means, open)
		}
		for done := err != nil; !done; {
			events, err := w.Next(t.Context())
			must(err)
			for _, e := range events {
				if c := e.Dialog; c != nil && c.Outcome != "" {
					if done = true; c.By != mail.User || c.Where != tt.where {
						t.Errorf("by %q: the journal has %+v", tt.means, c)
					}
				}
			}
		}
	}
}

// TestDialogsAreCompacted: compaction removes the events of dialogs, and the checkpoint has the open ones.
func TestDialogsAreCompacted(t *testing.T) {
	store := newStore(t)
	room := reopen(t, store, "lab", Options{})
	must := (&lab{T: t}).must
	ann := room.As("ann")
	_, err := ann.Turn(t.Context(), mail.Turn{Moment: mail.TurnStart, Session: "s1"})
	must(err)
	for _, id := range []mail.ID{"d-1", "d-2", "d-3"} {
		must(ann.Dialog(t.Context(), aDialog(id)))
	}
	doubt := aDialog("d-2")
	doubt.Doubt = true
	must(ann.Dialog(t.Context(), doubt))
	end := aDialog("d-1")
	end.Outcome = mail.DialogEnded
	must(ann.Dialog(t.Context(), end))
	_, err = room.As(mail.User).Archive(t.Context())
	must(err)
	live := foldtest.Dump(room.state, room.now())
	must(room.Close())
	again := reopen(t, store, "lab", Options{})
	defer again.Close()
	if diff := cmp.Diff(live, foldtest.Dump(again.state, again.now())); diff != "" {
		t.Errorf("opened again (-live +again):\n%s", diff)
	}
	asking := again.Asking()
	if len(asking) != 1 || len(asking[0].Dialogs) != 2 || asking[0].Dialogs[0].ID != "d-2" ||
		!asking[0].Dialogs[0].Doubt {
		t.Errorf("asking are %+v", asking)
	}
	if left := again.state.Garbage + again.state.Stale; left > 0 {
		t.Errorf("%d events are left that compaction would drop", left)
	}
}
