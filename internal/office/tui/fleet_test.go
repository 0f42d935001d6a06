package tui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// past is a time some minutes ago.
func past(minutes int) mail.Time { return mail.TimeOf(now.Add(-time.Duration(minutes) * time.Minute)) }

// busy is an office with questions, agents that wait, and stuck mail.
func busy() *office {
	o := &office{}
	o.question(1, "Which port?", ports)
	o.question(2, "Ship it?", `{"options":["Yes","No"]}`)
	wait := func(asker, asked mail.Name, minutes int) {
		o.waits = append(o.waits, mail.Waiting{Question: "msg_q2", Type: mail.Question, Subject: "After you",
			Since: past(minutes), Asker: asker, Asked: asked, Address: mail.AgentAddress(asked)})
	}
	wait("release", "builder-1", 12)
	wait("frontend", "release", 8)
	wait("docs", "reviewer", 40)
	o.agents = []mail.Agent{{Name: "builder-1", State: mail.Working}, {Name: "old", State: mail.Gone}}
	o.stuck = []mail.StuckGroup{{Kind: mail.StuckDead, For: "agent:old", Since: past(90), Count: 2,
		Mail: []mail.Item{o.threads["msg_q1"][0]}}}
	return o
}

func TestTabsOfTheFleet(t *testing.T) {
	b := newBench(t, busy())
	b.sees("Needs you 2", "Agents 1", "Stuck 1", "Waiting 3", "all rooms")
	b.press("]").press("]").press("]").sees("old", "dead", "1 h", "Which port? (2)", "lab")
	b.press("enter").sees("The text of Which port?").press("esc")
	b.press("c").sees("New message in lab", "To: old").press("esc")
	b.press("tab").sees("release → builder-1", "frontend → release", "docs → reviewer", "After you", "12 min", "lab")
	if lineOfScreen(b, "docs") > lineOfScreen(b, "release → ") {
		t.Errorf("who has waited longest does not come first:\n%s", b.screen())
	}
	b.press("enter").sees("The text of Ship it?").press("esc [").sees("dead")
	b.press("shift+tab").sees("builder-1", "working")
}

// TestRemindAndWithdraw tests reminding of a question and withdrawing it, in Waiting and Stuck.
func TestRemindAndWithdraw(t *testing.T) {
	o := busy()
	b := newBench(t, o)
	b.press("[").sees("docs → reviewer", "m remind", "x withdraw").press("m").sees("reviewer was reminded.")
	if len(o.sent) != 1 || o.sent[0].To[0] != "agent:reviewer" || o.sent[0].ReplyTo != "msg_q2" ||
		o.sent[0].Subject != "Reminder: Ship it?" || o.sent[0].Key == "" {
		t.Errorf("sent %+v", o.sent)
	}
	b.press("x").sees("Withdraw 1 question?").press("esc")
	if len(o.gone) != 0 {
		t.Errorf("withdrawn: %v", o.gone)
	}
	b.press("x x").sees("Withdrawn.")
	if !slices.Equal(o.gone, []mail.ID{"msg_q2"}) {
		t.Errorf("withdrawn: %v", o.gone)
	}
	b.press("[").sees("dead", "x withdraw").press("m").sees("old was reminded.").press("x x")
	if !slices.Equal(o.gone, []mail.ID{"msg_q2", "msg_q1"}) {
		t.Errorf("withdrawn: %v", o.gone)
	}
	settled := o.threads["msg_q2"][0]
	settled.Settled = &mail.Settlement{As: "answered"}
	o.threads["msg_q2"][0] = settled
	b.press("] m").sees("the question is already answered. No reminder was sent")
	o.waits = []mail.Waiting{{Question: "msg_q1", Asker: "docs", Address: mail.ToUser, Since: past(4)},
		{Question: "msg_q1", Asker: "docs", Address: "role:reviewer", Since: past(3)}}
	b.tell(changed{})
	b.press("m").sees("It waits for you: enter opens it.").press("j m").sees("no agent can be reminded")
}

