package demoday

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/mail/mailtest"
	"pennypost/internal/office/dialect/openalice"
	"pennypost/internal/room/journal/jsonl"
	"pennypost/internal/room/mailroom"
)

// Messages that the tests mention.
const (
	questionDuplicates mail.ID = "msg_0381kwXg260ruAKfiLvq4"
	questionRelease    mail.ID = "msg_GdcDFJleIKTqHI9yk4Qhw"
	answerRounding     mail.ID = "msg_eSxcIugiNdGZzNR640bwQ"
)

// look opens a room of the day at a time, as a post office would. A logged warning fails the test.
func look(t *testing.T, home config.Home, room mail.RoomName, now time.Time) *mailroom.Room {
	t.Helper()
	var complaints bytes.Buffer
	log := slog.New(slog.NewTextHandler(&complaints, &slog.HandlerOptions{Level: slog.LevelWarn}))
	j, err := jsonl.Open(filepath.Join(home.Rooms(), string(room)), jsonl.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	r, err := mailroom.Open(t.Context(), room, j, mailroom.Options{Log: log, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil || complaints.Len() > 0 {
			t.Errorf("close = %v, complaints: %s", err, complaints.String())
		}
	})
	return r
}

func export(t *testing.T, r *mailroom.Room) (items []mail.Item) {
	t.Helper()
	for it, err := range r.As(mail.User).Export(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	return items
}

func events(t *testing.T, r *mailroom.Room) []mail.Event {
	t.Helper()
	w, err := r.As(mail.User).Watch(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var all []mail.Event
	for mail.Seq(len(all)) < r.Status().Seq {
		more, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, more...)
	}
	return all
}

// TestDay writes days that end at several times, and checks that every page has content.
func TestDay(t *testing.T) {
	for _, clock := range []string{"2026-05-13T16:20:00Z", "2026-05-13T23:55:00Z", "2026-05-11T10:05:00Z",
		"2026-05-13T08:39:00Z", "2026-03-01T02:30:00Z", "2026-01-01T12:41:00Z"} {
		t.Run(clock, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339, clock)
			if err != nil {
				t.Fatal(err)
			}
			home := config.Home(filepath.Join(t.TempDir(), "home"))
			d, err := Write(t.Context(), home, now)
			if err != nil {
				t.Fatal(err)
			}
			if d.Messages < 120 || d.Messages > 180 {
				t.Errorf("%d messages, want 120 to 180", d.Messages)
			}
			r := look(t, home, Lighthouse, now)
			items := export(t, r)
			checkTimes(t, &d, events(t, r))
			checkKinds(t, items)
			checkGroups(t, r, now)
			checkCast(t, r)
			checkQuestions(t, r, items)
			checkDocs(t, &d, items)
			if v, err := r.As(mail.User).Verify(t.Context()); err != nil || len(v.Problems) > 0 {
				t.Errorf("verify = %v, %v", v, err)
			}
			if n := len(export(t, look(t, home, Almanac, now))); n < 5 {
				t.Errorf("room %s has %d messages", Almanac, n)
			}
		})
	}
}

func checkTimes(t *testing.T, d *Day, all []mail.Event) {
	t.Helper()
	before := mail.TimeOf(d.Began.AddDate(0, 0, -10))
	for _, e := range all {
		if e.At < before || e.At > mail.TimeOf(d.Ended) {
			t.Fatalf("event %d at %s, the one before at %s, the day ends at %s", e.Seq, e.At, before, d.Ended)
		}
		before = e.At
	}
	if gap := mail.TimeOf(d.Ended).Sub(before); gap > 10*time.Minute {
		t.Errorf("the last event was %s before the end", gap)
	}
}

