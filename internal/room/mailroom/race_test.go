package mailroom

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// TestP6_OneTaker makes holders come, go and read while role mail is sent. Every message must end up read by exactly
// one.
func TestP6_OneTaker(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	ctx := t.Context()
	const agents, mails = 4, 200
	var mu sync.Mutex
	readers := map[mail.ID][]mail.Name{}
	var work sync.WaitGroup
	sending := make(chan struct{})
	for i := range agents {
		name := mail.Name(fmt.Sprintf("b%d", i))
		work.Go(func() {
			v := room.As(name)
			for round := 0; ; round++ {
				state := mail.Idle
				if round%7 == i {
					state = mail.Gone // its mail goes to the others
				}
				if _, err := v.Register(ctx, mail.Presence{Roles: []string{"builder"}, State: state}); err != nil {
					t.Error(err)
					return
				}
				page, err := v.Inbox(ctx, mail.InboxQuery{Limit: 5})
				if err != nil {
					t.Error(err)
					return
				}
				for _, it := range page.Messages {
					got, err := v.Mark(ctx, mail.Marking{IDs: []mail.ID{it.ID}, Mark: mail.MarkRead})
					if err != nil && mail.CodeOf(err) != mail.Denied {
						t.Error(err)
					}
					mu.Lock()
					for _, id := range got.Marked {
						readers[id] = append(readers[id], name)
					}
					mu.Unlock()
				}
				select {
				case <-sending:
					mu.Lock()
					done := len(readers) == mails
					mu.Unlock()
					if done {
						return
					}
				default:
				}
			}
		})
	}
	for i := range mails {
		if _, err := room.As(mail.User).Send(ctx, mail.Draft{To: mail.Recipients{"role:builder"},
			Body: fmt.Sprint(i)}); err != nil {
			t.Error(err)
		}
	}
	close(sending)
	work.Wait()
	for id, names := range readers {
		if len(names) != 1 {
			t.Errorf("%s was read by %v, want one", id, names)
		}
	}
}

// TestP2_ConcurrentSenders sends from many goroutines, some with the same idempotency key.
func TestP2_ConcurrentSenders(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	ctx := t.Context()
	if _, err := room.As(mail.User).Register(ctx, mail.Presence{Name: "ann"}); err != nil {
		t.Fatal(err)
	}
	const senders, each = 16, 50
	var wg sync.WaitGroup
	var mu sync.Mutex
	acknowledged := map[mail.ID]int{}
	for i := range senders {
		wg.Go(func() {
			v := room.As(mail.Name(fmt.Sprintf("s%d", i%4)))
			for k := range each {
				sent, err := v.Send(ctx, mail.Draft{To: mail.Recipients{"ann"}, Body: "same",
					Key: fmt.Sprint("key ", k)})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acknowledged[sent.ID]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(acknowledged) != 4*each {
		t.Errorf("%d messages were acknowledged, want %d: one for each sender and key", len(acknowledged), 4*each)
	}
	page, err := room.As("ann").Inbox(ctx, mail.InboxQuery{Limit: mail.MaxLimit})
	if err != nil || page.Unread != len(acknowledged) {
		t.Errorf("ann has %d, %v; want %d", page.Unread, err, len(acknowledged))
	}
	for _, it := range page.Messages {
		if acknowledged[it.ID] == 0 {
			t.Errorf("%s was never acknowledged", it.ID)
		}
	}
}

// TestP2_SameKeyAtOnce checks that of concurrent sends with one key only one is in the journal, where tail and jq
// would show the ones that the room ignores.
func TestP2_SameKeyAtOnce(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	ctx := t.Context()
	const keys, each = 150, 32
	for k := range keys {
		var ready, all sync.WaitGroup
		ready.Add(each)
		for i := range each {
			all.Go(func() {
				ready.Done()
				ready.Wait()
				ctx, leave := context.WithCancel(ctx)
				if i > 0 { // all but one leave before they have their answer
					time.AfterFunc(time.Duration(rand.IntN(200))*time.Microsecond, leave)
				}
				defer leave()
				_, err := room.As("ann").Send(ctx, mail.Draft{To: mail.Recipients{"user"}, Body: "same",
					Key: fmt.Sprint("key ", k)})
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	st, err := room.As(mail.User).Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	w := room.journal.Follow(0)
	defer w.Close()
	messages := 0
	for seq := mail.Seq(0); seq < st.Seq; {
		events, err := w.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if seq = e.Seq; e.Message != nil {
				messages++
			}
		}
	}
	if messages != keys {
		t.Errorf("the journal has %d messages of %d keys", messages, keys)
	}
}
