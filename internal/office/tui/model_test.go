package tui

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

const ports = `{"options":["8080",{"label":"9090","description":"as in CI"}]}`

func TestAnswerByDigit(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", ports)
	o.question(2, "Ship it?", `{"options":["Yes","No"]}`)
	b := newBench(t, o)
	b.sees("Needs you 2", "Which port?", "1 8080 · 2 9090", "builder-1", "lab", "1 h")
	b.press("2")
	b.sees("Answered “9090” to builder-1 · z undoes it", "Needs you 1", "Ship it?")
	b.seesNot("Which port?")
	if len(o.sent) != 0 {
		t.Fatalf("sent before its time: %v", o.sent)
	}
	o.needs = o.needs[1:]
	b.pass()
	if len(o.sent) != 1 || o.sent[0].Body != "9090" || o.sent[0].ReplyTo != "msg_q1" ||
		o.sent[0].Type != string(mail.Answer) || o.sent[0].To[0] != "agent:builder-1" || o.sent[0].Key == "" {
		t.Errorf("sent %+v", o.sent)
	}
	if len(o.marked) != 1 || o.marked[0].Mark != mail.MarkRead || o.marked[0].IDs[0] != "msg_q1" {
		t.Errorf("an answered question is not read: %+v", o.marked)
	}
	b.sees("Needs you 1")
	b.press("3").sees("There are 2 options.")
}

func TestUndoBeforeItLeaves(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", ports)
	b := newBench(t, o)
	b.press("1").seesNot("Which port?")
	b.press("z").sees("Undone. Nothing was sent.", "Which port?", "Needs you 1")
	b.pass()
	if len(o.sent) != 0 {
		t.Errorf("sent %v", o.sent)
	}
	b.press("z").sees("Nothing to undo.")

	b.press("r").type_("Take any.").press("ctrl+s").seesNot("Which port?")
	b.press("z r").sees("Take any.") // the typed text is back
}

func TestQuittingSendsWhatIsPending(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", ports)
	b := newBench(t, o)
	b.press("1 q")
	if len(o.sent) != 1 || !b.quit {
		t.Errorf("sent %v, quit: %t", o.sent, b.quit)
	}
	b.pass() // end the skipped pause
	if len(o.sent) != 1 {
		t.Errorf("sent twice")
	}
}

func TestNotSentIsKept(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", ports)
	b := newBench(t, o)
	b.press("r").type_("Take any.").press("ctrl+s")
	o.err = &mail.Error{Code: mail.Unavailable, Msg: "the post office is gone"}
	b.press("q")
	if b.quit {
		t.Fatal("the view has ended with an answer that was not sent")
	}
	b.sees("Not sent, but kept")
	if err := b.model.unsent(); mail.CodeOf(err) != mail.Unavailable {
		t.Errorf("unsent: %v", err)
	}
	o.err = nil
	b.tell(changed{})
	b.press("r").sees("Take any.").press("ctrl+s q")
	if len(o.sent) != 1 || !b.quit || b.model.unsent() != nil {
		t.Errorf("sent %v, quit: %t, %v", o.sent, b.quit, b.model.unsent())
	}
}

func TestConversation(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", ports)
	o.question(2, "Ship it?", "")
	thread := o.threads["msg_q1"]
	before := thread[0]
	before.ID, before.Open, before.From, before.To = "msg_a", false, mail.ToUser, []mail.Address{"agent:builder-1"}
	before.Body, before.Subject, before.State = "Please *do* it.\n\n# Plan\n- **first**", "", ""
	o.threads["msg_q1"] = []mail.Item{before, thread[0]}
	b := newBench(t, o)
	b.press("enter").sees("you → builder-1", "Plan", "• first", "builder-1 → you", "The text of Which port?",
		"  1  8080", "  2  9090  as in CI", "question")
	want := []mail.Marking{{IDs: []mail.ID{"msg_q1"}, Mark: mail.MarkRead}}
	if diff := cmp.Diff(want, o.marked); diff != "" {
		t.Errorf("opening marks: -want +got\n%s", diff)
	}
	b.press("1").sees("Answered “8080”", "The text of Ship it?") // the next question is open
	b.press("1").sees("offers no options")
	b.press("r").sees("Answer builder-1: Ship it?").type_("Yes").press("enter").type_("now").press("ctrl+s")
	b.pass()
	if len(o.sent) != 2 || o.sent[1].Body != "Yes\nnow" || o.sent[1].ReplyTo != "msg_q2" {
		t.Errorf("sent %+v", o.sent)
	}
}

