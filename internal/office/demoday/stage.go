package demoday

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/mailroom"
)

// stage is where a story is played: a room whose clock is the story's. Scripts say who sends what; that mail is
// announced, handed over and read follows from it, as it does in life, a little later.
type stage struct {
	ledger *ledger
	room   *mailroom.Room
	user   mail.Service
	rand   *rand.Rand
	labels map[string]mail.ID
	cast   map[mail.Name]*player

	now   time.Time
	queue []event
}

// event is something that is going to happen.
type event struct {
	at time.Time
	do func(context.Context) error
}

// newStage opens an empty room at a time. The same seed makes the same story.
func newStage(ctx context.Context, name mail.RoomName, at time.Time, seed uint64) (*stage, error) {
	s := &stage{ledger: newLedger(), rand: rand.New(rand.NewPCG(seed, seed)), labels: make(map[string]mail.ID),
		cast: make(map[mail.Name]*player), now: at}
	var err error
	s.room, err = mailroom.Open(ctx, name, s.ledger, mailroom.Options{
		Now: func() time.Time { return s.now }, NewID: s.newID,
		Limits: policy.Limits{Exchanges: -1, PerMinute: -1}, // a day that is squeezed into a morning is no flood
	})
	if err == nil {
		s.user = s.room.As(mail.User)
	}
	return s, err
}

func (s *stage) newID() mail.ID {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	id := []byte("msg_")
	for range 21 {
		id = append(id, letters[s.rand.IntN(len(letters))])
	}
	return mail.ID(id)
}

// at lets something happen at a time, behind what happens then already, and not in the past.
func (s *stage) at(t time.Time, do func(context.Context) error) {
	if t.Before(s.now) {
		t = s.now
	}
	i := sort.Search(len(s.queue), func(i int) bool { return s.queue[i].at.After(t) })
	s.queue = slices.Insert(s.queue, i, event{t, do})
}

// between returns a moment that is at least from and less than to away.
func (s *stage) between(from, to time.Duration) time.Time {
	return s.now.Add(from + time.Duration(s.rand.Int64N(int64(to-from))))
}

// play lets everything happen up to a time. What would come later does not.
func (s *stage) play(ctx context.Context, until time.Time) error {
	for len(s.queue) > 0 && !s.queue[0].at.After(until) {
		next := s.queue[0]
		s.queue = s.queue[1:]
		s.now = next.at
		if err := next.do(ctx); err != nil {
			return err
		}
	}
	s.now = until
	return nil
}

// perform does a step.
func (s *stage) perform(ctx context.Context, st step) error {
	for _, name := range st.who {
		if err := s.performAs(ctx, name, &st); err != nil {
			return fmt.Errorf("%s %s %q: %w", name, st.verb, append(st.args, st.label), err)
		}
	}
	return nil
}

func (s *stage) performAs(ctx context.Context, name mail.Name, st *step) error {
	switch {
	case st.verb == ">":
		return s.send(ctx, name, st)
	case name == mail.User:
		return s.mark(ctx, st)
	}
	p := s.cast[name]
	if p == nil {
		p = &player{stage: s, name: name, svc: s.room.As(name), session: sessionOf(name)}
		s.cast[name] = p
	}
	return p.perform(ctx, st)
}

// mark does what the person does to a message.
func (s *stage) mark(ctx context.Context, st *step) error {
	m := mail.Marking{IDs: []mail.ID{s.labels[st.args[0]]}, Mark: mail.Mark(st.verb)}
	if m.Mark == mail.MarkSnoozed {
		away, err := time.ParseDuration(st.args[1])
		if err != nil {
			return err
		}
		m.Until = mail.TimeOf(s.now.Add(away))
	}
	_, err := s.user.Mark(ctx, m)
	return err
}

// send sends a step's message, and sees to it that those come to read it who do.
func (s *stage) send(ctx context.Context, from mail.Name, st *step) error {
	d := st.draft
	if d.ReplyTo != "" {
		id, ok := s.labels[string(d.ReplyTo)]
		if !ok {
			return fmt.Errorf("no message is called %q", d.ReplyTo)
		}
		d.ReplyTo = id
	}
	svc := s.user
	if p := s.cast[from]; p != nil && p.awake {
		svc = p.svc
		if err := p.act(ctx); err != nil {
			return err
		}
	} else if from != mail.User {
		return fmt.Errorf("%s is not there", from)
	}
	if err := readFirst(ctx, svc, from, d.ReplyTo); err != nil {
		return err
	}
	sent, err := svc.Send(ctx, d)
	if err != nil {
		return err
	}
	if st.label != "" {
		s.labels[st.label] = sent.ID
	}
	for i := range sent.Recipients {
		s.arrived(sent.ID, &sent.Recipients[i], st.unread)
	}
	return nil
}

// readFirst lets whoever is going to answer a message read it, if that has not happened yet.
func readFirst(ctx context.Context, svc mail.Service, who mail.Name, id mail.ID) error {
	if id == "" {
		return nil
	}
	it, err := svc.Message(ctx, id)
	if err != nil {
		return err
	}
	for _, d := range it.Deliveries {
		if d.Agent != who || d.State == mail.Read {
			continue
		}
		if who != mail.User && d.State != mail.Presented {
			if _, err := svc.Mark(ctx, mail.Marking{IDs: []mail.ID{id}, Mark: mail.MarkPresented,
				Door: mail.HookDoor}); err != nil {
				return err
			}
		}
		_, err := svc.Mark(ctx, mail.Marking{IDs: []mail.ID{id}, Mark: mail.MarkRead})
		return err
	}
	return nil
}

// arrived sees to it that a recipient learns of a message.
func (s *stage) arrived(id mail.ID, d *mail.Delivery, unread bool) {
	if d.Agent == mail.User && !unread {
		s.at(s.between(2*time.Minute, 20*time.Minute), func(ctx context.Context) error {
			_, err := s.user.Mark(ctx, mail.Marking{IDs: []mail.ID{id}, Mark: mail.MarkRead})
			return err
		})
	}
	p := s.cast[d.Agent]
	switch {
	case p == nil || !p.awake || d.State != mail.Queued:
	case p.working:
		s.at(s.between(8*time.Second, 50*time.Second), p.useTool)
	case d.Wake != mail.WakeNone:
		s.at(s.between(500*time.Millisecond, 3*time.Second), func(ctx context.Context) error {
			return p.ring(ctx, id)
		})
	}
}
