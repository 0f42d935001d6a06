package httpapi

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/mail/mailtest"
	"pennypost/internal/wire"
)

// fakeOffice is a post office that stores its arguments and has no rules.
type fakeOffice struct {
	mailtest.Asking
	mu    sync.Mutex
	rooms map[mail.RoomName]*fakeRoom
	desk  mail.DeskQuery // the last query
}

func newFakeOffice() *fakeOffice {
	o := &fakeOffice{rooms: make(map[mail.RoomName]*fakeRoom)}
	o.Ask(fakeCard())
	return o
}

// fakeCard is a dialog that takes a refusal.
func fakeCard() mail.Card {
	return mail.Card{Room: "lab", Agent: "bob", Client: "claude", Here: true,
		Dialog: mail.Dialog{ID: "d-7", Kind: mail.AsksPermission, Tool: "Bash",
			Sum: strings.Repeat("0f", 32), Since: 1778421600000},
		Ask: mail.Ask{Form: mail.FormCommand, Text: "make release", Offers: []mail.Offer{{Verdict: mail.SayDeny,
			Words: true}}},
		Waiters: []mail.Waiting{{Question: "m1", Type: mail.Question, Asker: "ann", Address: "agent:bob",
			Chain: []mail.Name{"ann", "bob"}}}}
}

// fakeOutbox keeps one letter.
type fakeOutbox struct{}

func (fakeOutbox) List(which func(*mail.Kept) bool) (out mail.Outbox) {
	k := mail.Kept{Key: "parser", Room: "lab", From: "ann", To: mail.Recipients{"bob"}, Since: 1778421600000,
		Refused: true, Why: "nobody has the role", Body: "The parser fails."}
	if out.Letters = []mail.Kept{}; which(&k) {
		out.Letters = append(out.Letters, k)
	}
	return out
}

func (fakeOutbox) Withdraw(key string) error {
	if key != "parser" {
		return mail.Errorf(mail.NotFound, "nothing with the key %q is kept", key)
	}
	return nil
}

// fakeAway says that the person is away from one agent.
type fakeAway struct{}

var _ Away = fakeAway{}

func (fakeAway) Away(context.Context) (wire.Aways, error) {
	return wire.Aways{Away: []wire.Away{{Room: "lab", Agent: "bob", Until: 1778428800000}}}, nil
}

func (f fakeAway) SetAway(ctx context.Context, _ wire.Away) (wire.Aways, error) { return f.Away(ctx) }

func (o *fakeOffice) room(name mail.RoomName) *fakeRoom {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.rooms[name] == nil {
		o.rooms[name] = &fakeRoom{name: name, more: make(chan struct{})}
	}
	return o.rooms[name]
}

func (o *fakeOffice) Room(_ context.Context, name mail.RoomName, as mail.Name) (mail.Service, error) {
	return &fakeService{o.room(name), as}, nil
}

func (o *fakeOffice) Rooms(context.Context) ([]mail.RoomStatus, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []mail.RoomStatus
	for name := range o.rooms {
		all = append(all, mail.RoomStatus{Name: name, Open: true})
	}
	return all, nil
}

// fakeRoom remembers its journal, and the argument and caller of the last call.
type fakeRoom struct {
	name mail.RoomName

	mu       sync.Mutex
	events   []mail.Event
	last     any           // the argument of the last call
	caller   mail.Name     // who made it
	fail     error         // the error of every call
	panics   any           // the panic of every call
	slow     time.Duration // how long an import takes
	watching int
	more     chan struct{} // closed, and replaced, when an event is added
}

// ask begins every call.
func (r *fakeRoom) ask(caller mail.Name, arg any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.panics != nil {
		panic(r.panics)
	}
	r.last, r.caller = arg, caller
	return r.fail
}

func (r *fakeRoom) add(e mail.Event) mail.Seq {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Seq = mail.Seq(len(r.events) + 1)
	e.At = 1778421600123
	r.events = append(r.events, e)
	close(r.more)
	r.more = make(chan struct{})
	return e.Seq
}

func (r *fakeRoom) behind(after mail.Seq) ([]mail.Event, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events[min(int(after), len(r.events)):]), r.more
}