func TestReviewIsAnsweredByVerdict(t *testing.T) {
	o := &office{}
	o.question(1, "Look at it", "")
	o.needs[0].Type = mail.ReviewRequest
	b := newBench(t, o)
	b.sees("1 approved · 2 changes-requested · 3 blocked").press("1")
	b.pass()
	if len(o.sent) != 1 || o.sent[0].Type != string(mail.ReviewResult) ||
		o.sent[0].Metadata.Text("verdict") != "approved" || o.sent[0].Check(1000) != nil {
		t.Errorf("sent %+v", o.sent)
	}
}

func TestArchiveAsksOnce(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", ports)
	o.update(1, "It is done")
	b := newBench(t, o)
	b.press("e").sees("It still waits for your answer.", "e archive anyway", "x decline")
	b.press("esc").sees("Which port?").press("e")
	o.needs = nil
	b.press("e").sees("Archived “Which port?” · z undoes it").seesNot("? Which")
	o.updates = nil
	b.press("tab e").sees("Archived “It is done”", "No updates.")
	b.press("z").sees("Undone.")
	want := []mail.Marking{
		{IDs: []mail.ID{"msg_q1"}, Mark: mail.MarkArchived}, {IDs: []mail.ID{"msg_u1"}, Mark: mail.MarkArchived},
		{IDs: []mail.ID{"msg_u1"}, Mark: mail.MarkUnarchived},
	}
	if diff := cmp.Diff(want, o.marked); diff != "" {
		t.Errorf("marked: -want +got\n%s", diff)
	}
}

// TestAnswerGoesWhereItWasBegun tests that an answer or choice applies to the conversation where it began, even if
// its row leaves the list meanwhile.
func TestAnswerGoesWhereItWasBegun(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", ports)
	o.question(2, "Which colour?", "{}")
	b := newBench(t, o)
	gone := func() {
		o.needs = o.needs[1:]
		b.tell(changed{})
		b.sees("Which colour?")
	}
	both := slices.Clone(o.needs)
	b.press("r").type_("8080")
	gone()
	b.press("ctrl+s")
	b.pass()
	if len(o.sent) != 1 || o.sent[0].ReplyTo != "msg_q1" {
		t.Errorf("sent %+v, want an answer to the question for which the box was opened", o.sent)
	}

	o.needs = both
	b.tell(changed{})
	b.press("g e").sees("It still waits for your answer.")
	gone()
	o.marked = nil
	b.press("e")
	want := []mail.Marking{{IDs: []mail.ID{"msg_q1"}, Mark: mail.MarkArchived}}
	if diff := cmp.Diff(want, o.marked); diff != "" {
		t.Errorf("marked: -want +got\n%s", diff)
	}
}

func TestDecline(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", ports)
	b := newBench(t, o)
	b.press("x").sees("Decline to answer?").press("x").sees("Declined to answer builder-1")
	b.pass()
	if len(o.sent) != 1 || !(&mail.Message{Metadata: o.sent[0].Metadata}).Declines() {
		t.Errorf("sent %+v", o.sent)
	}
}

