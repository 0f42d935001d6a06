package jetstream

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/jsonl"
)

// closed opens a room on two machines that are in, and that any other machine needs to be admitted to.
func (f *fleet) closed(room string) (desk, laptop *member) {
	f.Helper()
	desk = f.machine("desk", keyOf("desk"), room)
	f.append(desk, keyEvent("desk", keyOf("desk")), ofMachine(mail.MachineChange{Name: "desk", Admits: true}),
		keyEvent("laptop", keyOf("laptop")))
	laptop = f.machine("laptop", keyOf("laptop"), room)
	return desk, laptop
}

// againForgotten stores a message again after the servers have forgotten its id, as they do after ten minutes.
func (f *fleet) againForgotten(m *nats.Msg) {
	f.Helper()
	l, err := f.thief.lane(f.Context(), "lab", false)
	f.must(err)
	cfg := l.info.Config
	cfg.Duplicates = 100 * time.Millisecond // the least that they accept
	_, err = f.thief.js.UpdateStream(f.Context(), cfg)
	f.must(err)
	defer func() {
		cfg.Duplicates = duplicates
		_, err := f.thief.js.UpdateStream(f.Context(), cfg)
		f.must(err)
	}()
	for end := l.end; l.end == end; time.Sleep(20 * time.Millisecond) {
		f.again(m, nil)
		f.must(l.look(f.Context(), f.thief.nc))
	}
}

func has(all []string, text string) bool {
	return slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, text) })
}

// TestP5_ErasedIsNotSentAgain checks that an erased message does not count when someone who kept it sends it again,
// not even on a machine that fetches the room afterwards.
func TestP5_ErasedIsNotSentAgain(t *testing.T) {
	f := newFleet(t)
	desk, laptop := f.closed("lab")
	at := f.append(laptop, said("secret"))
	kept := f.raw("lab", at)
	f.textsOf(desk, at)
	_, err := desk.Erase(t.Context(), "msg_secret", func(e mail.Event) bool {
		return e.Message != nil && e.Message.ID == "msg_secret"
	})
	f.must(err)
	f.againForgotten(kept)
	last := f.append(desk, said("after"))
	fresh := f.machine("laptop", keyOf("laptop"), "lab")
	f.textsOf(laptop, last)
	if all := f.agree("after the erasure", last, desk, fresh); has(all, "secret") || !has(all, "after") {
		t.Errorf("there is %q", all)
	}
}

// TestP5_MovedRoom checks that a room keeps its keys in its new lane, even if its copy was compacted; and that no one
// outside the room can replace it with another.
func TestP5_MovedRoom(t *testing.T) {
	for name, thief := range map[string]func(*fleet) *Cluster{
		"unsigned":    func(f *fleet) *Cluster { return f.thief },
		"another key": func(f *fleet) *Cluster { return f.cluster("desk", keyOf("thief")) },
	} {
		t.Run(name, func(t *testing.T) { movedRoom(t, thief) })
	}
}

