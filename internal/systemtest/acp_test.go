package systemtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/acp/acptest"
	"pennypost/internal/office/hook/hooktest"
)

// acpOffice is a post office that wakes ann over ACP, through an agent with a given behaviour.
type acpOffice struct {
	*theatre
	file string
}

func newACPOffice(t *testing.T, how, more string) *acpOffice {
	t.Helper()
	s := newTheatre(t)
	o := &acpOffice{s, filepath.Join(s.root, "notes")}
	s.must("stop")
	argv := fmt.Sprintf("%q", acptest.Command(t, how, o.file))
	o.configure("[room.wake.ann]\nacp = " + strings.ReplaceAll(argv, `" "`, `", "`) + "\nwhen = \"gone\"\n" + more)
	return o
}

func (o *acpOffice) configure(text string) {
	o.t.Helper()
	if err := os.WriteFile(filepath.Join(o.home, "config.toml"), []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
}

// notes are the agent's notes of its input.
func (o *acpOffice) notes() string {
	text, _ := os.ReadFile(o.file)
	return string(text)
}

// noted waits for a note, and returns how often it appears.
func (o *acpOffice) noted(what string) int {
	o.t.Helper()
	eventually(o.t, what+" in\n"+o.notes(), func() bool { return strings.Contains(o.notes(), what) })
	return strings.Count(o.notes(), what)
}

func (o *acpOffice) ask(body string) mail.Sent {
	o.t.Helper()
	return ask[mail.Sent](o.t, o.office, "send", "--to", "ann", "--type", "question", "--body", body)
}

func (o *acpOffice) dirLine() string { return "dir = \"" + o.dir + "\"\n" }

// TestP8_ACP: mail starts an agent that has no session, which gets a pointer to the mail, reads it with its own MCP
// server, and is ended; the next mail continues the session, even after a restart.
func TestP8_ACP(t *testing.T) {
	t.Parallel()
	o := newACPOffice(t, "turn", "dir = \"/\"\n")
	one := o.ask("ZEBRA for one without a session")
	if one.Recipients[0].Wake != "acp" {
		t.Errorf("the sender is told %+v", one.Recipients)
	}
	o.noted("mail ")
	for _, want := range []string{"dir /\n", "PENNYPOST_AGENT=ann\n", "PENNYPOST_HOME=" + o.home + "\n",
		"session/new ", "Notice from the post office", "ZEBRA for one without a session"} {
		o.noted(want)
	}
	prompt, _, _ := strings.Cut(o.notes()[strings.Index(o.notes(), "session/prompt"):], "\n")
	if strings.Contains(prompt, "ZEBRA") || strings.Contains(prompt, "GNU") {
		t.Errorf("the prompt has the text of mail: %s", prompt)
	}
	o.noted("input ended")
	eventually(t, "ann has gone", func() bool { return o.agentState(t, "ann") == mail.Gone })
	if got := o.stateOf(t, one.ID, "ann"); got != mail.Presented {
		t.Errorf("the mail is %s", got)
	}
	if strings.Contains(o.must("inbox"), "GNU") {
		t.Error("what the agent said in its turn is mail")
	}

	o.ask("LION for the same session")
	o.noted("LION")
	o.noted(`session/load {"cwd":"/"`)
	eventually(t, "ann has gone", func() bool { return o.agentState(t, "ann") == mail.Gone })
	o.must("stop")
	o.ask("TIGER after a restart")
	o.noted("TIGER")
	if n := strings.Count(o.notes(), "session/new"); n != 1 {
		t.Errorf("%d sessions were made:\n%s", n, o.notes())
	}
	eventually(t, "nothing of the agent is left", func() bool {
		return !slices.ContainsFunc(o.office.processes(), func(p process) bool {
			return strings.Contains(fmt.Sprint(p), "acptest")
		})
	})
}

// TestP14_ACPAsks: an agent's question in its turn is a card on the desk, the person's answer reaches the agent, and
// an agent without an answer in time learns that the question was cancelled.
func TestP14_ACPAsks(t *testing.T) {
	t.Parallel()
	o := newACPOffice(t, "ask", "")
	o.configure(strings.Replace(readFile(t, filepath.Join(o.home, "config.toml")), "when", o.dirLine()+"when", 1))
	for _, tt := range []struct{ verdict, outcome string }{
		{"allow", `answered {"outcome":{"optionId":"now","outcome":"selected"}}`},
		{"deny", `answered {"outcome":{"optionId":"no","outcome":"selected"}}`},
	} {
		o.ask("ZEBRA " + tt.verdict)
		card := o.card()
		if card.Form != mail.FormCommand || card.Text != "make deploy" || card.Kind != mail.AsksPermission ||
			card.Dir != o.dir || !card.Beside || len(card.Offers) != 3 || !card.Here {
			t.Errorf("the card is %+v", card)
		}
		eventually(t, "ann asks", func() bool { return o.agentState(t, "ann") == mail.Asking })
		o.must("answer", string(card.ID), tt.verdict)
		o.noted(tt.outcome)
		eventually(t, "ann has gone", func() bool { return o.agentState(t, "ann") == mail.Gone })
		if len(o.cards()) > 0 {
			t.Errorf("the card stands: %+v", o.cards())
		}
	}
	o.must("stop")
	o.configure(readFile(t, filepath.Join(o.home, "config.toml")) + "timeout = \"3s\"\n")
	o.ask("ZEBRA in time")
	o.card()
	o.noted(`answered {"outcome":{"outcome":"cancelled"}}`)
	eventually(t, "no card is left", func() bool { return len(o.cards()) == 0 })
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// card waits for a question to the person.
func (o *acpOffice) card() (card mail.Card) {
	o.t.Helper()
	eventually(o.t, "a card", func() bool {
		for _, card = range o.cards() {
			if card.Here && card.Agent == "ann" {
				return true
			}
		}
		return false
	})
	return card
}

// TestACPMakesWay: a turn is cancelled when another session of its agent begins, which then has the agent's name,
// and when the post office stops.
func TestACPMakesWay(t *testing.T) {
	t.Parallel()
	o := newACPOffice(t, "join", "dir = \"/\"\n")
	o.ask("ZEBRA for its turn")
	eventually(t, "ann is at work", func() bool { return o.agentState(t, "ann") == mail.Working })
	o.noted("session/prompt")
	h := o.hooks(hooktest.Claude(), "s1", "PENNYPOST_AGENT=ann")
	h.Start("startup")
	if !strings.Contains(o.notes(), "session/cancel") {
		t.Errorf("its turn goes on:\n%s", o.notes())
	}
	for _, a := range o.roster(t) {
		if a.Name == "ann-2" || a.Name == "ann" && a.Client != "claude" {
			t.Errorf("the roster has %+v", a)
		}
	}
	o.ask("LION for another turn")
	h.Exit("other") // not by its person, who would make the door leave it alone
	h.Quit()
	for _, f := range h.Faults {
		t.Error(f)
	}

	before := strings.Count(o.notes(), "session/cancel")
	eventually(t, "ann is at work again", func() bool { return o.agentState(t, "ann") == mail.Working })
	eventually(t, "it has the prompt", func() bool { return strings.Count(o.notes(), "session/prompt") == 2 })
	if !strings.Contains(o.notes(), "PENNYPOST_UNREAD=2\n") {
		t.Errorf("the other turn began beside the session, before its mail came:\n%s", o.notes())
	}
	o.must("stop")
	if n := strings.Count(o.notes(), "session/cancel"); n != before+1 || !strings.HasSuffix(o.notes(), "ended\n") {
		t.Errorf("the turn was not cancelled when the post office stopped:\n%s", o.notes())
	}
}

// TestACPFails: a door that cannot be rung is reported as other doors are, and the waiting mail is still there.
func TestACPFails(t *testing.T) {
	t.Parallel()
	o := newACPOffice(t, "auth", "dir = \"/\"\n[room.wake.lead]\nacp = [\"no-such-agent\", \"--acp\"]\n")
	sent := o.ask("ZEBRA without a login")
	o.must("send", "--to", "lead", "--type", "question", "--body", "ZEBRA for nobody")
	log := filepath.Join(o.home, "daemon.log")
	for _, want := range []string{"needs a login",
		"the working directory of the agent is not known; set dir"} {
		eventually(t, want, func() bool { return strings.Contains(readFile(t, log), want) })
	}
	if got := o.stateOf(t, sent.ID, "ann"); got != mail.Queued {
		t.Errorf("the mail is %s", got)
	}
}

// TestP5_ACPIsItsAgentOnly: a process in a turn is the agent, and neither the user nor another agent; and another
// agent's process does not end the turn by claiming to be the agent.
func TestP5_ACPIsItsAgentOnly(t *testing.T) {
	t.Parallel()
	o := newACPOffice(t, "attack", "dir = \"/\"\n")
	o.ask("ZEBRA for who attacks")
	o.noted("input ended")
	for part := range strings.SplitSeq(o.notes(), "tried ") {
		if strings.Contains(part, "<nil>") {
			t.Errorf("it could do this: %s", part)
		}
	}
	if n := strings.Count(o.notes(), "tried "); n != 8 {
		t.Errorf("it has tried %d times:\n%s", n, o.notes())
	}
	if inbox := o.must("inbox", "--agent", "lead") + o.must("inbox"); strings.Contains(inbox, "FORGED") {
		t.Errorf("it is somebody else:\n%s", inbox)
	}

	o = newACPOffice(t, "join", "dir = \"/\"\n")
	c := o.client("lead")
	o.ask("ZEBRA for its turn")
	o.noted("session/prompt")
	eventually(t, "ann is at work", func() bool { return o.agentState(t, "ann") == mail.Working })
	said := c.plays(`"$PP" mcp --as ann </dev/null 2>&1; printf '{"session_id":"s9","cwd":"/","hook_event_name":` +
		`"SessionStart","source":"startup"}' | "$PP" hook claude SessionStart --as ann 2>&1`)
	if strings.Contains(o.notes(), "session/cancel") || o.agentState(t, "ann") != mail.Working {
		t.Errorf("another agent has ended the turn: %s\n%s", said, o.notes())
	}
}