func (r *fakeRoom) items() []mail.Item {
	var items []mail.Item
	events, _ := r.behind(0)
	for _, e := range events {
		if e.Message != nil {
			items = append(items, mail.Item{Message: *e.Message, Seq: e.Seq, State: mail.Queued})
		}
	}
	return items
}

type fakeService struct {
	*fakeRoom
	as mail.Name
}

var _ mail.Service = (*fakeService)(nil)

func (s *fakeService) Send(_ context.Context, d mail.Draft) (mail.Sent, error) {
	if err := s.ask(s.as, d); err != nil {
		return mail.Sent{}, err
	}
	if err := d.Check(mail.MaxBody); err != nil {
		return mail.Sent{}, err
	}
	for _, it := range s.items() {
		if d.Key != "" && it.Key == d.Key {
			return mail.Sent{ID: it.ID, Seq: it.Seq, Room: s.name, Duplicate: true}, nil
		}
	}
	events, _ := s.behind(0)
	m := mail.Message{
		ID: mail.ID("m" + strconv.Itoa(len(events)+1)), Type: mail.Custom, From: mail.AgentAddress(s.as),
		Subject: d.Subject, Body: d.Body,
		ReplyTo: d.ReplyTo, Metadata: d.Metadata, Key: d.Key, Sent: 1778421600123,
	}
	for _, to := range d.To {
		m.To = append(m.To, mail.AgentAddress(mail.Name(to)))
	}
	seq := s.add(mail.Event{Message: &m})
	return mail.Sent{ID: m.ID, Seq: seq, Room: s.name,
		Recipients: []mail.Delivery{{Address: m.To[0], Agent: mail.Name(d.To[0]), State: mail.Queued,
			Wake: mail.WakeNoDoor}}}, nil
}

func (s *fakeService) Inbox(_ context.Context, q mail.InboxQuery) (mail.Page, error) {
	return mail.Page{Messages: s.items(), Unread: len(s.items())}, s.ask(s.as, q)
}

func (s *fakeService) History(_ context.Context, q mail.HistoryQuery) (mail.Page, error) {
	return mail.Page{Messages: s.items()}, s.ask(s.as, q)
}

func (s *fakeService) Message(_ context.Context, id mail.ID) (mail.Item, error) {
	if err := s.ask(s.as, id); err != nil {
		return mail.Item{}, err
	}
	for _, it := range s.items() {
		if it.ID == id {
			it.Deliveries = []mail.Delivery{{Address: it.To[0], Agent: "ann", State: mail.Read, At: 1778421600123,
				Wake: mail.WakeNone}}
			return it, nil
		}
	}
	return mail.Item{}, mail.Errorf(mail.NotFound, "there is no message %q", id)
}

func (s *fakeService) Mark(_ context.Context, m mail.Marking) (mail.Marked, error) {
	return mail.Marked{Marked: m.IDs}, s.ask(s.as, m)
}

func (s *fakeService) Wait(ctx context.Context, q mail.WaitQuery) (mail.Item, error) {
	if err := s.ask(s.as, q); err != nil {
		return mail.Item{}, err
	}
	for {
		_, more := s.behind(0)
		for _, it := range s.items() {
			if it.Seq > q.After {
				return it, nil
			}
		}
		select {
		case <-more:
		case <-ctx.Done():
			return mail.Item{}, &mail.Error{Code: mail.Timeout, Msg: "nothing came", Err: ctx.Err()}
		}
	}
}

func (s *fakeService) Watch(_ context.Context, after mail.Seq) (mail.Watch, error) {
	if err := s.ask(s.as, after); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if int(after) > len(s.events) {
		return nil, mail.Errorf(mail.Invalid, "the place %d lies in the future", after)
	}
	s.watching++
	return &fakeWatch{room: s.fakeRoom, after: after}, nil
}

type fakeWatch struct {
	room  *fakeRoom
	after mail.Seq
}