func checkKinds(t *testing.T, items []mail.Item) {
	t.Helper()
	seen := make(map[string]int)
	depth := make(map[mail.ID]int)
	for _, it := range items {
		seen[string(it.Type)]++
		seen[it.Metadata.Text("verdict")]++
		seen["priority "+string(it.Priority)]++
		depth[it.ID] = depth[it.ReplyTo] + 1
		for _, d := range it.Deliveries {
			seen["state "+string(d.State)]++
			seen["to kind "+string(rune('0'+d.Address.Kind()))]++
		}
		if it.From == mail.FromSystem {
			t.Errorf("the post office complains: %s", it.Body)
		}
	}
	want := append(mail.Verdicts(), "priority urgent", "to kind 1", "to kind 2", "to kind 3", "to kind 4", "to kind 5")
	for _, k := range mail.Types() {
		want = append(want, string(k))
	}
	for _, s := range []mail.DeliveryState{mail.Queued, mail.Read, mail.Archived, mail.Held, mail.Dead, mail.Expired} {
		want = append(want, "state "+string(s))
	}
	for _, w := range want {
		if seen[w] == 0 {
			t.Errorf("no message of %s", w)
		}
	}
	deep := 0
	for _, n := range depth {
		deep = max(deep, n)
	}
	if deep < 5 {
		t.Errorf("the deepest thread has %d messages, want 5", deep)
	}
}

// checkGroups checks the age groups of the person's inbox.
func checkGroups(t *testing.T, r *mailroom.Room, now time.Time) {
	t.Helper()
	page, err := r.As(mail.User).Inbox(t.Context(), mail.InboxQuery{All: true, Limit: mail.MaxLimit})
	if err != nil {
		t.Fatal(err)
	}
	today := midnight(now)
	groups := make(map[string]int)
	for _, it := range page.Messages {
		switch at := it.Sent.Std(); {
		case !at.Before(today):
			groups["today"]++
		case !at.Before(today.AddDate(0, 0, -1)):
			groups["yesterday"]++
		case !at.Before(today.AddDate(0, 0, -6)):
			groups["this week"]++
		default:
			groups["older"]++
		}
	}
	for _, g := range []string{"today", "yesterday", "this week", "older"} {
		if groups[g] == 0 {
			t.Errorf("nothing of %s: %v", g, groups)
		}
	}
}

func checkCast(t *testing.T, r *mailroom.Room) {
	t.Helper()
	agents, err := mail.Roster(t.Context(), r.As(mail.User))
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[mail.Name]mail.State)
	for _, a := range agents {
		got[a.Name] = a.State
		if a.Door == "" {
			t.Errorf("%s has no door that worked", a.Name)
		}
	}
	want := map[mail.Name]mail.State{"orchestrator": mail.Idle, "builder-1": mail.Working, "builder-2": mail.Frozen,
		"reviewer": mail.Gone, "docs-writer": mail.Idle}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
}

func checkQuestions(t *testing.T, r *mailroom.Room, items []mail.Item) {
	t.Helper()
	open := make(map[mail.ID]bool)
	for _, it := range items {
		if it.Type == mail.Question && it.To[0] == mail.ToUser && strings.Contains(string(it.Metadata), `"options"`) {
			open[it.ID] = true
		}
		if it.From == mail.ToUser && it.Type == mail.Answer {
			delete(open, it.ReplyTo)
		}
	}
	if len(open) != 2 || !open[questionDuplicates] || !open[questionRelease] {
		t.Errorf("%d open questions: %v", len(open), open)
	}
	var doors []string
	for _, e := range events(t, r) {
		if rc := e.Receipt; rc != nil && rc.Message == answerRounding && rc.Reader == "agent:builder-2" {
			doors = append(doors, strings.TrimSpace(string(rc.Mark)+" "+rc.Door))
		}
	}
	if len(doors) < 2 || doors[len(doors)-2] != "presented hook" || doors[len(doors)-1] != "read" {
		t.Errorf("the answer's receipts are %q", doors)
	}
}

// checkDocs checks that there is a document of each kind, including a missing one.
func checkDocs(t *testing.T, d *Day, items []mail.Item) {
	t.Helper()
	seen := make(map[string]bool)
	for _, it := range items {
		for _, doc := range it.Docs {
			if it.From != "agent:docs-writer" {
				t.Errorf("%s has no workspace", it.From)
			}
			got, err := openalice.OpenDocument(d.Workspace, doc.Path)
			if e, ok := errors.AsType[*openalice.DocumentError](err); ok {
				seen[e.Reason] = true
				continue
			}
			got.Close()
			seen[path.Ext(doc.Path)] = got.Binary == (path.Ext(doc.Path) == ".png")
		}
	}
	for _, kind := range []string{".md", ".go", ".txt", ".png", openalice.FileNotFound} {
		if !seen[kind] {
			t.Errorf("no document of kind %s: %v", kind, seen)
		}
	}
}

