package tui

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/mail/mailtest"
)

// now is the time of the tests.
var now = time.Date(2026, 5, 10, 14, 0, 0, 0, time.UTC)

// office is a fake post office with two lists. It records calls.
type office struct {
	mail.Office
	dialogs        mailtest.Asking
	needs, updates []mail.Conversation
	status         []mail.Conversation
	agents         []mail.Agent
	threads        map[mail.ID][]mail.Item
	err            error // returned by every call
	trouble        string
	degraded       string
	stuck          []mail.StuckGroup
	waits          []mail.Waiting
	freed          []mail.ClaimRequest
	claims         []mail.Holding
	unseen         mail.Fleet // its NotRead and Away are the fleet's

	sent   []mail.Draft
	marked []mail.Marking
	asked  []mail.DeskQuery
	fleets int // how often the fleet was queried
	gone   []mail.ID
}

func (o *office) Fleet(ctx context.Context, q mail.FleetQuery) (mail.Fleet, error) {
	o.fleets++
	out, err := mailtest.FleetOf(ctx, o, q)
	out.NotRead, out.Away = o.unseen.NotRead, o.unseen.Away
	return out, err
}

func (o *office) FleetMail(ctx context.Context, q mail.FleetMailQuery) (mail.FleetMail, error) {
	out, err := mailtest.FleetMailOf(ctx, o, q)
	out.NotRead = o.unseen.NotRead
	return out, err
}

func (o *office) Desk(_ context.Context, q mail.DeskQuery) (mail.Desk, error) {
	o.asked = append(o.asked, q)
	if o.err != nil {
		return mail.Desk{}, o.err
	}
	rows := o.updates
	if q.Status {
		rows = o.status
	}
	spot, err := mail.ParseDeskSpot(q.After)
	d := mail.Desk{Needs: slices.Clone(o.needs), Waiting: len(o.needs), Trouble: o.trouble,
		Degraded: o.degraded}
	for _, c := range rows {
		if q.After != "" && c.Spot().Compare(spot) <= 0 || q.From != "" && string(c.From.Signer()) != q.From {
			continue
		}
		if len(d.Updates) == q.Limit {
			d.Next = d.Updates[q.Limit-1].Spot().String()
			break
		}
		d.Updates = append(d.Updates, c)
	}
	for _, c := range o.updates {
		d.Unread += c.Unread
	}
	return d, err
}

func (o *office) Dialogs(ctx context.Context, q mail.DialogQuery) (mail.Cards, error) {
	list, err := o.dialogs.Dialogs(ctx, q)
	return list, cmp.Or(o.err, err)
}

func (o *office) AnswerDialog(ctx context.Context, a mail.DialogAnswer) error {
	if o.err != nil {
		return o.err
	}
	return o.dialogs.AnswerDialog(ctx, a)
}

func (o *office) Rooms(context.Context) ([]mail.RoomStatus, error) {
	return []mail.RoomStatus{{Name: "lab", Open: true}, {Name: "old"}}, o.err
}

func (o *office) Room(_ context.Context, name mail.RoomName, _ mail.Name) (mail.Service, error) {
	return &room{office: o, name: name}, o.err
}

// room is a room of a fake office.
type room struct {
	mail.Service
	office *office
	name   mail.RoomName
}

func (r *room) History(_ context.Context, q mail.HistoryQuery) (mail.Page, error) {
	if q.Search == "" {
		return mail.Page{Messages: slices.Clone(r.office.threads[q.Thread])}, r.office.err
	}
	var p mail.Page
	for _, items := range r.office.threads {
		for _, it := range items {
			if strings.Contains(it.Subject+it.Body, q.Search) && r.name == "lab" {
				p.Messages = append(p.Messages, it)
			}
		}
	}
	return p, r.office.err
}

func (r *room) Message(_ context.Context, id mail.ID) (mail.Item, error) {
	return r.office.threads[id][0], r.office.err
}

func (r *room) Send(_ context.Context, d mail.Draft) (mail.Sent, error) {
	if r.office.err == nil {
		r.office.sent = append(r.office.sent, d)
	}
	return mail.Sent{}, r.office.err
}

func (r *room) Mark(_ context.Context, m mail.Marking) (mail.Marked, error) {
	r.office.marked = append(r.office.marked, m)
	return mail.Marked{}, r.office.err
}

func (r *room) Claims(context.Context, mail.ClaimQuery) (mail.ClaimList, error) {
	if r.name != "lab" {
		return mail.ClaimList{}, r.office.err
	}
	return mail.ClaimList{Claims: r.office.claims}, r.office.err
}

func (r *room) Claim(_ context.Context, c mail.ClaimRequest) (mail.Claimed, error) {
	r.office.freed = append(r.office.freed, c)
	return mail.Claimed{}, r.office.err
}

func (r *room) Withdraw(_ context.Context, id mail.ID) error {
	r.office.gone = append(r.office.gone, id)
	return r.office.err
}

func (r *room) Agents(context.Context, mail.RosterQuery) (mail.AgentList, error) {
	if r.name != "lab" {
		return mail.AgentList{}, r.office.err
	}
	list := mail.AgentList{Agents: r.office.agents, States: map[mail.State]int{}}
	for _, a := range list.Agents {
		list.States[a.State]++
	}
	return list, r.office.err
}

func (r *room) Stuck(context.Context, mail.StuckQuery) (mail.StuckList, error) {
	if r.name != "lab" {
		return mail.StuckList{}, r.office.err
	}
	return mail.StuckList{Groups: r.office.stuck}, r.office.err
}