// TestP13_SuggestionIsAdopted tests that a suggestion is shown, and that one key adopts it.
func TestP13_SuggestionIsAdopted(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", ports)
	q := o.threads["msg_q1"][0]
	s := q
	s.ID, s.Open, s.From, s.To, s.Type = "msg_s", false, "agent:mallory", []mail.Address{q.From}, mail.Answer
	s.Body, s.Subject, s.ReplyTo, s.Suggests, s.Metadata = "Take *any*.", "", q.ID, true, nil
	o.threads["msg_q1"] = []mail.Item{q, s}
	b := newBench(t, o)
	b.press("a").sees("Open it first")
	b.press("enter").sees("mallory → builder-1", "suggestion", "1  8080",
		"a  as mallory suggests, without being asked")
	b.press("a").sees("Answered builder-1 as mallory suggests · z undoes it")
	b.pass()
	if len(o.sent) != 1 || o.sent[0].Body != s.Body || o.sent[0].ReplyTo != q.ID ||
		o.sent[0].Type != string(mail.Answer) ||
		o.sent[0].Metadata.Text(mail.AdoptedKey) != "msg_s" {
		t.Errorf("sent %+v", o.sent)
	}
	o = &office{}
	o.question(1, "Which port?", ports)
	newBench(t, o).press("enter a").sees("No suggestion here.")
}

func TestSnooze(t *testing.T) {
	o := &office{}
	o.update(1, "It is done")
	b := newBench(t, o)
	b.press("tab s").sees("Snooze until", "1 in 3 hours",
		"2 tomorrow 9:00").press("2").sees("Back Mon 11 May 09:00")
	if len(o.marked) != 1 || o.marked[0].Mark != mail.MarkSnoozed ||
		o.marked[0].Until.String()[:13] != "2026-05-11T09" {
		t.Errorf("marked %+v", o.marked)
	}
}

// TestNewMailMovesNothing tests that the row under the cursor keeps its place on the screen when mail arrives above
// it.
func TestNewMailMovesNothing(t *testing.T) {
	o := &office{}
	for n := range 30 {
		o.update(n+1, "update "+itoa(n+1))
	}
	b := newBench(t, o)
	b.press("tab j j j")
	at := lineOfScreen(b, "update 27")
	if at < 0 {
		t.Fatalf("update 27 is not there:\n%s", b.screen())
	}
	for n := 31; n <= 33; n++ {
		o.update(n, "update "+itoa(n))
		b.tell(changed{})
	}
	b.sees("↑ 3 new")
	if got := lineOfScreen(b, "update 27"); got != at || b.model.shown().current().Subject != "update 27" {
		t.Errorf("the row under the cursor was in line %d, and is in %d:\n%s", at, got, b.screen())
	}
	b.press("g").sees("update 33").seesNot("↑ 3 new")
}

func lineOfScreen(b *bench, text string) int {
	for i, l := range strings.Split(b.screen(), "\n") {
		if strings.Contains(l, text) {
			return i
		}
	}
	return -1
}

// TestUpdatesPageIn scrolls through ten thousand updates, which load page by page.
func TestUpdatesPageIn(t *testing.T) {
	const many = 10_000
	o := &office{}
	rows := make([]mail.Conversation, 0, many)
	for n := many; n > 0; n-- {
		rows = append(rows, updateRow(n, "update "+itoa(n)))
	}
	o.updates = rows
	b := newBench(t, o)
	if got := len(b.model.lists[updates].all); got != page {
		t.Errorf("%d updates are there at first, want %d", got, page)
	}
	b.press("tab")
	for i := 0; i < many && b.model.shown().cursor < many-1; i++ {
		b.press("pgdn")
	}
	b.sees("update 1")
	if got := len(b.model.lists[updates].all); got != many {
		t.Errorf("%d updates were scrolled through, want %d", got, many)
	}
	for _, q := range o.asked {
		if q.Limit > mail.MaxLimit {
			t.Errorf("asked for %d at once", q.Limit)
		}
	}
	at := b.model.shown().cursor
	o.updates = append([]mail.Conversation{updateRow(many+1, "newest")}, o.updates...)
	b.tell(changed{})
	if l := b.model.shown(); l.cursor != at+1 || len(l.all) != many+1 || l.fresh != 1 {
		t.Errorf("after a change the cursor is at %d of %d, %d new", l.cursor, len(l.all), l.fresh)
	}
}