func movedRoom(t *testing.T, thief func(*fleet) *Cluster) {
	f := newFleet(t)
	desk, laptop := f.closed("lab")
	last := f.append(laptop, said("one"), said("two"), said("three"))
	f.textsOf(desk, last)
	f.must(desk.local.Compact(t.Context(), func(e mail.Event) journal.Fate {
		if e.Machine != nil { // as rooms do
			return journal.Archive
		}
		return journal.Keep
	}))
	f.must(desk.Close())
	restore := func(c *Cluster, dir string) error {
		local, err := jsonl.Open(dir, jsonl.Options{Copy: true})
		f.must(err)
		defer local.Close()
		return c.Restore(t.Context(), "lab", local, func(mail.Machine) bool { return true })
	}
	f.must(restore(desk.c, desk.dir))
	f.open(desk, "lab")
	f.send(f.thief, "lab", nil, said("unsigned"))
	last = f.append(laptop, said("four"))
	fresh := f.machine("tower", keyOf("tower"), "lab")
	all := f.agree("after the move", last, desk, laptop, fresh)
	if has(all, "unsigned") || !has(all, "four") || !has(all, "one") {
		t.Errorf("there is %q", all)
	}
	// A copy of a machine's own, sent after those of the move.
	l, err := f.thief.lane(t.Context(), "lab", false)
	f.must(err)
	seq := fmt.Sprint(l.end + 1)
	f.send(f.thief, "lab", func(m *nats.Msg) {
		m.Header = nats.Header{headerID: {copyID(l.base, seq)}, seqHeader: {seq}}
	}, said("copied behind"))
	last = f.append(laptop, said("five"))
	if all := f.agree("after the forged copy", last, desk, laptop, fresh); has(all, "copied behind") {
		t.Errorf("there is %q", all)
	}

	// Someone with the password creates the room again from what can be read.
	f.must(fresh.Close())
	f.must(restore(thief(f), fresh.dir))
	f.send(f.cluster("desk", keyOf("thief")), "lab", nil, keyEvent("desk", keyOf("thief")), said("forged"))
	for _, m := range []*member{desk, laptop} { // they stay in the old lane until they look for the room
		f.must(m.Close())
		f.open(m, "lab")
		if _, err := m.Append(t.Context(), said("to whom")); err == nil {
			t.Errorf("%s sends to a room that was forged", m.c.cfg.Machine)
		}
		if all := f.textsOf(m, m.Last()); has(all, "forged") || !has(all, "five") {
			t.Errorf("%s has %q", m.c.cfg.Machine, all)
		}
	}
}

// TestP5_LostEnd checks that a machine in the room puts back the events that the servers have lost, its own or
// another's, and that they count on a machine that fetches the room afterwards.
func TestP5_LostEnd(t *testing.T) {
	f := newFleet(t)
	desk, laptop := f.closed("lab")
	f.append(desk, said("kept"))
	last := f.append(laptop, said("lost"), ofMachine(mail.MachineChange{Name: "laptop", Rules: 4}))
	f.textsOf(desk, last)
	f.textsOf(laptop, last)
	f.must(laptop.Close())
	l, err := f.thief.lane(t.Context(), "lab", false)
	f.must(err)
	for range 2 {
		seq, err := l.lastSeq(t.Context())
		f.must(err)
		f.must(l.DeleteMsg(t.Context(), seq))
	}
	f.must(desk.Close())
	f.open(desk, "lab")
	last = f.append(desk, said("since"))
	fresh := f.machine("tower", keyOf("tower"), "lab")
	f.open(laptop, "lab")
	all := f.agree("after the loss", last, desk, laptop, fresh)
	if !has(all, `"lost"`) || !has(all, `"rules":4`) || !has(all, "since") {
		t.Errorf("there is %q", all)
	}
}

// TestP5_OldRoom checks that a room with unsigned events opens, with an old copy or without one, and that its
// machines enter one by one.
func TestP5_OldRoom(t *testing.T) {
	f := newFleet(t)
	old := f.machine("desk", nil, "lab")
	f.append(old, ofMachine(mail.MachineChange{Name: "desk", Follows: true}), said("unsigned"))
	f.must(old.Close())
	f.must(removeFile(old.dir, ringsName))
	old.c = f.cluster("desk", keyOf("desk"))
	f.open(old, "lab")
	before := f.machine("laptop", nil, "lab")
	f.enter(old)
	f.append(before, said("of a version that signs nothing"))
	if _, err := f.machine("desk", nil, "lab").Append(t.Context(), said("no key")); mail.CodeOf(err) != mail.Denied {
		t.Errorf("a machine that has lost its key is told: %v", err)
	}
	last := f.append(old, ofMachine(mail.MachineChange{Name: "desk", Admits: true}))
	f.textsOf(before, last)
	if _, err := before.Append(t.Context(), said("too old")); mail.CodeOf(err) != mail.Denied {
		t.Errorf("a machine without a key is told: %v", err)
	}
	fresh := f.machine("tower", keyOf("tower"), "lab")
	if all := f.agree("at the end", last, old, before, fresh); !has(all, "signs nothing") || !has(all, `"unsigned"`) {
		t.Errorf("there is %q", all)
	}
}