// TestTold compares a room of the day with its story: no event may be missing or added.
func TestTold(t *testing.T) {
	now := time.Date(2026, 5, 13, 16, 20, 0, 0, time.UTC)
	home := config.Home(filepath.Join(t.TempDir(), "home"))
	d, err := Write(t.Context(), home, now)
	if err != nil {
		t.Fatal(err)
	}
	told, err := d.events(lighthouse)
	if err != nil {
		t.Fatal(err)
	}
	for i := range told {
		told[i].Seq = mail.Seq(i + 1)
		if m := told[i].Message; m != nil {
			m.Sent = told[i].At // the line has the time only once
		}
	}
	r := look(t, home, Lighthouse, now)
	if diff := cmp.Diff(told, events(t, r)); diff != "" {
		t.Errorf("told and read again differ (-told +read):\n%s", diff)
	}
	for _, at := range there() {
		if at.room != Lighthouse {
			continue
		}
		last := slices.IndexFunc(told, func(e mail.Event) bool {
			return e.Agent != nil && e.Agent.Name == at.name && e.Agent.Session != ""
		})
		if last < 0 || told[last].Agent.Session != sessionOf(at.name) {
			t.Errorf("%s goes on in another session than that of the day", at.name)
		}
	}
}

// TestSame writes the same day twice.
func TestSame(t *testing.T) {
	now := time.Date(2026, 5, 13, 16, 20, 0, 0, time.UTC)
	home := config.Home(filepath.Join(t.TempDir(), "home"))
	var texts [2][]byte
	for i := range texts {
		if _, err := Write(t.Context(), home, now); err != nil {
			t.Fatal(err)
		}
		var err error
		if texts[i], err = os.ReadFile(filepath.Join(home.Rooms(), string(Lighthouse), "mailbox.jsonl")); err != nil {
			t.Fatal(err)
		}
		if _, err := Write(t.Context(), home, now); mail.CodeOf(err) != mail.Conflict {
			t.Errorf("writing into a home that has a day = %v, want a conflict", err)
		}
		if err := os.RemoveAll(home.Rooms()); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Error("the same day was written in two ways")
	}
}

func TestMistakesInStories(t *testing.T) {
	const good = `{"at":"2026-03-11T09:00:00.000Z","agent":{"name":"scout"}}` + "\n"
	for _, c := range []struct{ story, want string }{
		{"scout", "line 1: this is not JSON"},
		{good + "\n", "line 2: this is not JSON"},
		{good + `{"at":"nine"}`, `line 2: "at": "nine" is not a time`},
		{good + `{"at":"2026-03-11T09:00:00.000Z","mood":"loud"}`, `line 2: unknown member "mood"`},
	} {
		if _, err := new(Day).events(c.story); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("events(%q) = %v, want %q", c.story, err, c.want)
		}
	}
}

// rooms is a post office without doors.
type rooms map[mail.RoomName]*mailroom.Room

func (o rooms) Room(_ context.Context, room mail.RoomName, as mail.Name) (mail.Service, error) {
	return o[room].As(as), nil
}

func (o rooms) Rooms(context.Context) ([]mail.RoomStatus, error) { return nil, nil }

