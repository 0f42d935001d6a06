package demoday

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
)

// Life continues the day: the agents keep working, one message at a time, and respond to the person. They are clients
// of a running post office, and use the doors of agents.
type Life struct {
	Office mail.Office
	Dir    string        // the directory of their sockets; paths of sockets must be short
	Pace   time.Duration // between two messages, plus or minus a third; default 30 s
}

// seat is an agent's room and name.
type seat struct {
	room mail.RoomName
	name mail.Name
}

// there returns the agents present at the end of the day.
func there() []seat {
	return []seat{{Lighthouse, "orchestrator"}, {Lighthouse, "builder-1"}, {Lighthouse, "docs-writer"},
		{Almanac, "小克"}, {Almanac, "מוריה"}}
}

// Run returns when ctx ends. The work ends by itself after about half an hour; the agents stay, and answer.
func (l *Life) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	failed := make(chan error, 10)
	residents := make(map[mail.Name]*resident)
	for i, at := range there() {
		r, err := l.resident(ctx, at, filepath.Join(l.Dir, fmt.Sprintf("%d.sock", i)))
		if err != nil {
			return err
		}
		residents[r.name] = r
		running.Go(r.listen)
		running.Go(func() { failed <- r.live(ctx) })
	}
	running.Go(func() { l.work(ctx, residents) })
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed: // an agent stops before ctx ends only with an error
		return err
	}
}

func (l *Life) pace() time.Duration { return cmp.Or(l.Pace, 30*time.Second) }

// work makes the agents carry out their moves.
func (l *Life) work(ctx context.Context, residents map[mail.Name]*resident) {
	pace := l.pace()
	said := make(map[string]mail.ID)
	for _, m := range moves() {
		m.draft.ReplyTo, m.done = said[m.re], make(chan mail.ID, 1)
		if !pause.For(ctx, pace*2/3+rand.N(pace*2/3)) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case residents[m.who].moves <- m:
		}
		select {
		case <-ctx.Done():
			return
		case said[m.as] = <-m.done:
		}
	}
}

// resident is an agent that is present. Only the goroutine of live uses the fields from svc on.
type resident struct {
	name     mail.Name
	listener net.Listener
	rung     pause.Nudge
	moves    chan move
	think    time.Duration // to read, and again to answer
	svc      mail.Service

	busy     bool      // with a task: its turn continues
	promised []promise // messages to send later
}

type promise struct {
	at    time.Time
	draft mail.Draft
}

// resident loads the agent's state at the end of the day, and resumes its session.
func (l *Life) resident(ctx context.Context, at seat, socket string) (*resident, error) {
	r := &resident{name: at.name, think: min(time.Second, l.pace()/30), rung: pause.NewNudge(),
		moves: make(chan move)}
	var err error
	if r.svc, err = l.Office.Room(ctx, at.room, at.name); err != nil {
		return nil, err
	}
	self, _, err := mail.OneAgent(ctx, r.svc, at.name)
	if err != nil {
		return nil, err
	}
	r.busy = self.State == mail.Working
	if r.listener, err = net.Listen("unix", socket); err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { r.listener.Close() })
	_, err = r.turn(ctx, mail.SessionStart, &mail.Access{Socket: socket, Mode: "default"})
	return r, err
}

func (r *resident) turn(ctx context.Context, m mail.Moment, a *mail.Access) (mail.Briefing, error) {
	return r.svc.Turn(ctx, mail.Turn{Moment: m, Session: sessionOf(r.name), Client: "claude", Access: a})
}

// sessionOf is the session of an agent in the story.
func sessionOf(n mail.Name) string {
	sum := sha256.Sum256([]byte(n))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80 // formatted as a random UUID, like those of clients
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// listen serves the socket of the agent's session, like that of Claude Code. A line written there wakes the agent.
func (r *resident) listen() {
	for {
		c, err := r.listener.Accept()
		if err != nil {
			return // Run has ended
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := bufio.NewReader(c).ReadSlice('\n'); err == nil {
			r.rung.Give()
		}
		c.Close()
	}
}

// tick is how often an agent checks its mailbox, and how long it leaves mail to the door that should wake it.
const tick = 1500 * time.Millisecond

func (r *resident) live(ctx context.Context) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-r.rung:
			err = r.wake(ctx)
		case m := <-r.moves:
			err = r.move(ctx, m)
		case <-ticker.C:
			err = r.lookUp(ctx)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s of the demonstration: %w", r.name, err)
		}
	}
}

// beat sends a heartbeat. An agent that the person froze or retired sends none.
func (r *resident) beat(ctx context.Context) (here bool, err error) {
	me, err := r.svc.Register(ctx, mail.Presence{Session: sessionOf(r.name), Update: true})
	return err == nil && me.State != mail.Frozen, ignoring(err, mail.NotFound)
}