// TestFree tests that a second key frees a claim that an agent waits for, in Stuck.
func TestFree(t *testing.T) {
	o := busy()
	lexer := mail.Target{Root: "1-2", At: "/src", Path: "src/lex.go"}
	o.stuck = []mail.StuckGroup{{Kind: mail.StuckClaim, For: "agent:bob", Since: past(9), Claims: []mail.Clash{
		{Wanted: lexer, Held: mail.Holding{Claim: mail.Claim{Target: lexer, Since: past(9)}, Agent: "ann"}}}}}
	b := newBench(t, o)
	b.press("]").press("]").press("]").sees("bob", "claim", "src/lex.go, held by ann", "x free")
	b.press("x").sees("Free src/lex.go, which ann holds?").press("esc")
	b.press("enter").sees("Free src/lex.go, which ann holds?").press("esc")
	if len(o.freed) != 0 {
		t.Errorf("freed %+v", o.freed)
	}
	b.press("x x").sees("It is free.")
	if len(o.freed) != 1 || o.freed[0].Of != "ann" || !slices.Equal(o.freed[0].Free, []mail.Target{lexer}) {
		t.Errorf("freed %+v", o.freed)
	}
}

// TestHolds tests that the claims of the agent under the cursor are listed below.
func TestHolds(t *testing.T) {
	o := busy()
	for _, n := range []string{"build", "docs", "port:8080", "release"} {
		o.claims = append(o.claims, mail.Holding{Agent: "builder-1", Claim: mail.Claim{Target: mail.Target{Name: n},
			Since: past(5), Why: "the release"}})
	}
	b := newBench(t, o)
	b.press("]").press("]").sees("holds build, docs, port:8080 and 1 more, since ", "for: the release")
	b.press("j")
	if strings.Contains(b.screen(), "holds ") {
		t.Errorf("what another holds is said of it:\n%s", b.screen())
	}
}

// TestFleetIsOneQuery counts the queries after a change.
func TestFleetIsOneQuery(t *testing.T) {
	o := busy()
	b := newBench(t, o)
	o.fleets = 0
	b.tell(changed{})
	if o.fleets != 1 {
		t.Errorf("a change asks about the fleet %d times", o.fleets)
	}
}

// TestRoomsNotReadAreSaid tests that unread rooms are named and read later.
func TestRoomsNotReadAreSaid(t *testing.T) {
	o := busy()
	o.unseen = mail.Fleet{NotRead: []mail.RoomName{"a", "b", "c"}, Away: []mail.RoomName{"far"}}
	b := newBench(t, o)
	b.press("tab tab tab").sees("3 rooms not read yet · not available: far")
	o.unseen = mail.Fleet{}
	b.pass()
	b.seesNot("not read yet", "away: far").sees("dead")
	e := entry{room: "lab", asOf: past(30), stuck: &o.stuck[0]}
	if got := b.model.viewEntry(&e, 0, false).String(); !strings.Contains(got, "as of 13:30") {
		t.Errorf("of a closed room: %q", got)
	}
}

// TestScope tests that one key switches between one room and all, and that the choice is stored.
func TestScope(t *testing.T) {
	o := busy()
	b := newBench(t, o)
	b.press("w").sees("Showing only lab", "w all rooms").seesNot("   all rooms\n")
	last := o.asked[len(o.asked)-1]
	if len(last.Rooms) != 1 || last.Rooms[0] != "lab" || len(b.kept) != 1 || b.kept[0] != "lab" {
		t.Errorf("asked for %v, kept %v", last.Rooms, b.kept)
	}
	b.press("w").sees("Showing all rooms.", "all rooms")
	if last := o.asked[len(o.asked)-1]; last.Rooms != nil || b.kept[1] != "" {
		t.Errorf("asked for %v, kept %v", last.Rooms, b.kept)
	}
}

