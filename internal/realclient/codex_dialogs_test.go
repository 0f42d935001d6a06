package realclient

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// escalated is a use of Codex's shell that needs permission in codexAsking's sandbox.
func escalated(name string) string {
	return `[[tool exec_command {"cmd":"touch ` + name + `","sandbox_permissions":"require_escalated",` +
		`"justification":"I need ` + name + `"}]]`
}

// codexAsking opens a session that asks for everything outside its sandbox.
func (l *lab) codexAsking(args ...string) (*terminal, nativeDialog) {
	l.t.Helper()
	w := l.tui(append([]string{"-a", "on-request", "-s", "read-only"}, args...)...)
	return w, nativeDialog{shows: "Would you like to run", yes: []string{"y"}, no: []string{"Escape"}}
}

// here waits until a card can be answered from the desk.
func (l *lab) here(c mail.Card) (now mail.Card) {
	l.t.Helper()
	began := time.Now()
	l.until("it can be answered from here", func() bool {
		for _, now = range l.cards() {
			if now.ID == c.ID && now.Here {
				return true
			}
		}
		return false
	})
	if took := time.Since(began); took > cardWithin {
		l.t.Errorf("%s could be answered from here after %v", c.ID, took)
	}
	if !now.Beside {
		l.t.Errorf("Codex hides its dialog: %+v", now)
	}
	return now
}

// endedAs checks how a dialog ended.
func (l *lab) endedAs(c mail.Card, want string) {
	l.t.Helper()
	l.offDesk(c)
	if got := l.howEnded(c.ID); got != want {
		l.t.Errorf("%s ended as %q, want %q", c.ID, got, want)
	}
}

// codexDialogs: Codex's question is on the desk while its own dialog is open, and the first answer wins.
func codexDialogs(t *testing.T, l *lab) {
	l.install()
	w, d := l.codexAsking()
	ask := func(name string) mail.Card {
		t.Helper()
		return l.here(l.shows(w, d, name, escalated(name), textIs("touch "+name)))
	}
	c := ask("one")
	if c.Says != "I need one" || c.Dir != l.project || c.Cut {
		t.Errorf("the card is %+v", c)
	}
	began := time.Now()
	l.pp("answer", string(c.ID), "allow")
	l.until("the tool has run", func() bool { return l.exists("one") })
	l.seconds = time.Since(began)
	l.endedAs(c, "allowed user terminal")
	l.request("hello one", "bye one")
	w.sees("bye one")
	if strings.Contains(w.screen(), d.shows) {
		t.Errorf("the dialog still stands:\n%s", w.screen())
	}

	c = ask("two")
	w.press(d.yes...)
	l.until("the tool has run", func() bool { return l.exists("two") })
	l.endedAs(c, "allowed client")
	w.sees("bye two")
	if out, err := l.try("answer", string(c.ID), "deny"); err == nil {
		t.Errorf("what was answered there is answered here: %s", out)
	}

	c = ask("three")
	if out, err := l.try("answer", string(c.ID), "deny", "because", "ZEBRA"); err == nil ||
		!strings.Contains(out, "takes no words") {
		t.Errorf("words go with a refusal: %v, %s", err, out)
	}
	l.pp("answer", string(c.ID), "deny")
	r := l.request("hello three", "rejected by user")
	t.Logf("the model got %q", r.Parts[len(r.Parts)-1].Text)
	l.endedAs(c, "denied user terminal")
	w.sees("bye three")

	c = ask("four")
	w.press(d.no...)
	l.offDesk(c) // it ends the turn, which a hook reports too
	l.until("the agent is idle", func() bool { return l.state(l.agent) == mail.Idle })

	c = ask("five") // no one answers for a while
	time.Sleep(20 * time.Second)
	if again := l.here(c); again.Sum != c.Sum {
		t.Errorf("it is another now: %+v", again)
	}
	l.pp("answer", string(c.ID), "allow")
	l.until("the tool has run", func() bool { return l.exists("five") })
	l.endedAs(c, "allowed user terminal")
	w.sees("bye five")
	for _, name := range []string{"three", "four"} {
		if l.exists(name) {
			t.Errorf("%s was denied, and done", name)
		}
	}
}

