package journaltest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// fateBySubject keeps, archives or drops a message as its subject says.
func fateBySubject(e mail.Event) journal.Fate {
	switch {
	case e.Message == nil:
		return journal.Keep
	case strings.HasPrefix(e.Message.Subject, "archive"):
		return journal.Archive
	case strings.HasPrefix(e.Message.Subject, "drop"):
		return journal.Drop
	}
	return journal.Keep
}

// mixed returns messages, one third each to keep, archive and drop. They are of two months, in no order.
func mixed(from, to int) []mail.Event {
	events := messages(from, to)
	for i := range events {
		n := from + i
		events[i].Message.Subject = []string{"keep", "archive", "drop"}[n%3]
		if n%2 == 0 {
			events[i].At += month
		}
	}
	return events
}

// sorted divides events as compaction by fateBySubject must: the remaining events, and the archive.
func sorted(events []mail.Event) (kept, archived []mail.Event) {
	for i, e := range events {
		switch fate := fateBySubject(e); {
		case fate == journal.Keep || i == len(events)-1:
			kept = append(kept, e)
		case fate == journal.Archive:
			archived = append(archived, e)
		}
	}
	return kept, archived
}

func (b *fixture) compact() {
	b.Helper()
	if err := b.compacter().Compact(b.context(), fateBySubject); err != nil {
		b.Fatalf("Compact() = %v", err)
	}
}

func testCompact(t *testing.T, b *fixture) {
	all := b.add(mixed(0, 50)...)
	kept, archived := sorted(all)
	asked := 0
	err := b.compacter().Compact(b.context(), func(e mail.Event) journal.Fate {
		if diff := cmp.Diff(all[asked], e); diff != "" {
			t.Fatalf("asked for the fate of another event (-want +got):\n%s", diff)
		}
		asked++
		return fateBySubject(e)
	})
	if err != nil {
		t.Fatalf("Compact() = %v", err)
	}
	if asked < len(all)-1 {
		t.Errorf("asked for the fate of %d events, want %d", asked, len(all)-1)
	}
	for range 2 {
		if got := b.Last(); got != 50 {
			t.Errorf("Last() = %d, want 50", got)
		}
		b.want(0, kept)
		b.want(kept[3].Seq, kept[4:])
		b.want(kept[3].Seq+1, kept[4:])
		b.wantArchived(archived)
		b.reopen()
	}
	more := b.add(message(50))
	b.want(0, append(kept, more...))
}

func testCompactKeepsLastAndUnknown(t *testing.T, b *fixture) {
	nothing := mail.Event{At: noon}
	all := b.add(nothing, message(1), nothing, message(2))
	err := b.compacter().Compact(b.context(), func(e mail.Event) journal.Fate {
		if e.Message == nil {
			t.Errorf("asked for the fate of an event in which nothing is known")
		}
		return journal.Drop
	})
	if err != nil {
		t.Fatalf("Compact() = %v", err)
	}
	want := []mail.Event{all[0], all[2], all[3]}
	b.want(0, want)
	b.reopen()
	b.want(0, want)
	if err := b.compacter().Compact(b.context(), func(mail.Event) journal.Fate {
		return journal.Archive
	}); err != nil {
		t.Fatalf("Compact() = %v", err)
	}
	b.want(0, want)
	b.wantArchived(nil)
}

func testCompactAgain(t *testing.T, b *fixture) {
	all := b.add(mixed(0, 30)...)
	for i := range 4 {
		b.compact()
		kept, archived := sorted(all)
		b.want(0, kept)
		b.wantArchived(archived)
		if i%2 == 1 {
			b.reopen()
		}
		all = append(all, b.add(mixed(30+10*i, 40+10*i)...)...) // the former last event now gets its own fate
	}
}

// testCompactBesideLookups looks up archived events during the longest part of a compaction.
func testCompactBesideLookups(t *testing.T, b *fixture) {
	first := b.add(mixed(0, 30)...)
	b.compact()
	_, archived := sorted(first)
	b.add(mixed(30, 60)...)
	looked := false
	err := b.compacter().Compact(b.context(), func(e mail.Event) journal.Fate {
		if !looked {
			looked = true
			ctx, cancel := context.WithTimeout(b.context(), 5*time.Second)
			defer cancel()
			got, err := b.compacter().ArchivedOf(ctx, archived[0].Message.ID)
			if err != nil || len(got) != 1 || got[0].Seq != archived[0].Seq {
				t.Errorf("during a compaction, ArchivedOf = %+v, %v", got, err)
			}
			n := 0
			for _, err := range b.compacter().Archived(ctx, 0, false) {
				if n++; err != nil {
					t.Errorf("during a compaction, Archived = %v", err)
				}
			}
			if n != len(archived) {
				t.Errorf("during a compaction, %d events are archived, want %d", n, len(archived))
			}
		}
		return fateBySubject(e)
	})
	if err != nil || !looked {
		t.Errorf("Compact = %v", err)
	}
}