func TestFocus(t *testing.T) {
	o := busy()
	thread := o.threads["msg_q1"]
	var before []mail.Item
	for i := range 9 {
		it := thread[0]
		it.ID, it.Open, it.State, it.To = mail.ID("msg_b"+itoa(i)), false, "", []mail.Address{"agent:builder-1"}
		it.From, it.Body = "agent:reviewer", "Reason "+itoa(i)+strings.Repeat("\nmore", 9)
		before = append(before, it)
	}
	o.threads["msg_q1"] = append(before, thread[0])
	b := startBench(t, o)
	b.sees("1 of 2", "Which port?", "The text of Which port?", " 1  8080", " 2  9090  as in CI",
		"2 agents wait for it: ○ release 12 min, ○ frontend 8 min", "reviewer → builder-1", "Reason 8")
	b.press("2").sees("Answered “9090” to builder-1 · z undoes it", "1 of 1", "Ship it?")
	b.press("z").sees("Undone.").press("esc").sees("▌ ? Which port?", "2 wait")
	b.tell(resized{160, 45})
	b.press("enter").sees("Waiting for it", "└─ ○ release 12 min", "   └─ ○ frontend 8 min", "Reason 3")
}

// TestNextDialogTakesNoStrayKey tests that a key pressed for an answered question does not answer the dialog that
// opens by itself afterwards.
func TestNextDialogTakesNoStrayKey(t *testing.T) {
	o := &office{}
	o.question(1, "Which port?", ports)
	b := startBench(t, o)
	b.sees("1 of 1", "Which port?")
	o.dialogs.Ask(permission("d-one", "rm -rf build"))
	b.tell(changed{})
	b.sees("May builder-1 run this command? · esc shows it")
	b.press("1").sees("rm -rf build", cameItself)
	b.press("1").sees("rm -rf build", cameItself)
	b.press("enter 1").sees("Answered “Allow once” to builder-1")
}

func TestTwoPanes(t *testing.T) {
	o := busy()
	b := newBench(t, o)
	b.seesNot("The text of Which port?\n").tell(resized{120, 40})
	b.sees("▌ ? Which port?", "│ Which port?", "The text of Which port?", " 2  9090  as in CI")
	if len(o.marked) > 0 {
		t.Errorf("what stands beside the list was marked: %+v", o.marked)
	}
	b.press("j").sees("The text of Ship it?", " 2  No")
	b.press("enter").seesNot("│").sees("2 of 2", "The text of Ship it?")
	b.press("esc tab tab tab").sees("! old", "│ Which port?")
}

func TestMouse(t *testing.T) {
	b := newBench(t, busy())
	b.click("Waiting 3").sees("release → builder-1")
	b.click("Needs you").click("? Ship it?").sees("The text of Ship it?")
	b.click("2  No").sees("Answered “No” to builder-1")
	b.press("esc").tell(wheeled(1))
	b.tell(resized{120, 40})
	b.click("9090  as in CI").sees("Answered “9090” to builder-1")

	o := busy()
	o.threads["msg_q2"][0].Body = "  1  Yes, as the text says"
	b = newBench(t, o)
	b.press("j enter").click("Yes, as the text says")
	if len(b.model.pending) > 0 {
		t.Error("a click on the text of a message has answered")
	}
}

// TestColoursMeanSomething tests which texts have a colour, and that nothing depends on colour alone.
func TestColoursMeanSomething(t *testing.T) {
	o := busy()
	o.needs[0].Urgent = true
	b := newBench(t, o)
	for text, want := range map[string]style{"! ": red, " URGENT ": label, "2 waiting ": amber,
		"Which port?": chosen} {
		if got := b.styleOf(text); got&want == 0 {
			t.Errorf("%q is drawn as %b, want %b", text, got, want)
		}
	}
	b.press("enter")
	if got := b.styleOf(" 1 "); got&label == 0 {
		t.Errorf("the key of an option is drawn as %b", got)
	}
	b.model.plain = true
	b.sees("[1] 8080", "[2] 9090")
}