func TestPostOfficeGoesAndComes(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", ports)
	b := newBench(t, o)
	o.err = &mail.Error{Code: mail.Unavailable, Msg: "nobody listens"}
	b.tell(changed{})
	b.sees("nobody listens")
	late := b.model.update(changed{})[0].(call)(t.Context(), &office{needs: o.needs})
	b.tell(away{errors.New("the connection broke"), now})
	b.seesNot("nobody listens") // the line above the list says it
	b.tell(done{err: o.err, seen: true})
	b.seesNot("nobody listens") // nor does an implicit mark
	b.tell(late)                // a late result from before does not mean that it is back
	b.sees("Post office away since 14:00. Your text is kept.", "Which port?")
	b.tell(changed{})
	b.seesNot("nobody listens")
	o.err = nil
	o.question(2, "Ship it?", "")
	b.tell(away{nil, now})
	b.sees("Ship it?")
	b.seesNot("away since")
}

// TestSentOnceItIsBack tests that text written while the post office is away is kept whole, and that one key sends it
// later with the same idempotency keys.
func TestSentOnceItIsBack(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", ports)
	o.question(2, "Ship it?", "")
	b := newBench(t, o)
	b.tell(away{errors.New("the connection broke"), now})
	o.err = &mail.Error{Code: mail.Unavailable, Msg: "nobody listens"}
	b.press("r").type_("Take any.").press("ctrl+s j")
	for _, to := range []string{"docs", "ci"} {
		b.press("c").type_(to).press("down down down").type_("Hello.").press("ctrl+s")
	}
	b.pass()
	b.sees("S sends it", "Which port?")
	key := ""
	if len(b.model.held) == 3 {
		key = b.model.held[0].draft.Key
	}
	o.err = nil
	b.tell(away{nil, now})
	b.sees("The post office is back. Not sent yet: 3 messages · S sends it")
	b.press("S").seesNot("Which port?")
	var bodies []string
	for _, d := range o.sent {
		bodies = append(bodies, strings.Join(d.To, " ")+" "+d.Body)
	}
	if want := []string{"agent:builder-1 Take any.", "docs Hello.", "ci Hello."}; !slices.Equal(bodies, want) {
		t.Errorf("sent %q, want %q", bodies, want)
	}
	if len(o.sent) > 0 && o.sent[0].Key != key {
		t.Errorf("it was sent with the key %q, and again with %q", key, o.sent[0].Key)
	}
	b.press("S").sees("No unsent mail")
	if b.model.unsent() != nil {
		t.Errorf("unsent: %v", b.model.unsent())
	}
}

// TestHeldIsWrittenOn tests that unsent text that was edited further is sent once, in its last form.
func TestHeldIsWrittenOn(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", ports)
	b := newBench(t, o)
	b.press("r").type_("Take any.").press("ctrl+s")
	o.err = &mail.Error{Code: mail.Unavailable, Msg: "nobody listens"}
	b.pass()
	o.err = nil
	b.press("r").sees("Take any.").type_(" Please.").press("ctrl+s").pass()
	b.press("S")
	if len(o.sent) != 1 || o.sent[0].Body != "Take any. Please." {
		t.Errorf("sent %+v", o.sent)
	}
}

// TestOldListsSaySo tests that outdated lists show their age.
func TestOldListsSaySo(t *testing.T) {
	o := &office{trouble: "as of 14:02; the NATS servers cannot be reached"}
	o.question(1, "Which port?", ports)
	b := newBench(t, o)
	b.sees("This is as of 14:02; the NATS servers cannot be reached", "Which port?")
	o.trouble = ""
	b.tell(changed{})
	b.seesNot("as of 14:02")
	o.degraded = "The NATS server tower is not heard."
	b.tell(changed{})
	b.sees("The NATS server tower is not heard.", "Which port?")
}

// TestLookIsNotBelievedAfterAnAct tests that a look that began before an action does not revert it on the screen.
func TestLookIsNotBelievedAfterAnAct(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", ports)
	b := newBench(t, o)
	look := b.model.update(changed{}) // its result arrives late
	old := look[0].(call)(t.Context(), o)
	b.press("1")
	o.needs = nil
	b.pass()
	b.tell(old)
	b.seesNot("Which port?")
	b.sees("Nothing needs you.")
}