func testCompactUnderCursor(t *testing.T, b *fixture) {
	all := b.add(mixed(0, 40)...)
	behind := b.Follow(10)
	live := b.Follow(0)
	defer behind.Close()
	defer live.Close()
	b.take(live, 40)
	b.compact()
	b.compact()
	all = append(all, b.add(mixed(40, 50)...)...)
	if diff := cmp.Diff(all[40:], b.take(live, 10)); diff != "" {
		t.Errorf("a live cursor after compaction (-want +got):\n%s", diff)
	}
	kept, _ := sorted(all[:40])
	for kept[0].Seq <= 10 {
		kept = kept[1:]
	}
	want := append(kept, all[40:]...)
	if diff := cmp.Diff(want, b.take(behind, len(want))); diff != "" {
		t.Errorf("a cursor that was behind the compaction (-want +got):\n%s", diff)
	}
}

func testCompactDuringAppends(t *testing.T, b *fixture) {
	compacter := b.compacter()
	const writers, each = 4, 100
	var writing, others sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				if _, err := b.Append(b.context(), mixed(w*each+i, w*each+i+1)...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	others.Go(func() {
		for range 5 {
			if err := compacter.Compact(b.context(), fateBySubject); err != nil {
				t.Errorf("Compact() = %v", err)
			}
		}
	})
	others.Go(func() { // a follower from the start must see every kept message
		if got, want := b.countKept(writers*each), (writers*each+2)/3; got != want {
			t.Errorf("a cursor under compaction saw %d kept messages, want %d", got, want)
		}
	})
	writing.Wait()
	others.Wait()
	b.add(message(writers * each))
	b.compact()
	b.reopen()
	archived := b.archived()
	for _, e := range archived {
		if fateBySubject(e) != journal.Archive {
			t.Errorf("%d is in the archive: %s", e.Seq, e.Message.Subject)
		}
	}
	if got, want := len(archived), (writers*each+1)/3; got != want {
		t.Errorf("%d messages were archived, want %d", got, want)
	}
	if got, want := b.countKept(b.Last()), (writers*each+2)/3+1; got != want {
		t.Errorf("%d messages were kept, want %d", got, want)
	}
}

// countKept follows up to last and counts the messages that no compaction removes.
func (b *fixture) countKept(last mail.Seq) (kept int) {
	c := b.Follow(0)
	defer c.Close()
	for at := mail.Seq(0); at < last; {
		events, err := c.Next(b.context())
		if err != nil {
			b.Errorf("Next: %v", err)
			return kept
		}
		for _, e := range events {
			if e.Seq <= at {
				b.Errorf("%d after %d", e.Seq, at)
			}
			if at = e.Seq; fateBySubject(e) == journal.Keep {
				kept++
			}
		}
	}
	return kept
}

func testCompactCancelled(t *testing.T, b *fixture) {
	all := b.add(mixed(0, 20)...)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.compacter().Compact(ctx, fateBySubject); !errors.Is(err, context.Canceled) {
		t.Errorf("Compact with an ended context: %v, want %v", err, context.Canceled)
	}
	b.want(0, all)
	b.wantArchived(nil)
	if _, err := b.compacter().Erase(ctx, id(1), func(mail.Event) bool {
		return true
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("Erase with an ended context: %v, want %v", err, context.Canceled)
	}
	b.want(0, all)
}

func about(n int) func(mail.Event) bool {
	return func(e mail.Event) bool {
		return e.Message != nil && e.Message.ID == id(n) || e.Receipt != nil && e.Receipt.Message == id(n)
	}
}

func (b *fixture) erase(n, want int) {
	b.Helper()
	if got, err := b.compacter().Erase(b.context(), id(n), about(n)); got != want || err != nil {
		b.Fatalf("Erase(%s) = %d, %v, want %d, nil", id(n), got, err, want)
	}
}

func testErase(t *testing.T, b *fixture) {
	all := b.add(mixed(0, 30)...)
	all = append(all, b.add(mail.Event{At: noon, Receipt: &mail.Receipt{Message: id(3), Reader: "user",
		Mark: mail.MarkRead}}, message(30))...)
	b.compact()
	live := b.Follow(b.Last())
	defer live.Close()
	kept, archived := sorted(all)
	b.erase(3, 2) // kept, and its receipt
	b.erase(4, 1) // archived
	b.erase(5, 0) // dropped before
	b.erase(3, 0)
	gone := func(events []mail.Event) []mail.Event {
		var rest []mail.Event
		for _, e := range events {
			if !about(3)(e) && !about(4)(e) {
				rest = append(rest, e)
			}
		}
		return rest
	}
	kept, archived = gone(kept), gone(archived)
	for range 2 {
		b.want(0, kept)
		b.wantArchived(archived)
		b.reopen()
	}
	kept = append(kept, b.add(message(31))...)
	b.want(0, kept)
}

// The sequence number of the last event must not be reused.
func testEraseLast(t *testing.T, b *fixture) {
	all := b.add(messages(0, 3)...)
	c := b.Follow(2)
	defer c.Close()
	b.erase(2, 1)
	b.reopen()
	if got := b.Last(); got != 3 {
		t.Fatalf("Last() after the last event was erased = %d, want 3", got)
	}
	next := b.add(message(4))
	f := b.Follow(0)
	defer f.Close()
	var got []mail.Event
	for len(got) == 0 || got[len(got)-1].Seq < 4 {
		events, err := f.Next(b.context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, events...)
	}
	for _, e := range got {
		if e.Seq == 3 && e != (mail.Event{Seq: 3, At: all[2].At}) {
			t.Errorf("at 3 stands %+v, want nothing, or nothing but its time", e)
		}
	}
	if last := got[len(got)-1]; !cmp.Equal(last, next[0]) {
		t.Errorf("at 4 stands %+v, want %+v", last, next[0])
	}
}

// Archived from any sequence number, in both directions, and ArchivedOf any message.
func testArchivedFrom(t *testing.T, b *fixture) {
	b.add(mixed(0, 300)...)
	b.add(receiptOf(message(1)), receiptOf(message(2)), message(301))
	err := b.compacter().Compact(b.context(), func(e mail.Event) journal.Fate {
		if e.Receipt != nil {
			return journal.Archive
		}
		return fateBySubject(e)
	})
	if err != nil {
		t.Fatal(err)
	}
	all := b.archived()
	for range 2 {
		for from := mail.Seq(0); from < 310; from += 7 {
			checkFrom(t, b, all, from)
		}
		for n := range 6 {
			checkOf(t, b, all, message(n).Message.ID)
		}
		checkAt(t, b, all)
		b.reopen()
	}
}

// checkFrom checks Archived from a sequence number, in an archive with the events all.
func checkFrom(t *testing.T, b *fixture, all []mail.Event, from mail.Seq) {
	var behind, before []mail.Event
	for _, e := range all {
		if e.Seq > from {
			behind = append(behind, e)
		}
		if e.Seq < from || from == 0 {
			before = append([]mail.Event{e}, before...)
		}
	}
	for newest, want := range map[bool][]mail.Event{false: behind, true: before} {
		if diff := cmp.Diff(want, b.archivedFrom(from, newest)); diff != "" {
			t.Fatalf("Archived from %d, newest %v, differs (-want +got):\n%s", from, newest, diff)
		}
	}
}

// checkOf checks ArchivedOf a message.
func checkOf(t *testing.T, b *fixture, all []mail.Event, id mail.ID) {
	var want []mail.Event
	for _, e := range all {
		if e.Message != nil && e.Message.ID == id || e.Receipt != nil && e.Receipt.Message == id {
			want = append(want, e)
		}
	}
	got, err := b.compacter().ArchivedOf(b.context(), id, "msg_of_nobody")
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("ArchivedOf(%s) = %v, differs (-want +got):\n%s", id, err, diff)
	}
}

// checkAt checks ArchivedAt some sequence numbers.
func checkAt(t *testing.T, b *fixture, all []mail.Event) {
	asked := []mail.Seq{1 << 40, 0}
	var there []mail.Event
	for i, e := range slices.Backward(all) { // of two events in three, each twice, and the numbers after them
		if i%3 > 0 {
			asked = append(asked, e.Seq, e.Seq+1, e.Seq)
		}
	}
	for _, e := range all {
		if slices.Contains(asked, e.Seq) {
			there = append(there, e)
		}
	}
	got, err := b.compacter().ArchivedAt(b.context(), asked...)
	if diff := cmp.Diff(there, got); err != nil || diff != "" {
		t.Errorf("ArchivedAt(%v) = %v, differs (-want +got):\n%s", asked, err, diff)
	}
}

func receiptOf(e mail.Event) mail.Event {
	return mail.Event{At: e.At, Receipt: &mail.Receipt{Message: e.Message.ID, Reader: "agent:a", Mark: mail.MarkRead}}
}

// Stopping early, and compacting while the archive is read.
func testArchivedInParts(t *testing.T, b *fixture) {
	b.add(mixed(0, 40)...)
	b.compact()
	all := b.archived()
	for e, err := range b.compacter().Archived(b.context(), 0, false) {
		if err != nil || !cmp.Equal(e, all[0]) {
			t.Errorf("first of the archive = %v, %v", e, err)
		}
		break
	}
	var got []mail.Event
	for e, err := range b.compacter().Archived(b.context(), 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 3 {
			b.add(mixed(40, 60)...)
			b.compact()
			b.erase(7, 1)
		}
		got = append(got, e)
	}
	if len(got) < len(all)-1 {
		t.Errorf("read %d archived events, want at least %d", len(got), len(all)-1)
	}
	seen := make(map[mail.Seq]bool)
	for _, e := range got {
		if seen[e.Seq] {
			t.Errorf("%d came twice", e.Seq)
		}
		seen[e.Seq] = true
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var ended []error
	for _, err := range b.compacter().Archived(ctx, 0, false) {
		ended = append(ended, err)
	}
	if len(ended) != 1 || !errors.Is(ended[0], context.Canceled) {
		t.Errorf("Archived with an ended context: %v, want only %v", ended, context.Canceled)
	}
}
