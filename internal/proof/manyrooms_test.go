//go:build linux

package proof

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/persontest"
)

var manyRooms = flag.Int("proof.rooms", 0, "how many rooms TestManyRooms makes; 0: it is skipped")

const (
	// roomsAtOnce is how many rooms are made, written to or compared at a time.
	roomsAtOnce = 8
	// acknowledgedWithin is how long it may take until a room acknowledges a message to a client that keeps
	// retrying, and equalWithin until all rooms are equal everywhere.
	acknowledgedWithin = 3 * time.Minute
	equalWithin        = 2 * time.Minute
	// idleFor is how long the servers' traffic is counted while no one sends.
	idleFor = 20 * time.Second
)

// crowded is a room among many, and its senders: one at each post office.
type crowded struct {
	room    mail.RoomName
	senders []*sender
}

// TestManyRooms makes many rooms over three post offices, several at a time, and sends to each from each of them.
// Then all must have the same mail, with all acknowledged messages and no refused ones.
func TestManyRooms(t *testing.T) {
	if *manyRooms <= 0 {
		t.Skip("run it by: ./test proof --machines")
	}
	seed, records, out := setUp(t, "rooms", "proof --machines")
	var err error
	if seat, err = persontest.Open(); err != nil {
		t.Fatal(err)
	}
	defer seat.Close()
	w, err := newServers(seed, records, out)
	defer func() { w.clear(t.Failed()) }()
	if err == nil {
		err = w.serve()
	}
	if err != nil {
		t.Fatal(err)
	}
	// No mail is erased here, and nothing is harmed.
	w.eraser, w.wrecker = &eraser{book: &book{client: "user"}}, new(wrecker)
	rooms := make([]*crowded, *manyRooms)
	for k := range rooms {
		c := &crowded{room: mail.RoomName(fmt.Sprintf("room-%03d", k+1))}
		for i := range machines {
			o := w.at(k + i) // each is made by another one
			name := fmt.Sprintf("writer-%03d-%s", k+1, o.name)
			s := &sender{book: w.newBook(name, o), seed: seed, room: c.room, recipients: []string{"user", "all"}}
			c.senders = append(c.senders, s.over(o.socket(mail.Name(name))))
		}
		rooms[k] = c
	}
	w.makeRooms(rooms)
	w.idle(t)
	w.drained()
	w.out = io.Discard // otherwise it would have a line for each sender
	each8(rooms, w.checkRoom)
	w.out = out
	err = writeLines(filepath.Join(records, "sends.jsonl"), func(enc *json.Encoder) error {
		for _, b := range w.books {
			for _, o := range b.all() {
				if err := enc.Encode(o); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	w.report(t)
}

// each8 calls do for each room, several at a time.
func each8(rooms []*crowded, do func(*crowded)) {
	next := make(chan *crowded)
	var working sync.WaitGroup
	for range roomsAtOnce {
		working.Go(func() {
			for c := range next {
				do(c)
			}
		})
	}
	for _, c := range rooms {
		next <- c
	}
	close(next)
	working.Wait()
}

// makeRooms lets the first sender of each room make it, and the others send there, and says how long that took.
func (w *world) makeRooms(rooms []*crowded) {
	began := time.Now()
	var mu sync.Mutex
	var made, opened []time.Duration
	each8(rooms, func(c *crowded) {
		for i, s := range c.senders {
			took := w.until(s)
			mu.Lock()
			if i == 0 {
				made = append(made, took)
			} else {
				opened = append(opened, took)
			}
			mu.Unlock()
		}
	})
	sums := make(map[outcome]int)
	kept := 0
	for _, b := range w.books {
		for _, o := range b.all() {
			sums[o.Outcome]++
			if o.Kept {
				kept++
			}
		}
	}
	w.logf("%d rooms, %d at a time, were made and written to at each post office in %v", len(rooms), roomsAtOnce,
		time.Since(began).Round(time.Millisecond))
	w.logf("the first send, which makes the room: %s", spread(made))
	w.logf("the first send at each other post office: %s", spread(opened))
	w.logf("%d sends were acknowledged, %d of them as kept; %d were refused, %d left in doubt", sums[done], kept,
		sums[refused], sums[unknown])
}

// until sends drafts until one is acknowledged, and returns how long that took.
func (w *world) until(s *sender) time.Duration {
	began := time.Now()
	for n := 1; time.Since(began) < acknowledgedWithin; n++ {
		s.one(context.Background(), n)
		if ops := s.all(); ops[len(ops)-1].Outcome == done {
			return time.Since(began)
		}
	}
	w.found.add("P12", "%s took nothing from %s within %v", s.room, s.client, acknowledgedWithin)
	return time.Since(began)
}

// spread gives the typical and the longest time.
func spread(all []time.Duration) string {
	slices.Sort(all)
	at := func(part float64) time.Duration {
		return all[int(part*float64(len(all)-1))].Round(time.Millisecond)
	}
	return fmt.Sprintf("half within %v, nineteen of twenty within %v, all within %v", at(0.5), at(0.95), at(1))
}

// idle reports the traffic of the servers with each other and with the post offices while no one sends.
func (w *world) idle(t *testing.T) {
	type traffic struct {
		Messages int64 `json:"in_msgs"`
		Bytes    int64 `json:"in_bytes"`
	}
	count := func() (sum traffic) {
		for _, s := range w.storm.servers.Servers {
			var one traffic
			text, err := s.Get("/varz")
			if err == nil {
				err = json.Unmarshal(text, &one)
			}
			if err != nil {
				t.Error(err)
			}
			sum.Messages += one.Messages
			sum.Bytes += one.Bytes
		}
		return sum
	}
	before := count()
	time.Sleep(idleFor)
	after := count()
	w.logf("while no one sends, the servers get %.0f messages and %.0f kB a second",
		float64(after.Messages-before.Messages)/idleFor.Seconds(),
		float64(after.Bytes-before.Bytes)/1000/idleFor.Seconds())
}

// checkRoom holds that all post offices export the same room, with acknowledged messages once and no refused ones.
func (w *world) checkRoom(c *crowded) {
	export := func(o *office) (items []mail.Item, err error) {
		for began := time.Now(); time.Since(began) < equalWithin; time.Sleep(100 * time.Millisecond) {
			if items, err = w.export(w.patient(o), c.room); err == nil {
				return items, nil
			}
		}
		return nil, err
	}
	var all [machines][]mail.Item
	for began := time.Now(); time.Since(began) < equalWithin; time.Sleep(200 * time.Millisecond) {
		for i, o := range w.offices {
			items, err := export(o)
			if err != nil {
				w.found.add("P2", "%s cannot be exported at %s: %v", c.room, o.name, err)
				return
			}
			all[i] = items
		}
		if asJSON(all[0]) == asJSON(all[1]) && asJSON(all[1]) == asJSON(all[2]) {
			break
		}
	}
	for i, o := range w.offices[1:] {
		w.checkSame(o, c.room, all[0], all[i+1])
	}
	for _, s := range c.senders {
		w.checkSender(s, all[0])
	}
}