func TestFilterAndSearch(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", ports)
	o.question(2, "Ship it?", "")
	b := newBench(t, o)
	b.press("/").type_("ship").sees("Ship it?", "/ship")
	b.seesNot("Which port?")
	b.press("esc").sees("Which port?")
	b.press("/").type_("text of Which").press("enter").sees("Found: text of Which", "Which port?", "Updates")
	b.seesNot("Ship it?")
	b.press("enter").sees("The text of Which port?").press("q esc").sees("No updates.")
	o.unseen.NotRead = []mail.RoomName{"a", "b"}
	b.press("/").type_("Which").press("enter").sees("Which port?", "Not searched: 2 rooms")
}

func TestAgents(t *testing.T) {
	o := &office{agents: []mail.Agent{{Name: "builder-1", State: mail.Idle, Task: "the parser", Unread: 2},
		{Name: "builder-2", State: mail.Working}}}
	o.update(1, "It is done")
	b := newBench(t, o)
	b.press("tab tab").sees("builder-1", "idle", "the parser", "2 unread", "lab")
	if lineOfScreen(b, "builder-2") > lineOfScreen(b, "builder-1") {
		t.Errorf("who works does not come first:\n%s", b.screen())
	}
	b.press("c").sees("New message in lab", "To: builder-2").press("down down down").type_("Hello").press("ctrl+s")
	b.pass()
	if len(o.sent) != 1 || o.sent[0].To[0] != "builder-2" || o.sent[0].Body != "Hello" {
		t.Errorf("sent %+v", o.sent)
	}
	b.press("enter").sees("From builder-2", "It is done").press("esc")
	b.press("tab j enter").sees("From builder-1", "No matches.")
}

func TestStatusUnfolds(t *testing.T) {
	o := &office{status: []mail.Conversation{updateRow(1, "half done"), updateRow(2, "nearly done")}}
	row := updateRow(2, "nearly done")
	row.Folded, row.IDs, row.Messages = 2, nil, 2
	o.updates = []mail.Conversation{row}
	b := newBench(t, o)
	b.press("tab").sees("2 status reports").press("enter").sees("half done", "nearly done", "Status reports")
	b.press("esc").sees("2 status reports").press("e").sees("Archived 2 messages")
	if len(o.marked) != 2 {
		t.Errorf("marked %+v", o.marked)
	}
}

func TestEditor(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", ports)
	b := newBench(t, o)
	b.press("R")
	if len(b.edits) != 1 || b.edits[0].beside != "The text of Which port?" {
		t.Fatalf("edits: %+v", b.edits)
	}
	b.tell(edited{text: ""})
	b.sees("The text is empty. Nothing was sent.", "Which port?")
	b.press("r").type_("So").press("ctrl+e")
	if b.edits[1].text != "So" {
		t.Errorf("the editor was given %q", b.edits[1].text)
	}
	b.tell(edited{text: "So be it."})
	b.pass()
	if len(o.sent) != 1 || o.sent[0].Body != "So be it." {
		t.Errorf("sent %+v", o.sent)
	}
}

// TestPasteIsText tests that pasted text presses no keys.
func TestPasteIsText(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", ports)
	b := newBench(t, o)
	b.tell(pasted("1\n2\n"))
	b.press("r")
	b.tell(pasted("1\r\n\x1b[31m2"))
	b.sees("1", "␛[31m2")
	b.press("ctrl+s")
	b.pass()
	if len(o.sent) != 1 || strings.Contains(o.sent[0].Body, "\x1b") {
		t.Errorf("sent %+v", o.sent)
	}
}

func TestSearchOpensAtTheHit(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", "")
	var thread []mail.Item
	for i, word := range []string{"first", "needle", "last"} {
		it := o.threads["msg_q1"][0]
		it.ID, it.Thread, it.Open, it.Read = mail.ID("msg_"+itoa(i)), "msg_q1", false, true
		it.Body = word + " begins" + strings.Repeat("\nand goes on", 30)
		thread = append(thread, it)
	}
	o.threads["msg_q1"] = thread
	b := newBench(t, o)
	b.press("/").type_("needle").press("enter enter").sees("needle begins")
	if got := lineOfScreen(b, "needle begins"); got != 3 {
		t.Errorf("the hit begins in line %d:\n%s", got, b.screen())
	}
}
