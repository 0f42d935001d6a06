package webtest

import (
	"fmt"
	"testing"
	"time"
)

// asked is a question to the user in one of newFleet's four rooms, some minutes ago.
type asked struct {
	room, from, subject, body string
	ago                       int // minutes
	options                   []any
	urgent                    bool
}

func option(answer, note string) any { return map[string]string{"label": answer, "description": note} }

// fleetAsks are the questions to the person in the four rooms.
var fleetAsks = []asked{
	{"harbour", "migrator", "Run migration 0107 on production now, or in tonight’s window?",
		"It adds `berths.paid_at` and fills 2.4 million rows. On the copy it held a lock for 38 seconds, " +
			"in which the booking page answers 503. Tonight’s window opens at 02:00.", 12,
		[]any{option("Run it now", "38 s of 503 at this hour: about 20 bookings"),
			option("Tonight at 02:00", "release 3.1 goes out tomorrow morning"),
			option("Split it: the column now, the fill tonight", "two migrations, no lock above 2 s"),
			option("Neither. I read the plan first", "opens plan-0107.md, 2 pages")}, true},
	{"harbour", "terraform", "The plan destroys two volumes. Apply?", "Both are detached since March.", 9,
		[]any{"Apply", "Show me"}, true},
	{"shop", "frontend", "Delete the old basket page?", "Nothing links to `/basket-v1` any more. It still gets " +
		"visits, nearly all from two bookmarks:\n\n| Week | Visits | Orders |\n" +
		"|---|---|---|\n| 2 November | 198 | 7 |\n" +
		"| 9 November | 40 | 1 |\n| 16 November | 12 | 0 |\n", 21,
		[]any{"Delete it, redirect to /basket", "Keep it until January",
			option("Ask the shop first", "copy-editor writes to them")}, false},
	{"thesis", "xiaoke", "参考文献用哪种格式？", "学院没有规定。", 26, []any{"APA 第七版", "GB/T 7714"}, false},
	{"parser", "builder-1", "Split the lexer into four files?", "Each would have its own tests.", 31,
		[]any{"Yes", "Two are enough", "Leave it"}, false},
	{"thesis", "mutarjim", "هل أترجم العنوان أيضاً؟", "لا يوجد عنوان فرعي.", 34, []any{"نعم", "لا"}, false},
	{"parser", "reviewer", "May I merge without a second review?", "fuzz is busy until tomorrow.", 48,
		[]any{"Yes", "No, ask fuzz"}, false},
	{"shop", "e2e-tester", "The login test is flaky. Skip it?", "3 of 40 runs fail, all on the slow machine.", 61,
		[]any{"Skip it", "Retry it three times", "Mend it first"}, false},
	{"shop", "copy-editor", "How do we call the user in the texts?", "The old texts say *customer*.", 64, nil, false},
	{"parser", "fuzz", "What may fuzzing cost tonight?", "Four hours found two faults last night.", 121,
		[]any{"4 hours", "8 hours", "all night"}, false},
	{"thesis", "stats", "Bonferroni, or Holm?", "Nine comparisons.", 130, []any{"Bonferroni", "Holm"}, false},
	{"shop", "backend", "Refund to the card, or as a voucher?", "The law leaves it to us.", 190,
		[]any{"To the card", "A voucher", "Ask each time"}, false},
}

// fleetSays are questions between agents of the four rooms.
var fleetSays = []asked{
	{"harbour", "release", "agent:migrator", "Release 3.1 needs `paid_at`. Can it be in by six?", 19, nil, true},
	{"shop", "frontend", "agent:backend", "Which address does a refund go to?", 40, nil, false},
	{"shop", "e2e-tester", "agent:frontend", "When is the basket done?", 33, nil, false},
	{"harbour", "notes", "agent:release", "Does 3.1 go out tomorrow?", 8, nil, false},
	{"parser", "docs", "agent:builder-1", "What are the four files called?", 22, nil, false},
}

// newFleet is a post office of four projects with twenty agents, most of them waiting.
func newFleet(t *testing.T) (harbour *room) {
	first := ownOffice(t, "harbour", serve...)
	rooms := map[string]*room{}
	for _, name := range []string{"harbour", "parser", "shop", "thesis"} {
		rooms[name] = &room{first.office, t, name}
	}
	working := map[string]bool{"release": true, "ops": true, "fuzz": true, "backend": true, "docs": true}
	for name, agents := range map[string][]string{
		"harbour": {"migrator", "ops", "release", "terraform", "notes"}, "thesis": {"xiaoke", "mutarjim", "stats"},
		"shop":   {"frontend", "backend", "e2e-tester", "copy-editor", "designer"},
		"parser": {"builder-1", "builder-2", "reviewer", "fuzz", "docs"},
	} {
		for _, a := range agents {
			state := "idle"
			if working[a] {
				state = "working"
			}
			rooms[name].run("agents", "register", a, "--state", state, "--task", "the "+a+"'s part")
		}
	}
	letters := map[string][]letter{}
	now := time.Now().UTC()
	for i, q := range append(fleetAsks, fleetSays...) {
		l := letter{ID: fmt.Sprintf("msg_fleet%016d", i), Type: "question", From: "agent:" + q.from,
			To:      []string{"user"},
			Subject: q.subject, Body: q.body, Sent: now.Add(-time.Duration(q.ago) * time.Minute)}
		if i >= len(fleetAsks) {
			l.To, l.Subject = []string{q.subject}, ""
		}
		if q.options != nil {
			l.Metadata = map[string]any{"options": q.options}
		}
		if q.urgent {
			l.Priority = "urgent"
		}
		letters[q.room] = append(letters[q.room], l)
	}
	for name, list := range letters {
		rooms[name].fill(list...)
	}
	rooms["harbour"].fill(
		letter{ID: "msg_fleet000000000000000x", From: "agent:ops", To: []string{"agent:migrator"}, Type: "status",
			Thread: "msg_fleet0000000000000000",
			Body:   "I would not do this by day. Ask the user.", Sent: now.Add(-13 * time.Minute)})
	// The asked agent has seen the question, and does not answer.
	rooms["shop"].run("--as", "backend", "mark", fmt.Sprintf("msg_fleet%016d", len(fleetAsks)+1), "--read")
	return first
}