func (r *room) Waiting(context.Context, mail.WaitingQuery) (mail.WaitingList, error) {
	if r.name != "lab" {
		return mail.WaitingList{}, r.office.err
	}
	return mail.WaitingList{Waiting: r.office.waits}, r.office.err
}

// bench runs a model: calls are made immediately, and pauses wait for pass.
type bench struct {
	t      *testing.T
	office *office
	model  *model
	pauses []later
	quit   bool
	edits  []editor
	kept   []mail.RoomName
}

func newBench(t *testing.T, o *office) *bench {
	t.Helper()
	return begin(t, o, false)
}

// startBench is newBench with the first question open, as Run begins.
func startBench(t *testing.T, o *office) *bench {
	t.Helper()
	return begin(t, o, true)
}

func begin(t *testing.T, o *office, first bool) *bench {
	t.Helper()
	b := &bench{t: t, office: o, model: newModel("", now)}
	b.model.first = first
	b.tell(resized{80, 24})
	b.do(b.model.start())
	return b
}

func (b *bench) do(effects []effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case call:
			b.tell(e(b.t.Context(), b.office))
		case later:
			b.pauses = append(b.pauses, e)
		case keep:
			b.kept = append(b.kept, e.room)
		case editor:
			b.edits = append(b.edits, e)
		case quit:
			b.quit = true
		}
	}
}

func (b *bench) tell(msg message) { b.do(b.model.update(msg)) }

// press presses keys, one for each word.
func (b *bench) press(keys string) *bench {
	for k := range strings.FieldsSeq(keys) {
		b.tell(key(k))
	}
	return b
}

// type_ types a text.
func (b *bench) type_(text string) *bench {
	for _, r := range text {
		b.tell(key(string(r)))
	}
	return b
}

// click clicks on a visible text.
func (b *bench) click(text string) *bench {
	b.t.Helper()
	for y, l := range b.model.view().lines {
		if before, _, ok := strings.Cut(l.String(), text); ok {
			b.tell(clicked{columns(before), y})
			return b
		}
	}
	b.t.Errorf("%q is not on the screen to be clicked:\n%s", text, b.screen())
	return b
}

// styleOf is the style of the first span with a text.
func (b *bench) styleOf(text string) style {
	b.t.Helper()
	for _, l := range b.model.view().lines {
		for _, part := range l {
			if part.text == text {
				return part.style
			}
		}
	}
	b.t.Errorf("%q is not on the screen:\n%s", text, b.screen())
	return 0
}

// pass ends all pauses except the clock's.
func (b *bench) pass() {
	all := b.pauses
	b.pauses = nil
	for _, p := range all {
		if _, clock := p.then.(minute); !clock {
			b.tell(p.then)
		}
	}
}

// screen is the visible text.
func (b *bench) screen() string {
	b.t.Helper()
	var out strings.Builder
	s := b.model.view()
	if len(s.lines) > b.model.height {
		b.t.Errorf("%d lines on a screen of %d", len(s.lines), b.model.height)
	}
	for _, l := range s.lines {
		if n := columns(strings.TrimRight(l.String(), " ")); n > b.model.width {
			b.t.Errorf("a line of %d columns on a screen of %d: %q", n, b.model.width, l.String())
		}
		out.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	return out.String()
}

func (b *bench) sees(want ...string) *bench {
	b.t.Helper()
	got := b.screen()
	for _, w := range want {
		if !strings.Contains(got, w) {
			b.t.Errorf("%q is not on the screen:\n%s", w, got)
		}
	}
	return b
}

func (b *bench) seesNot(unwanted ...string) *bench {
	b.t.Helper()
	got := b.screen()
	for _, w := range unwanted {
		if strings.Contains(got, w) {
			b.t.Errorf("%q is on the screen:\n%s", w, got)
		}
	}
	return b
}

// question adds a row with a question to the person, and its thread.
func (o *office) question(n int, subject, metadata string) {
	id := mail.ID("msg_q" + itoa(n))
	it := mail.Item{Message: mail.Message{ID: id, Type: mail.Question, From: "agent:builder-1",
		To: []mail.Address{"user"}, Subject: subject, Body: "The text of " + subject,
		Metadata: mail.Metadata(metadata),
		Sent:     mail.TimeOf(now.Add(-time.Duration(100-n) * time.Minute))}, Seq: mail.Seq(n), Open: true,
		State: mail.Queued}
	if o.threads == nil {
		o.threads = map[mail.ID][]mail.Item{}
	}
	o.threads[id] = []mail.Item{it}
	row := mail.Conversation{Room: "lab", Item: it, Preview: it.Body, Asks: 1, IDs: []mail.ID{id}, Messages: 1,
		Unread: 1}
	row.Body = ""
	o.needs = append(o.needs, row)
}

// update adds a row to the updates; a higher n is newer.
func (o *office) update(n int, subject string) {
	o.updates = append([]mail.Conversation{updateRow(n, subject)}, o.updates...)
}

func updateRow(n int, subject string) mail.Conversation {
	id := mail.ID("msg_u" + itoa(n))
	it := mail.Item{Message: mail.Message{ID: id, Type: mail.TaskDone, From: "agent:builder-2",
		To: []mail.Address{"user"}, Subject: subject,
		Sent: mail.TimeOf(now.Add(time.Duration(n-20_000) * time.Second))},
		Seq: mail.Seq(n), State: mail.Queued}
	return mail.Conversation{Room: "lab", Item: it, Preview: "Preview of " + subject, IDs: []mail.ID{id}, Messages: 1,
		Unread: 1}
}