// TestLife runs the day's continuation as a person sees it.
func TestLife(t *testing.T) {
	home := config.Home(filepath.Join(t.TempDir(), "home"))
	d, err := Write(t.Context(), home, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	office := make(rooms)
	for _, name := range d.Rooms {
		j, err := jsonl.Open(filepath.Join(home.Rooms(), string(name)), jsonl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if office[name], err = mailroom.Open(t.Context(), name, j, mailroom.Options{}); err != nil {
			t.Fatal(err)
		}
		defer office[name].Close()
	}
	sockets, err := os.MkdirTemp("", "day")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(sockets)
	user := office[Lighthouse].As(mail.User)
	w, err := user.Watch(t.Context(), office[Lighthouse].Status().Seq)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- (&Life{Office: office, Dir: sockets, Pace: 30 * time.Millisecond}).Run(ctx) }()
	waiting := map[mail.ID]bool{}
	for _, draft := range []mail.Draft{
		{To: mail.Recipients{"builder-1"}, Type: "answer", Body: "Show both", ReplyTo: questionDuplicates},
		{To: mail.Recipients{"docs-writer"}, Type: "question", Body: "Is it done?"},
		{To: mail.Recipients{"concern:parser"}, Body: "Hello, channel"},
		{To: mail.Recipients{"orchestrator"}, Type: "task-assigned", Body: "Volume Z"},
	} {
		sent, err := user.Send(t.Context(), draft)
		if err != nil {
			t.Fatal(err)
		}
		waiting[sent.ID] = true
	}
	unanswered, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{"builder-2"}, Body: "Are you there?"})
	if err != nil {
		t.Fatal(err)
	}
	working := true
	limit, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	for len(waiting) > 0 || working {
		events, err := w.Next(limit)
		if err != nil {
			t.Fatalf("%v: still waiting for answers to %v, work going on %t", err, waiting, working)
		}
		for _, e := range events {
			if m := e.Message; m != nil && m.From != mail.ToUser {
				delete(waiting, m.ReplyTo)
				working = working && m.Type != mail.TaskDone
				checkReply(t, user, m, unanswered.ID)
			}
		}
	}
	stayAway(t, user, w)
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run = %v", err)
	}
}

// checkReply checks that an agent read a message before it replies, and is not frozen.
func checkReply(t *testing.T, user mail.Service, m *mail.Message, unanswered mail.ID) {
	t.Helper()
	if m.ReplyTo == unanswered {
		t.Error("a frozen agent answers")
	}
	parent, err := user.Message(t.Context(), m.ReplyTo)
	if m.ReplyTo == "" || err != nil || parent.From != mail.ToUser {
		return
	}
	for _, d := range parent.Deliveries {
		if d.Agent == m.From.Signer() && d.State != mail.Read {
			t.Errorf("%s answers what it has not read: %s", d.Agent, d.State)
		}
	}
}

// stayAway retires an agent, which must not come back by itself. Another agent's answer shows that enough time has
// passed. If a turn was running, its end may bring the agent back once.
func stayAway(t *testing.T, user mail.Service, w mail.Watch) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	for again := range 2 {
		if err := user.Retire(ctx, "docs-writer"); err != nil {
			t.Fatal(err)
		}
		awaitAnswer(ctx, t, user, w, fmt.Sprint("Who is there? ", again))
		agents, err := mail.Roster(ctx, user)
		if err == nil && len(agents) == 4 {
			return
		}
		t.Logf("%d agents, %v", len(agents), err)
	}
	t.Error("an agent that was retired came back twice; want the 4 that were not retired")
}

// awaitAnswer asks the orchestrator a question, and waits for the answer.
func awaitAnswer(ctx context.Context, t *testing.T, user mail.Service, w mail.Watch, question string) {
	t.Helper()
	sent, err := user.Send(ctx, mail.Draft{To: mail.Recipients{"orchestrator"}, Type: "question", Body: question})
	if err != nil {
		t.Fatal(err)
	}
	for {
		events, err := w.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Message != nil && e.Message.ReplyTo == sent.ID {
				return
			}
		}
	}
}

func (o rooms) Fleet(ctx context.Context, q mail.FleetQuery) (mail.Fleet, error) {
	return mailtest.FleetOf(ctx, o, q)
}

func (o rooms) FleetMail(ctx context.Context, q mail.FleetMailQuery) (mail.FleetMail, error) {
	return mailtest.FleetMailOf(ctx, o, q)
}

func (o rooms) Desk(ctx context.Context, q mail.DeskQuery) (mail.Desk, error) {
	return mailtest.DeskOf(ctx, o, q)
}

func (o rooms) Dialogs(context.Context, mail.DialogQuery) (mail.Cards, error) {
	return mail.Cards{}, nil
}

func (o rooms) AnswerDialog(context.Context, mail.DialogAnswer) error {
	return mail.Errorf(mail.NotFound, "no dialog is open")
}

func (o rooms) WatchDesk(ctx context.Context) (mail.DeskWatch, error) {
	return mailtest.WatchDeskOf(ctx, o)
}