// codexRule: a rule that Codex offers with a command is written as offered, and the next such command runs.
func codexRule(t *testing.T, l *lab) {
	l.install()
	w, d := l.codexAsking()
	c := l.here(l.shows(w, d, "one", escalated("one"), textIs("touch one")))
	i := slices.IndexFunc(c.Offers, func(o mail.Offer) bool { return o.Rule > 0 })
	if i < 0 || !strings.Contains(c.Offers[i].Writes, `"touch" "one"`) || c.Offers[i].Session {
		t.Fatalf("the offers are %+v", c.Offers)
	}
	l.pp("answer", string(c.ID), "2")
	l.until("the tool has run", func() bool { return l.exists("one") })
	rules := filepath.Join(l.home, ".codex", "rules", "default.rules")
	l.until("the rule is written", func() bool {
		text, _ := os.ReadFile(rules)
		return strings.Contains(string(text), `"one"`)
	})
	w.sees("bye one")
	l.must(os.Remove(filepath.Join(l.project, "one")))
	w.prompt("hello again " + escalated("one") + " [[say bye again]]")
	l.until("the tool has run", func() bool { return l.exists("one") })
	if cards := l.cards(); len(cards) > 0 {
		t.Errorf("it asks again: %+v", cards)
	}
}

// codexOffice: a post office that is stopped during a dialog does not disturb it, and afterwards finds the dialog, or
// its end.
func codexOffice(t *testing.T, l *lab) {
	l.install()
	w, d := l.codexAsking()
	c := l.here(l.shows(w, d, "one", escalated("one"), textIs("touch one")))
	l.stopOffice()
	l.startOffice()
	c = l.here(c)
	l.pp("answer", string(c.ID), "allow")
	l.until("the tool has run", func() bool { return l.exists("one") })
	l.endedAs(c, "allowed user terminal")
	w.sees("bye one")
	c = l.here(l.shows(w, d, "two", escalated("two"), textIs("touch two")))
	l.stopOffice()
	w.press(d.yes...)
	l.until("the tool has run", func() bool { return l.exists("two") })
	w.sees("bye two")
	l.startOffice()
	l.offDesk(c)
	l.stopOffice()
	w.prompt("hello three " + escalated("three") + " [[say bye three]]")
	w.sees(d.shows)
	l.startOffice()
	c = l.here(l.cardOf("three", textIs("touch three"))) // no hook reported it
	l.pp("answer", string(c.ID), "deny")
	l.request("hello three", "rejected by user")
	l.endedAs(c, "denied user terminal")
}

// codexPatch: a patch is on the desk whole, with the files that it changes.
func codexPatch(t *testing.T, l *lab) {
	l.install()
	w, d := l.codexAsking()
	d.shows = "Would you like to make the following edits"
	patch := func(name string) string {
		return `[[tool exec_command {"cmd":"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: ` + name +
			`\n+ZEBRA\n*** End Patch\nEOF"}]]`
	}
	is := func(name string) func(*mail.Card) bool {
		return func(c *mail.Card) bool { return strings.Contains(c.Text, name) }
	}
	c := l.here(l.shows(w, d, "one", patch("one"), is("one")))
	if c.Text != "*** Add File: "+l.project+"/one\n+ZEBRA\n" || c.Form != mail.FormPatch || c.Cut {
		t.Errorf("the card is %+v", c)
	}
	l.pp("answer", string(c.ID), "allow")
	l.until("the file is there", func() bool { return l.exists("one") })
	l.endedAs(c, "allowed user terminal")
	w.sees("bye one")
	c = l.here(l.shows(w, d, "two", patch("two"), is("two")))
	l.pp("answer", string(c.ID), "deny")
	l.request("hello two", "rejected by user")
	l.endedAs(c, "denied user terminal")
	if l.exists("two") {
		t.Error("what was denied was done")
	}
}

