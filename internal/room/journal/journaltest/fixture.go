package journaltest

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// patience is how long a test waits for an event. Only a faulty journal makes it run out.
const patience = 20 * time.Second

// fixture is a journal under test.
type fixture struct {
	*testing.T
	journal.Journal
	open Opener
	dir  string
}

func (b *fixture) reopen() {
	b.Helper()
	if err := b.Journal.Close(); err != nil {
		b.Fatalf("Close() = %v", err)
	}
	b.Journal = b.open(b.T, b.dir)
}

// add appends events in one call and returns them with the sequence numbers that they must get.
func (b *fixture) add(events ...mail.Event) []mail.Event {
	b.Helper()
	first := b.Last() + 1
	last, err := b.Append(b.context(), events...)
	if err != nil {
		b.Fatalf("Append of %d events: %v", len(events), err)
	}
	if want := first + mail.Seq(len(events)) - 1; last != want {
		b.Fatalf("Append of %d events behind %d = %d, want %d", len(events), first-1, last, want)
	}
	placed := make([]mail.Event, len(events))
	for i, e := range events {
		e.Seq = first + mail.Seq(i)
		placed[i] = e
	}
	return placed
}

func (b *fixture) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	b.Cleanup(cancel)
	return ctx
}

func (b *fixture) compacter() journal.Compacter {
	c, ok := b.Journal.(journal.Compacter)
	if !ok {
		b.Skip("this journal cannot be compacted")
	}
	return c
}

// want fails the test unless Follow(after) yields exactly these events.
func (b *fixture) want(after mail.Seq, events []mail.Event) {
	b.Helper()
	c := b.Follow(after)
	defer c.Close()
	if diff := cmp.Diff(events, b.take(c, len(events))); diff != "" {
		b.Fatalf("Follow(%d) differs (-want +got):\n%s", after, diff)
	}
	b.wantNothing(c)
}

// take reads n events and fails the test if a cursor returns more.
func (b *fixture) take(c journal.Cursor, n int) []mail.Event {
	b.Helper()
	var got []mail.Event
	for ctx := b.context(); len(got) < n; {
		events, err := c.Next(ctx)
		if err != nil {
			b.Fatalf("Next after %d of %d events: %v", len(got), n, err)
		}
		if len(events) == 0 {
			b.Fatal("Next returned no events and no error")
		}
		got = append(got, events...)
	}
	if len(got) > n {
		b.Fatalf("got %d events, want %d; the first too many is %d", len(got), n, got[n].Seq)
	}
	return got
}

func (b *fixture) wantNothing(c journal.Cursor) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if events, err := c.Next(ctx); err == nil {
		b.Fatalf("got %d events from %d on, want none", len(events), events[0].Seq)
	}
}

func (b *fixture) archived() []mail.Event {
	b.Helper()
	return b.archivedFrom(0, false)
}

func (b *fixture) archivedFrom(from mail.Seq, newest bool) []mail.Event {
	b.Helper()
	var got []mail.Event
	for e, err := range b.compacter().Archived(b.context(), from, newest) {
		if err != nil {
			b.Fatalf("Archived after %d events: %v", len(got), err)
		}
		got = append(got, e)
	}
	return got
}

func (b *fixture) wantArchived(events []mail.Event) {
	b.Helper()
	if diff := cmp.Diff(events, b.archived()); diff != "" {
		b.Fatalf("Archived differs (-want +got):\n%s", diff)
	}
}

// noon of 10 May 2026, when the tests take place.
const noon mail.Time = 1778414400000

// month is longer than one month and shorter than two.
const month = mail.Time(32 * 24 * time.Hour / time.Millisecond)

// message returns an event that is unique for n.
func message(n int) mail.Event {
	return mail.Event{At: noon + mail.Time(n), Message: &mail.Message{
		ID: id(n), Type: mail.Question, From: "agent:小克", To: []mail.Address{"agent:ag_x1", "role:builder"},
		Subject: fmt.Sprint("Subject ", n), Body: fmt.Sprintf("Body %d:\n\t\"quoted\" <b>&amp;</b> \\ and  .", n),
	}}
}

func id(n int) mail.ID { return mail.ID(fmt.Sprintf("msg_%d_", n)) }

func messages(from, to int) []mail.Event {
	var events []mail.Event
	for n := from; n < to; n++ {
		events = append(events, message(n))
	}
	return events
}

// Samples returns events of each kind without sequence numbers, some empty and some with every field set.
func Samples() []mail.Event {
	full := filled()
	odd := message(0)
	odd.Message.Body = "\x00\x01\x1f\x7f\u2028\u2029\U0001f4ee\n"
	odd.Message.Metadata = mail.Metadata(`{ "n":1.0e2,"u":"\u00e9\/","deep":[{"}":"]"}] }`)
	odd.Message.Docs = []mail.Doc{{Path: "docs/a b.md", Revision: "9a3f"}, {Path: `C:\x`}}
	return []mail.Event{
		odd,
		{At: noon, Message: full.Message},
		{At: noon, Message: &mail.Message{ID: "m", Type: "odd type", From: "x", To: []mail.Address{}}},
		{At: noon, Receipt: full.Receipt},
		{At: noon, Receipt: &mail.Receipt{Message: "m", Reader: "user", Mark: mail.MarkUnarchived}},
		{At: noon, Agent: full.Agent},
		{At: noon, Agent: &mail.AgentChange{Name: "ag_x1", Roles: []string{}}},
		{At: noon, Erased: full.Erased},
		{At: noon, Checkpoint: full.Checkpoint},
		{At: noon, Checkpoint: &mail.Checkpoint{}},
		{At: noon, Bridge: full.Bridge},
		{At: noon, Workspace: full.Workspace},
		{At: noon, Settled: full.Settled},
		{At: noon, Machine: full.Machine},
		{At: noon, Grant: full.Grant},
		{At: noon, Dialog: full.Dialog},
		{At: noon, Machine: &mail.MachineChange{}},
		{At: -62135596800000, Receipt: &mail.Receipt{}},
		{At: 253402300799999, Erased: &mail.Erasure{}},
		{},
	}
}

// filled returns an event with a value in every field of every payload, including fields added later.
func filled() mail.Event {
	var e mail.Event
	n := 0
	fill(reflect.ValueOf(&e).Elem(), &n)
	e.Seq = 0
	return e
}

func fill(v reflect.Value, n *int) {
	*n++
	switch v.Interface().(type) {
	case mail.Metadata:
		v.SetBytes(fmt.Appendf(nil, `{"n":%d}`, *n))
		return
	case mail.Time:
		v.SetInt(int64(noon) + int64(*n))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("ä\"", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 3 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(key, n)
			fill(value, n)
			v.SetMapIndex(key, value)
		}
	default:
		panic("journaltest: a mail type has a field of kind " + v.Kind().String() + ", which fill does not know")
	}
}
