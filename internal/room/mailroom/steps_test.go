package mailroom

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/journaltest"
)

// fill journals n messages to bob, alternately with a key that a client made and one that its sender chose.
func fill(t *testing.T, r *Room, n int) {
	t.Helper()
	if _, err := r.As(mail.User).Register(t.Context(), mail.Presence{Name: "bob"}); err != nil {
		t.Fatal(err)
	}
	var events []mail.Event
	for i := range n {
		key := fmt.Sprint("key-", i)
		if i%2 == 0 {
			key = mail.MadeKey + key
		}
		events = append(events, mail.Event{At: r.now(),
			Message: &mail.Message{ID: mail.ID(fmt.Sprintf("msg_%021d", i)),
				Type: mail.Status, From: "user", To: []mail.Address{"agent:bob"}, Body: "x", Key: key}})
	}
	if _, err := r.commit(t.Context(), events...); err != nil {
		t.Fatal(err)
	}
}

// stepwise is a journal that remembers how much retention trimmed at a time, and fails after some steps.
type stepwise struct {
	*journaltest.Memory
	steps []int
	until int
}

func (j *stepwise) Append(ctx context.Context, events ...mail.Event) (mail.Seq, error) {
	for _, e := range events {
		if c := e.Checkpoint; c != nil {
			if len(j.steps) == j.until {
				return 0, errors.New("killed")
			}
			j.steps = append(j.steps, max(len(c.Trimmed), len(c.Spent)))
		}
	}
	return j.Memory.Append(ctx, events...)
}

// A large trim goes in steps, each of which lasts. Steps not done when the post office was killed are done when it
// runs again, and then everything is in the archive.
func TestP11_RetentionInSteps(t *testing.T) {
	const n, kept = 3*fold.TrimStep + 7, 5
	opts := Options{Retention: policy.Retention{Count: kept}}
	store := inMemory(t)
	j := &stepwise{Memory: store.memory.Open(), until: 6} // two steps of two kinds of keys and of messages
	r, err := Open(t.Context(), "lab", j, opts)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, r, n)
	if _, err := r.trim(t.Context(), false); err == nil {
		t.Fatal("the test is wrong: the journal never failed")
	}
	if most := slices.Max(j.steps); most > fold.TrimStep {
		t.Errorf("one event lets %d messages go", most)
	}
	if got, want := r.Status().Messages, n-2*fold.TrimStep; got != want {
		t.Errorf("after two steps %d messages are hot, want %d", got, want)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r = reopen(t, store, "lab", opts)
	defer r.Close()
	if got, want := r.Status().Messages, n-2*fold.TrimStep; got != want {
		t.Errorf("opened again %d messages are hot, want %d", got, want)
	}
	r.runRetention(t.Context())
	if got := r.Status().Messages; got != kept {
		t.Errorf("in the end %d messages are hot, want %d", got, kept)
	}
	archived := 0
	for e, err := range r.journal.(journal.Compacter).Archived(t.Context(), 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Message != nil {
			archived++
		}
	}
	if archived != n-kept {
		t.Errorf("%d messages are in the archive, want %d", archived, n-kept)
	}
}

// However many messages had a key, a fixed number of the keys is kept, in the file as well as in memory: those of the
// last messages. They are known after a restart, and neither of the two kinds displaces the other.
func TestP12_KeysAreBounded(t *testing.T) {
	const n = 3 * fold.MaxKeys
	room, _ := openRoom(t, "lab", Options{Retention: policy.Retention{Count: 1}})
	fill(t, room, n)
	for range 2 { // the second time, the events that the first has put into the journal go
		if _, err := room.trim(t.Context(), true); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(room.state.Spent.ByKey); got != 2*fold.MaxKeys {
		t.Errorf("%d keys are known, want %d", got, 2*fold.MaxKeys)
	}
	lines := 0
	for c := room.journal.Follow(0); lines < 100_000; {
		events, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Checkpoint != nil {
				lines += len(e.Checkpoint.Spent)
			}
		}
		if events[len(events)-1].Seq == room.journal.Last() {
			c.Close()
			break
		}
	}
	if most := 2 * (fold.MaxKeys + fold.TrimStep); lines < 2*fold.MaxKeys || lines > most {
		t.Errorf("the journal has %d keys, want %d at most", lines, most)
	}
	for _, key := range []string{fmt.Sprint(mail.MadeKey, "key-", n-4), fmt.Sprint("key-", n-3)} {
		sent, err := room.As(mail.User).Send(t.Context(), mail.Draft{To: mail.Recipients{"bob"}, Body: "x", Key: key})
		if err != nil || !sent.Duplicate {
			t.Errorf("sent again with %s: %+v, %v", key, sent, err)
		}
	}
}