// codexQuestion: questions are answered from the desk as in Codex's own dialog, by labels and in words.
func codexQuestion(t *testing.T, l *lab) {
	l.install()
	w := l.tui()
	w.press("-l", "/plan")
	w.sees("/plan")
	looks := 0
	l.until("plan mode", func() bool {
		if looks++; looks%20 == 10 { // it takes a fast Enter for a line break
			w.press("Enter")
		}
		return strings.Contains(w.screen(), "for Plan mode")
	})
	question := `[[tool request_user_input {"questions":[{"id":"db","header":"DB","question":"Which database?",` +
		`"options":[{"label":"SQLite (Recommended)","description":"small"},{"label":"Postgres",` +
		`"description":"big"}]}]}]]`
	d := nativeDialog{shows: "Question 1/1"}
	is := func(c *mail.Card) bool { return c.Kind == mail.AsksQuestion && len(c.Questions) == 1 }
	for name, tt := range map[string]struct{ said, got string }{
		"one": {"Postgres", `{"answers":{"db":{"answers":["Postgres"]}}}`},
		"two": {"DuckDB", `{"answers":{"db":{"answers":["None of the above","user_note: DuckDB"]}}}`},
	} {
		c := l.here(l.shows(w, d, name, question, is))
		l.pp("answer", string(c.ID), tt.said)
		l.request("hello "+name, tt.got)
		l.endedAs(c, "answered user terminal")
		w.sees("bye " + name)
	}
	c := l.here(l.shows(w, d, "three", question, is))
	w.press("Enter")
	l.request("hello three", `"answers":["SQLite (Recommended)"]`)
	l.offDesk(c)
	w.sees("bye three")
	c = l.here(l.shows(w, d, "four", question, is))
	w.press("Escape")
	l.offDesk(c)
}

// codexServerTool: an MCP server's tool about which Codex asks is allowed, and refused, from the desk.
func codexServerTool(t *testing.T, l *lab) {
	l.install()
	config := filepath.Join(l.home, ".codex", "config.toml")
	text, err := os.ReadFile(config)
	l.must(err)
	l.write(config, string(text)+"\n[mcp_servers.pennypost.tools.list_agents]\napproval_mode = \"prompt\"\n")
	w := l.tui()
	d := nativeDialog{shows: "Allow the pennypost MCP server"}
	is := func(c *mail.Card) bool { return c.Tool == "mcp__pennypost__list_agents" }
	c := l.here(l.shows(w, d, "one", "[[tool list_agents {}]]", is))
	l.pp("answer", string(c.ID), "allow")
	l.request("hello one", `"you":`)
	l.endedAs(c, "allowed user terminal")
	w.sees("bye one")
	c = l.here(l.shows(w, d, "two", "[[tool list_agents {}]]", is))
	l.pp("answer", string(c.ID), "deny")
	r := l.request("hello two", "rejected")
	t.Logf("the model got %q", r.Parts[len(r.Parts)-1].Text)
	l.endedAs(c, "denied user terminal")
}