func (w *fakeWatch) Next(ctx context.Context) ([]mail.Event, error) {
	for {
		events, more := w.room.behind(w.after)
		if len(events) > 0 {
			w.after = events[len(events)-1].Seq
			return events, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (w *fakeWatch) Close() error {
	w.room.mu.Lock()
	defer w.room.mu.Unlock()
	w.room.watching--
	return nil
}

func fakeAgent(name mail.Name) mail.Agent {
	return mail.Agent{
		Name:       name,
		Roles:      []string{"builder"},
		Tags:       []string{},
		State:      mail.Idle,
		Since:      1778421600123,
		Registered: 1778421600123,
		Seen:       1778421600123,
	}
}

func (s *fakeService) Agents(_ context.Context, q mail.RosterQuery) (mail.AgentList, error) {
	return mail.AgentList{Agents: []mail.Agent{fakeAgent("小克 builder")}, Total: 1,
		States: map[mail.State]int{mail.Idle: 1}}, s.ask(s.as, q)
}

func (s *fakeService) Register(_ context.Context, p mail.Presence) (mail.Agent, error) {
	return fakeAgent(p.Name), s.ask(s.as, p)
}

func (s *fakeService) Merge(ctx context.Context, from, into mail.Name) (mail.Agent, error) {
	return s.Rename(ctx, from, into)
}

func (s *fakeService) Rename(_ context.Context, from, to mail.Name) (mail.Agent, error) {
	return fakeAgent(to), s.ask(s.as, [2]mail.Name{from, to})
}

func (s *fakeService) Retire(_ context.Context, name mail.Name) error { return s.ask(s.as, name) }

func (s *fakeService) Token(_ context.Context, name mail.Name) (string, error) {
	return "secret-of-" + string(name), s.ask(s.as, name)
}

func (s *fakeService) GuestToken(_ context.Context, name mail.Name) (string, error) {
	return "secret-of-" + string(name), s.ask(s.as, name)
}

func (s *fakeService) Status(context.Context) (mail.RoomStatus, error) {
	return mail.RoomStatus{Name: s.name, Open: true}, s.ask(s.as, nil)
}

func (s *fakeService) Erase(_ context.Context, id mail.ID) error { return s.ask(s.as, id) }

func (s *fakeService) Archive(context.Context) (mail.Trimmed, error) {
	return mail.Trimmed{Kept: len(s.items())}, s.ask(s.as, nil)
}

func (s *fakeService) Verify(context.Context) (mail.Verification, error) {
	return mail.Verification{Files: 1, Problems: []mail.Problem{{File: "mailbox.jsonl", Line: 3, Text: "bad crc"}}},
		s.ask(s.as, nil)
}

func (s *fakeService) Repair(context.Context) (mail.Verification, error) {
	return mail.Verification{Files: 1, Repaired: 2, Problems: []mail.Problem{}}, s.ask(s.as, nil)
}

func (s *fakeService) Export(context.Context) iter.Seq2[mail.Item, error] {
	return func(yield func(mail.Item, error) bool) {
		if err := s.ask(s.as, nil); err != nil {
			yield(mail.Item{}, err)
			return
		}
		for _, it := range s.items() {
			if it.Body == "unreadable" {
				yield(mail.Item{}, mail.Errorf(mail.Internal, "the archive cannot be read"))
				return
			}
			if !yield(it, nil) {
				return
			}
		}
	}
}

func (s *fakeService) Dialog(_ context.Context, c mail.DialogChange) error { return s.ask(s.as, c) }

func (s *fakeService) Turn(_ context.Context, t mail.Turn) (mail.Briefing, error) {
	items := s.items()
	return mail.Briefing{Agent: s.as, State: mail.Working, Items: items, Unread: len(items), Cancel: &items[0],
		Continue: true, More: 1}, s.ask(s.as, t)
}

func (s *fakeService) Withdraw(_ context.Context, id mail.ID) error { return s.ask(s.as, id) }

func (s *fakeService) Stuck(_ context.Context, q mail.StuckQuery) (mail.StuckList, error) {
	return mail.StuckList{Kinds: map[mail.StuckKind]int{mail.StuckDead: 1},
		Groups: []mail.StuckGroup{{Kind: mail.StuckDead, For: "agent:bob", Since: 1778421600123, Count: 1000,
			More: true,
			Mail: []mail.Item{}}}}, s.ask(s.as, q)
}

func (s *fakeService) Desk(_ context.Context, q mail.DeskQuery) (mail.Desk, error) {
	return fakeDesk(s.name), s.ask(s.as, q)
}

func fakeDesk(room mail.RoomName) mail.Desk {
	row := mail.Conversation{Room: room, Preview: "p", Asks: 1, Urgent: true, IDs: []mail.ID{"msg_1"}, Messages: 1,
		Unread: 1, Folded: 2, Item: mail.Item{Message: mail.Message{ID: "msg_1", Type: mail.Question,
			From: "agent:ann",
			To:   []mail.Address{"user"}, Sent: 1778421600123}, Seq: 1, Open: true}}
	return mail.Desk{Needs: []mail.Conversation{row}, Waiting: 1, Updates: []mail.Conversation{}, Unread: 3,
		Next: "1.2@lab", Away: []mail.RoomName{"gone"}}
}

func (o *fakeOffice) Fleet(_ context.Context, q mail.FleetQuery) (mail.Fleet, error) {
	return mail.Fleet{Rooms: []mail.FleetRoom{{Room: "lab", Agents: &mail.AgentList{
		Agents: []mail.Agent{{Name: "bob", State: mail.Idle}}, Total: 1, States: map[mail.State]int{mail.Idle: 1}}}},
		NotRead: []mail.RoomName{"attic"}}, nil
}

func (o *fakeOffice) FleetMail(context.Context, mail.FleetMailQuery) (mail.FleetMail, error) {
	return mail.FleetMail{Rooms: []mail.FleetPage{{Room: "lab", Page: mail.Page{Messages: []mail.Item{}}}}}, nil
}

func (o *fakeOffice) Desk(_ context.Context, q mail.DeskQuery) (mail.Desk, error) {
	o.desk = q
	return fakeDesk("lab"), nil
}

func (o *fakeOffice) WatchDesk(context.Context) (mail.DeskWatch, error) {
	return &fakeDeskWatch{left: []mail.DeskChange{{}, {Room: "lab", Seq: 7, Needs: 1, Unread: 2}}}, nil
}

// fakeDeskWatch tells of a few changes, one at a time.
type fakeDeskWatch struct{ left []mail.DeskChange }

func (w *fakeDeskWatch) Next(ctx context.Context) ([]mail.DeskChange, error) {
	if len(w.left) == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	next := w.left[:1]
	w.left = w.left[1:]
	return next, nil
}

func (w *fakeDeskWatch) Close() error { return nil }

func (s *fakeService) Waiting(_ context.Context, q mail.WaitingQuery) (mail.WaitingList, error) {
	return mail.WaitingList{Rest: 7,
			Waiting: []mail.Waiting{{Question: "msg_1", Type: mail.Question, Subject: "s", Since: 1778421600123,
				Asker:   "ann",
				Address: "agent:bob", Asked: "bob", Chain: []mail.Name{"ann", "bob", "ann"}, Circle: true}}},
		s.ask(s.as, q)
}

func (s *fakeService) Bridges(context.Context) ([]mail.BridgeStatus, error) {
	return []mail.BridgeStatus{{Bridge: fakeBridge(), Failing: "disk full", Since: 1778421600123}}, s.ask(s.as, nil)
}

func fakeBridge() mail.Bridge {
	return mail.Bridge{ID: "haak", Dialect: "haak", Dir: "/project", Mode: mail.BridgeBoth, Added: 1778421600123}
}

func (s *fakeService) AddBridge(_ context.Context, b mail.Bridge) (mail.BridgeStatus, error) {
	return mail.BridgeStatus{Bridge: b}, s.ask(s.as, b)
}

func (s *fakeService) RemoveBridge(_ context.Context, id string) error { return s.ask(s.as, id) }

func (s *fakeService) SyncBridge(_ context.Context, id string) (mail.BridgeStatus, error) {
	return mail.BridgeStatus{Bridge: fakeBridge(), Seq: 7, Running: true}, s.ask(s.as, id)
}

func (s *fakeService) RejectedLines(_ context.Context, id string) ([]mail.BadLine, error) {
	return []mail.BadLine{{File: "data/agent-mailbox.jsonl", Line: 3, Why: "no id", Text: "{}"}}, s.ask(s.as, id)
}

func (s *fakeService) Workspaces(context.Context) ([]mail.Workspace, error) {
	return []mail.Workspace{{ID: "ws", Label: "Thesis", Dir: "/ws", Added: 1778421600123}}, s.ask(s.as, nil)
}

func (s *fakeService) AddWorkspace(_ context.Context, w mail.Workspace) (mail.Workspace, error) {
	return w, s.ask(s.as, w)
}

func (s *fakeService) RemoveWorkspace(_ context.Context, id mail.Name) error { return s.ask(s.as, id) }

func (s *fakeService) Claims(_ context.Context, q mail.ClaimQuery) (mail.ClaimList, error) {
	return mail.ClaimList{Claims: []mail.Holding{s.holding()}}, s.ask(s.as, q)
}

func (s *fakeService) Claim(_ context.Context, r mail.ClaimRequest) (mail.Claimed, error) {
	h := s.holding()
	return mail.Claimed{Held: []mail.Holding{h}, Clashes: []mail.Clash{{Wanted: h.Target, Held: h}},
		Freed: []mail.Holding{h}}, s.ask(s.as, r)
}

func (s *fakeService) Scheduled(context.Context) (mail.ScheduledList, error) {
	return mail.ScheduledList{Scheduled: []mail.Scheduled{s.scheduled()}}, s.ask(s.as, nil)
}

func (s *fakeService) Reschedule(_ context.Context, r mail.Rescheduling) (mail.Scheduled, error) {
	return s.scheduled(), s.ask(s.as, r)
}

func (s *fakeService) Unschedule(_ context.Context, id mail.ID) error { return s.ask(s.as, id) }

func (s *fakeService) scheduled() mail.Scheduled {
	return mail.Scheduled{ID: "m1", From: "ann", At: 1778421600123, Every: "0 9 * * mon", Zone: "Europe/Berlin",
		Made: 1778421600123, Draft: mail.Draft{To: mail.Recipients{"bob"}, Body: "x"}}
}

func (s *fakeService) holding() mail.Holding {
	return mail.Holding{Agent: "ann", Claim: mail.Claim{Why: "the parser", Quiet: 120, Since: 1778421600123,
		Target: mail.Target{Root: "fd01-2a", At: "/src/shop", Path: "parser", Form: mail.BelowForm}}}
}

func (s *fakeService) Grants(context.Context) ([]mail.Grant, error) {
	return []mail.Grant{{Agent: "lead", Role: "orchestrator", Dir: "/src", Client: "claude", By: mail.User,
		At: 1778421600123}}, s.ask(s.as, nil)
}

func (s *fakeService) Grant(_ context.Context, g mail.Grant) (mail.Grant, error) {
	return g, s.ask(s.as, g)
}

func (s *fakeService) Import(ctx context.Context, items []mail.Item) (mail.Imported, error) {
	select {
	case <-time.After(s.slow):
	case <-ctx.Done():
		return mail.Imported{}, ctx.Err()
	}
	return mail.Imported{Added: len(items)}, s.ask(s.as, items)
}

// fakeListen rings a waiting caller after as many signs of life as there are z in the session's name.
func fakeListen(ctx context.Context, _ mail.RoomName, caller mail.Name, at mail.Listener, silence time.Duration,
	hand func(*mail.Rung) error) error {
	for range strings.Count(at.Session, "z") {
		select {
		case <-time.After(silence):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := hand(nil); err != nil {
			return err
		}
	}
	return hand(&mail.Rung{ID: "ring_" + at.Door, Text: "mail for " + string(caller)})
}

// fakeBackup writes bytes that fit the schema.
func fakeBackup(_ context.Context, to io.Writer) ([]mail.RoomName, error) {
	_, err := io.WriteString(to, `"everything"`)
	return nil, err
}

func fakeRemove(_ context.Context, room mail.RoomName) (wire.RemovedRoom, error) {
	return wire.RemovedRoom{Room: room, Files: "/removed/" + string(room)}, nil
}

func fakeRestore(_ context.Context, room mail.RoomName, _ wire.RestoreRoom) (wire.RestoredRoom, error) {
	return wire.RestoredRoom{Room: room, Copies: []wire.RoomCopy{{Machine: "desk", Last: 7, Events: 7}}}, nil
}

func fakeMove(_ context.Context, room mail.RoomName, ask wire.MoveRoom) (wire.MovedRoom, error) {
	return wire.MovedRoom{Room: room, To: ask.To, Seq: 7, Moved: true}, nil
}

// fakeMachines are two.
type fakeMachines struct{}

func (fakeMachines) List() []mail.MachineStatus {
	return []mail.MachineStatus{{Name: "laptop-1", Here: true, Heard: 1778421600000, Version: "v1", Rooms: 2},
		{Name: "laptop-2", Away: true, Heard: 1778421500000, Skew: -1500}}
}

func (fakeMachines) Health() mail.ServersHealth {
	spare := 0
	return mail.ServersHealth{MayFail: &spare, Servers: []mail.ServerStatus{
		{Name: "desk", State: mail.ServerUp, Version: "2.15.2", Sync: "always", Behind: 120, BehindIn: 1},
		{Name: "tower", State: mail.ServerSilent, Since: 1778421600000}}, Unknown: 1,
		Degraded: []mail.Degraded{{About: "silent tower", Text: "the NATS server tower does not answer",
			Fix: "start it", Since: 1778421600000}}}
}

func fakeTry(context.Context) (wire.Trials, error) {
	return wire.Trials{Trials: []wire.Trial{{Kind: "file", Wrote: 2500, Read: 100},
		{Kind: "jetstream", Wrote: 9500, Read: 1500, Through: "tower"}}}, nil
}

// fakeShards are two.
type fakeShards struct{}

func (fakeShards) Shards(context.Context) (wire.Shards, error) {
	return wire.Shards{Shards: []wire.Shard{{Number: 1, Rooms: 12, Messages: 4000, Bytes: 2 << 20, Leader: "tower"},
		{Number: 2, Rooms: 9}}}, nil
}

func (f fakeShards) MakeShards(ctx context.Context, ask wire.MakeShards) (wire.Shards, error) {
	list, err := f.Shards(ctx)
	list.Made = 1
	return list, err
}

func (fakeMachines) AdmitMachine(context.Context, mail.Machine, string) error { return nil }

func (fakeMachines) RemoveMachine(context.Context, mail.Machine) error { return nil }

// fakeNotify has one channel.
type fakeNotify struct{}

var _ Notify = fakeNotify{}

func (fakeNotify) Channels() []wire.NotifyChannel {
	return []wire.NotifyChannel{{Name: "desktop", What: "urgent", Last: 1778421600123, Answer: "shown"}}
}

func (fakeNotify) Test(_ context.Context, channel string) ([]wire.NotifyTested, error) {
	return []wire.NotifyTested{{Name: channel, Answer: "shown"}}, nil
}

func (fakeNotify) Pair(_ context.Context, channel string) (wire.NotifyPairing, error) {
	return wire.NotifyPairing{Channel: channel, Code: "K7QXPMWA", Until: 1778421600123, Bot: "@desk_bot",
		Link: "https://t.me/desk_bot?start=K7QXPMWA"}, nil
}

func (fakeNotify) Unpair(context.Context, string) error { return nil }

// fakeGitHub takes deliveries signed with the secret of docs/http.md.
type fakeGitHub struct{}

var _ GitHub = fakeGitHub{}

func (fakeGitHub) Take(_ context.Context, _ mail.RoomName, d wire.GitHubDelivery) error {
	mac := hmac.New(sha256.New, []byte("a secret of sixteen bytes"))
	mac.Write(d.Body)
	if d.Event != "ping" || d.Signature != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
		return mail.Errorf(mail.Unknown, "it is not signed")
	}
	return nil
}

// fakePages are pages at which one browser is logged in.
type fakePages struct{}

var _ Pages = fakePages{}

func (fakePages) Link(ask wire.Login) (string, error) {
	host := "pages"
	if ask.Plain {
		host = "127.0.0.1"
	}
	return "http://" + host + "/login?" + string(ask.Room), nil
}

func (fakePages) Sessions() []wire.Session {
	return []wire.Session{{ID: "abcdefgh", Browser: "Firefox on Linux", Opened: 1778421600123, Seen: 1778421600123}}
}

func (fakePages) EndSession(id string) error {
	if id != "" && id != "abcdefgh" {
		return mail.Errorf(mail.NotFound, "no session %s", id)
	}
	return nil
}

// fakeHooks answer with their input, and ring one that waits after as many signs of life as there are z in that
// input.
type fakeHooks struct{}

func (fakeHooks) Answer(ctx context.Context, h *wire.Hook, waits func()) (wire.HookAnswer, error) {
	if h.Client == "nobody" {
		return wire.HookAnswer{Out: "{}"}, mail.Errorf(mail.Invalid, "the client is not known")
	}
	switch string(h.Input) {
	case "slow":
		<-ctx.Done()
	case "asked":
		waits()
		time.Sleep(3*askSign + askSign/2)
	case "broken":
		panic("what the client says is not understood")
	}
	return wire.HookAnswer{Out: fmt.Sprintf("%s %s %s in %s as %s, %q", h.Client, h.Event, h.Input, h.Dir, h.As,
		h.Environ), Ticket: "T1"}, nil
}

func (fakeHooks) Wait(ctx context.Context, h *wire.Hook, silence time.Duration,
	hand func(*wire.HookAnswer) error) error {
	at := mail.Listener{Door: mail.RewakeDoor, Session: string(h.Input)}
	return fakeListen(ctx, "lab", "ann", at, silence, func(r *mail.Rung) error {
		if r == nil {
			return hand(nil)
		}
		return hand(&wire.HookAnswer{Err: r.Text, Exit: 2})
	})
}

func (fakeHooks) Taken(_ context.Context, ticket string) error {
	if ticket != "T1" {
		return mail.Errorf(mail.NotFound, "there is no such ticket")
	}
	return nil
}

func fakeAttach(context.Context, mail.RoomName, mail.Name, wire.Attach) (wire.Attached, error) {
	return wire.Attached{Live: true}, nil
}

// fakeInvites let one machine in.
type fakeInvites struct{}

var _ Invites = fakeInvites{}

func (fakeInvites) Invite(wire.Invite) (wire.Invited, error) {
	return wire.Invited{URL: "https://192.168.1.5:8766", Code: "abc", ID: "abcdefgh", Expires: 1778421600123}, nil
}

func (fakeInvites) Invites() wire.Invites {
	return wire.Invites{Machines: []wire.Machine{{Name: "laptop-2", Joined: 1778421600123}},
		Codes: []wire.OpenCode{{ID: "abcdefgh", Made: 1778421600123, Expires: 1778421600123}}}
}

func (fakeInvites) Revoke(name string) error {
	if name != "laptop-2" {
		return mail.Errorf(mail.NotFound, "no machine %s", name)
	}
	return nil
}

func (fakeInvites) Redeem(ask wire.Join, _ netip.Addr, _ *mail.Pass) (wire.Joined, error) {
	return wire.Joined{Token: "pp-machine.x", Machine: ask.Machine}, nil
}

func (fakeInvites) Leave(*mail.Pass) error { return nil }

// fakeCredentials made one credential.
type fakeCredentials struct{}

var _ Credentials = fakeCredentials{}

func (fakeCredentials) Make(ask wire.NewCredential) (wire.MadeCredential, error) {
	return wire.MadeCredential{
		Credential: wire.Credential{Name: ask.Name, Made: 1778421600123, Expires: 1778421600123},
		Token:      "pp-script.X",
	}, nil
}

func (fakeCredentials) All() []wire.Credential {
	return []wire.Credential{{Name: "nightly", Room: "lab", Made: 1778421600123, Seen: 1778421600123}}
}

func (fakeCredentials) Revoke(name string) error {
	if name != "nightly" {
		return mail.Errorf(mail.NotFound, "no credential %s", name)
	}
	return nil
}

// fakeConfirmations confirm everything.
type fakeConfirmations struct{}

var _ Confirmations = fakeConfirmations{}

func (fakeConfirmations) Check(context.Context) error                      { return nil }
func (fakeConfirmations) Confirm(context.Context, wire.Confirmation) error { return nil }
func (fakeConfirmations) Set(context.Context, wire.NewPassphrase) error    { return nil }