// Keys that an older version has put into a checkpoint are kept when that goes.
func TestP12_KeysOfOldCheckpoints(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{Retention: policy.Retention{Count: 1}})
	fill(t, room, 2)
	old := &mail.Checkpoint{After: room.journal.Last(), Last: room.state.Last, Agents: room.state.Checkpoint().Agents,
		Trimmed: []mail.ID{"msg_000000000000000000000"}, Spent: []mail.SpentKey{{From: "user",
			Key: mail.MadeKey + "key-0", Message: "msg_000000000000000000000", Seq: 2, Sent: room.now()}}}
	if _, err := room.append(t.Context(), mail.Event{At: room.now(), Checkpoint: old}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := room.trim(t.Context(), true); err != nil {
			t.Fatal(err)
		}
	}
	sent, err := room.As(mail.User).Send(t.Context(), mail.Draft{To: mail.Recipients{"bob"}, Body: "x",
		Key: mail.MadeKey + "key-0"})
	if err != nil || !sent.Duplicate {
		t.Errorf("sent again: %+v, %v", sent, err)
	}
}

// A checkpoint adds nothing to a state without missing events, so none is held up while it refiles everything.
func TestCheckpointOfWholeState(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	fill(t, room, 3)
	bob := room.state.Members["bob"]
	before := &bob.All[0]
	if _, err := room.writeCheckpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	if room.state.Seq != room.journal.Last() || &bob.All[0] != before {
		t.Errorf("a checkpoint has filed anew what was filed")
	}
}

// A room that was trimmed because there was a crowd is not trimmed again immediately.
func TestCrowdIsTrimmedOnce(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{Retention: policy.Retention{Count: 10}})
	room.runRetention(t.Context())
	fill(t, room, 100)
	room.runRetention(t.Context())
	select {
	case <-room.crowded:
		t.Error("the crowd is still waited for")
	default:
	}
}

// hasty is a journal whose room trims a message before its sender has heard of it.
type hasty struct {
	*journaltest.Memory
	room    *Room
	archive bool // and has it in the archive
}

func (j *hasty) Append(ctx context.Context, events ...mail.Event) (mail.Seq, error) {
	seq, err := j.Memory.Append(ctx, events...)
	if m := events[len(events)-1].Message; m != nil && err == nil {
		if err = j.room.await(ctx, seq); err == nil {
			err = j.room.letGo(ctx, []mail.ID{m.ID}, j.room.now(), math.MaxUint64, false)
		}
		if j.room.mu.Lock(); j.archive {
			j.room.state.Archived(seq + 1)
		}
		j.room.mu.Unlock()
	}
	return seq, err
}

// A send whose message retention takes immediately is answered like any other.
func TestSentAndTrimmed(t *testing.T) {
	for _, archive := range []bool{false, true} {
		for _, key := range []string{"", "k"} {
			store := inMemory(t)
			j := &hasty{Memory: store.memory.Open(), archive: archive}
			var err error
			if j.room, err = Open(t.Context(), "lab", j, Options{}); err != nil {
				t.Fatal(err)
			}
			sent, err := j.room.As(mail.User).Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "x",
				Key: key})
			if err != nil || sent.ID == "" || sent.Seq == 0 || sent.Duplicate {
				t.Errorf("archived %v, key %q: %+v, %v", archive, key, sent, err)
			}
			j.room.Close()
		}
	}
}