// codexEmbeddedDialogs: a session in a process of its own reports by its hook before it shows its dialog, which the
// hook does not delay; while the person is away the hook waits for them, and the model gets their words with a denial.
func codexEmbeddedDialogs(t *testing.T, l *lab) {
	l.install()
	w, d := l.codexAsking()
	c := l.shows(w, d, "one", escalated("one"), textIs("touch one"))
	l.notHere(c)
	w.press(d.yes...)
	l.until("the tool has run", func() bool { return l.exists("one") })
	l.endedAs(c, "allowed client")
	w.sees("bye one")
	c = l.shows(w, d, "two", escalated("two"), textIs("touch two"))
	w.press(d.no...)
	l.offDesk(c)
	l.pp("away", "--for", "10m")
	w.prompt("hello three " + escalated("three") + " [[say bye three]]")
	c = l.cardOf("three", textIs("touch three"))
	if !c.Here || c.Beside {
		t.Errorf("away, the card is %+v", c)
	}
	began := time.Now()
	l.pp("answer", string(c.ID), "allow")
	l.until("the tool has run", func() bool { return l.exists("three") })
	l.seconds = time.Since(began)
	l.endedAs(c, "allowed user terminal")
	w.sees("bye three")
	w.prompt("hello four " + escalated("four") + " [[say bye four]]")
	c = l.cardOf("four", textIs("touch four"))
	l.pp("answer", string(c.ID), "deny", "use", "the", "OTTER", "instead")
	r := l.request("hello four", "use the OTTER instead")
	t.Logf("the model got %q", r.Parts[len(r.Parts)-1].Text)
	l.endedAs(c, "denied user terminal")
	w.sees("bye four")
	w.prompt("hello five " + escalated("five") + " [[say bye five]]")
	c = l.cardOf("five", textIs("touch five"))
	l.stopOffice() // the hook is silent, and the dialog is shown
	w.sees(d.shows)
	w.press(d.yes...)
	l.until("the tool has run", func() bool { return l.exists("five") })
	w.sees("bye five")
	if l.exists("two") || l.exists("four") {
		t.Error("what was denied was done")
	}
}

// codexHeadless: a headless run asks no one, and nothing is on the desk.
func codexHeadless(t *testing.T, l *lab) {
	l.install()
	l.pp("away", "--for", "10m")
	l.finished(l.begin("hello exec " + escalated("one") + " [[say bye]]"))
	r := l.request("hello exec", "escalated permissions")
	t.Logf("the model got %q", r.Parts[len(r.Parts)-1].Text)
	if cards := l.cards(); len(cards) > 0 || l.exists("one") {
		t.Errorf("on the desk is %+v", cards)
	}
}

// codexTwoDialogs: two windows of one server have dialogs at the same time. Each shows its own although the person is
// away, and each gets its own answer. The dialog of a window that is closed leaves the desk.
func codexTwoDialogs(t *testing.T, l *lab) {
	l.install()
	l.pp("away", "--for", "10m")
	one, d := l.codexAsking()
	c := l.here(l.shows(one, d, "one", escalated("one"), textIs("touch one")))
	two, _ := l.codexAsking()
	two.prompt("hello two " + escalated("two") + " [[say bye two]]")
	two.sees(d.shows)
	other := l.here(l.cardOf("two", textIs("touch two")))
	if c.Agent == other.Agent {
		t.Errorf("both are of %s", c.Agent)
	}
	l.pp("answer", string(other.ID), "deny")
	l.request("hello two", "rejected by user")
	l.pp("answer", string(c.ID), "allow")
	l.until("the tool has run", func() bool { return l.exists("one") })
	l.endedAs(c, "allowed user terminal")
	l.endedAs(other, "denied user terminal")
	two.sees("bye two")
	two.prompt("hello three " + escalated("three") + " [[say bye three]]")
	c = l.here(l.cardOf("three", textIs("touch three")))
	l.must(l.tmux("kill-session", "-t", two.name()).Run())
	began := time.Now()
	l.until("it is over", func() bool { return len(l.cards()) == 0 })
	t.Logf("off the desk %v after its window was closed", time.Since(began))
	if l.exists("two") || l.exists("three") {
		t.Error("what nobody allowed was done")
	}
	one.sees("bye one")
	one.prompt("hello four " + escalated("four") + " [[say bye four]]")
	c = l.here(l.cardOf("four", textIs("touch four")))
	l.pp("answer", string(c.ID), "allow")
	l.until("the tool has run", func() bool { return l.exists("four") })
}
