package journaltest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

func TestCopy(t *testing.T) {
	machines := make(map[string]*Machine)
	Run(t, func(t *testing.T, dir string) journal.Journal {
		if machines[dir] == nil {
			machines[dir] = new(Store).Machine()
		}
		return machines[dir].Open()
	})
}

// TestCopiesAgree checks that a machine that was held back and released has the same events as the others, including
// those that the others have compacted, and none that were erased.
func TestCopiesAgree(t *testing.T) {
	var s Store
	slow, fast := s.Machine(), s.Machine()
	a, b := slow.Open(), fast.Open()
	defer a.Close()
	defer b.Close()
	release := slow.Hold()
	f := &fixture{T: t, Journal: b}
	all := f.add(messages(1, 6)...)
	if err := b.Compact(f.context(), func(mail.Event) journal.Fate { return journal.Archive }); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Erase(f.context(), id(2), func(e mail.Event) bool { return e.Message.ID == id(2) }); err != nil {
		t.Fatal(err)
	}
	if got := a.Last(); got != 0 {
		t.Errorf("the machine that is held back is at %d", got)
	}
	release()
	behind := &fixture{T: t, Journal: a}
	c := a.Follow(0)
	defer c.Close()
	got := behind.take(c, 4)
	if diff := cmp.Diff(append(all[:1:1], all[2:]...), got); diff != "" {
		t.Errorf("the machine that was held back differs (-want +got):\n%s", diff)
	}
	gone := errors.New("no server answers")
	slow.Cut(gone)
	if _, err := a.Append(t.Context(), message(9)); err != gone || s.last != 5 {
		t.Errorf("Append of a machine that is cut off = %v, and the store is at %d; want %v and 5", err, s.last, gone)
	}
}