// wake runs a turn started by a door.
func (r *resident) wake(ctx context.Context) error {
	if here, err := r.beat(ctx); !here {
		return err
	}
	brief, err := r.turn(ctx, mail.TurnStart, nil)
	for err == nil {
		if err := r.take(ctx, brief.Items, mail.HookDoor); err != nil || r.busy {
			return err
		}
		if brief, err = r.turn(ctx, mail.TurnEnd, nil); err == nil && !brief.Continue {
			return nil
		}
	}
	return err
}

// lookUp sends a heartbeat and checks the mailbox, as an agent does between two tools; idle agents also do so now and
// then.
func (r *resident) lookUp(ctx context.Context) error {
	if here, err := r.beat(ctx); !here {
		return err
	}
	if r.busy {
		brief, err := r.turn(ctx, mail.AfterTool, nil)
		if err != nil {
			return err
		}
		if err := r.take(ctx, brief.Items, mail.HookDoor); err != nil {
			return err
		}
	}
	if err := r.keepPromises(ctx); err != nil {
		return err
	}
	page, err := r.svc.Inbox(ctx, mail.InboxQuery{})
	if err != nil {
		return err
	}
	var found []mail.Item
	for _, it := range page.Messages {
		if it.State != mail.Presented && time.Since(it.Sent.Std()) > tick {
			found = append(found, it)
		}
	}
	return r.take(ctx, found, "mcp")
}

// take reads the messages handed over, and answers the person.
func (r *resident) take(ctx context.Context, items []mail.Item, door string) error {
	for i := range items {
		it := &items[i]
		if err := r.mark(ctx, mail.Marking{IDs: []mail.ID{it.ID}, Mark: mail.MarkPresented, Door: door}); err != nil {
			return err
		}
		if !pause.For(ctx, r.think) {
			return ctx.Err()
		}
		if err := r.mark(ctx, mail.Marking{IDs: []mail.ID{it.ID}, Mark: mail.MarkRead}); err != nil {
			return err
		}
		if it.From != mail.ToUser {
			continue
		}
		if !pause.For(ctx, r.think) {
			return ctx.Err()
		}
		if err := r.reply(ctx, it); err != nil {
			return err
		}
	}
	return nil
}

// mark marks messages. A message deleted meanwhile needs no mark.
func (r *resident) mark(ctx context.Context, m mail.Marking) error {
	_, err := r.svc.Mark(ctx, m)
	return ignoring(err, mail.NotFound, mail.Denied)
}

// reply answers the person. If several present agents were addressed, the first answers.
func (r *resident) reply(ctx context.Context, it *mail.Item) error {
	whole, err := r.svc.Message(ctx, it.ID)
	if err != nil {
		return ignoring(err, mail.NotFound)
	}
	for _, d := range whole.Deliveries {
		if d.Agent == r.name {
			break
		}
		if k := d.Address.Kind(); (k == mail.ToTag || k == mail.ToEveryone) &&
			slices.ContainsFunc(there(), func(s seat) bool { return s.name == d.Agent }) {
			return nil
		}
	}
	now, later := replies(&whole.Message)
	if later != nil {
		r.promised = append(r.promised, promise{time.Now().Add(20 * time.Second), *later})
	}
	if err := r.send(ctx, now); err != nil || it.Type != mail.Cancel {
		return err
	}
	return r.settle(ctx, new(""))
}

func (r *resident) keepPromises(ctx context.Context) error {
	for len(r.promised) > 0 && !time.Now().Before(r.promised[0].at) {
		if err := r.send(ctx, r.promised[0].draft); err != nil {
			return err
		}
		r.promised = r.promised[1:]
	}
	return nil
}

// send sends a message, and ignores refusals by limits and messages deleted meanwhile.
func (r *resident) send(ctx context.Context, d mail.Draft) error {
	_, err := r.svc.Send(ctx, d)
	return ignoring(err, mail.Limited, mail.NotFound)
}

func ignoring(err error, codes ...mail.Code) error {
	if slices.Contains(codes, mail.CodeOf(err)) {
		return nil
	}
	return err
}

// move carries out the agent's next move.
func (r *resident) move(ctx context.Context, m move) error {
	defer close(m.done)
	if here, err := r.beat(ctx); !here {
		return err
	}
	if !r.busy {
		if _, err := r.turn(ctx, mail.TurnStart, nil); err != nil {
			return err
		}
	}
	sent, err := r.svc.Send(ctx, m.draft)
	if err := ignoring(err, mail.Limited, mail.NotFound); err != nil {
		return err
	}
	m.done <- sent.ID
	return r.settle(ctx, m.task)
}

// settle records a change of the agent's task, and ends the turn of an agent without one.
func (r *resident) settle(ctx context.Context, task *string) error {
	if task != nil {
		if _, err := r.svc.Register(ctx, mail.Presence{Task: task}); err != nil {
			return err
		}
		r.busy = *task != ""
	}
	if r.busy {
		return nil
	}
	_, err := r.turn(ctx, mail.TurnEnd, nil)
	return err
}
