package realclient

import (
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// opencodeAsks describes opencode's dialogs.
func opencodeAsks() beside {
	b := beside{
		open: func(l *lab) *terminal {
			settings := opencodeSettings(l)
			settings["permission"] = map[string]any{"bash": "ask", "edit": "ask", "webfetch": "ask"}
			l.write(".config/opencode/opencode.json", settings)
			return l.tui()
		},
		asks: "Permission required", askedWhich: "esc dismiss",
		allows: []string{"Enter"}, first: []string{"Enter"},
		refuses: func(w *terminal) { w.types("Right", "Right", "Enter", "Enter") },
		question: `[[tool question {"questions":[{"question":"Which database?","header":"DB","options":[` +
			`{"label":"Postgres","description":"a server"},{"label":"SQLite","description":"a file"}]}]}]]`,
		answered: `"Which database?"="SQLite"`,
		denied:   "The user rejected permission to use this specific tool call with the following feedback: %s",
	}
	b.more = map[string]func(*testing.T, *lab){
		"dialogRule": b.opencodeRule, "dialogForms": b.opencodeForms, "dialogWords": b.opencodeWords,
		"dialogDismiss": b.opencodeDismiss, "dialogSubagent": b.opencodeSubagent,
		"dialogHeadless": b.opencodeHeadless, "dialogQuit": b.opencodeQuit,
	}
	return b
}

// opencodeRule: opencode's lasting offer says what it allows, and the rule applies.
func (b beside) opencodeRule(t *testing.T, l *lab) {
	w := b.begin(l, "hello rule [[sh mkdir one]] [[sh mkdir two]] [[say bye]]")
	c := l.shown(w, b.asks, "mkdir one")
	if len(c.Offers) != 3 || !strings.HasPrefix(c.Offers[1].Writes, "bash: mkdir *, ") {
		t.Fatalf("it offers %+v", c.Offers)
	}
	l.answers(c, "2")
	l.runs("two")
	l.settled()
	l.turnOver()
	l.ended("allowed user terminal")
}

// opencodeForms: a patch, an address, and a directory outside the project are shown as opencode shows them.
func (b beside) opencodeForms(t *testing.T, l *lab) {
	path := l.project + "/new.txt"
	b.begin(l, `hello forms [[tool write {"filePath":"`+path+`","content":"one\n\ttwo\n"}]]`+
		` [[tool edit {"filePath":"`+path+`","oldString":"one","newString":"three"}]]`+
		` [[tool webfetch {"url":"http://127.0.0.1:1/x?a=b","format":"text"}]]`+
		` [[tool read {"filePath":"/etc/hostname"}]] [[say bye]]`)
	for _, want := range []struct {
		form  mail.AskForm
		texts []string
	}{
		{mail.FormPatch, []string{"+one\n+\ttwo\n"}},
		{mail.FormPatch, []string{"-one\n+three\n"}},
		{mail.FormURL, []string{"http://127.0.0.1:1/x?a=b"}},
		{mail.FormJSON, []string{`"external_directory"`, `"/etc/hostname"`}},
	} {
		c := l.asks(want.texts...)
		if c.Form != want.form || c.Cut || want.form == mail.FormPatch && c.Path != path {
			t.Errorf("the card is %+v", c)
		}
		l.answers(c, "allow")
	}
	l.settled()
	l.turnOver()
}

// opencodeWords: several questions are answered by a label, by several labels, and in one's own words.
func (b beside) opencodeWords(_ *testing.T, l *lab) {
	w := b.begin(l, `hello words [[tool question {"questions":[{"question":"Which database?","header":"DB","options":[`+
		`{"label":"Postgres","description":"x"},{"label":"SQLite","description":"y"}]},{"question":"Which parts?",`+
		`"header":"Parts","multiple":true,"options":[{"label":"A","description":"a"},{"label":"B","description":"b"},`+
		`{"label":"C","description":"c"}]}]}]] [[say bye]]`)
	c := l.shown(w, "esc dismiss", "Which database?")
	l.answers(c, "neither: DuckDB", "A,3")
	l.request("hello words", `"Which database?"="neither: DuckDB", "Which parts?"="A, C"`)
	l.settled()
}

// opencodeDismiss: a question is dismissed from the desk.
func (b beside) opencodeDismiss(_ *testing.T, l *lab) {
	w := b.begin(l, "hello dismiss "+b.question+" [[say bye]]")
	l.answers(l.shown(w, b.askedWhich, "Which database?"), "deny")
	w.closed(b.askedWhich)
	l.settled()
	l.ended("denied user terminal")
}

// opencodeSubagent: a subagent's dialog is on the desk, and answered there.
func (b beside) opencodeSubagent(t *testing.T, l *lab) {
	w := b.begin(l, "hello parent "+l.client.subagent("hello child [[sh touch child]] [[sh touch two]] [[say done]]")+
		" [[say bye]]")
	c := l.shown(w, b.asks, "touch child")
	if c.Worker == "" || c.Who == "" || !c.Here {
		t.Errorf("the card is %+v", c)
	}
	l.answers(c, "allow")
	l.runs("child")
	l.asks("touch two")
	w.sees("touch two")
	w.types(b.allows...)
	l.runs("two")
	l.settled()
	l.turnOver()
	l.ended("allowed user terminal", "allowed client")
}

// opencodeHeadless: a headless run, which refuses instead of asking, asks no one.
func (b beside) opencodeHeadless(t *testing.T, l *lab) {
	l.install()
	settings := opencodeSettings(l)
	settings["permission"] = map[string]any{"bash": "ask"}
	l.write(".config/opencode/opencode.json", settings)
	<-l.begin("hello headless [[sh touch never]] [[say bye]]")
	if len(l.dialogEvents()) > 0 || l.exists("never") {
		t.Errorf("the journal has %+v; the tool ran: %t", l.dialogEvents(), l.exists("never"))
	}
}

// opencodeQuit: a session that is closed at its dialog leaves no card and no process.
func (b beside) opencodeQuit(_ *testing.T, l *lab) {
	w := b.begin(l, "hello quit [[sh touch quit]] [[say never]]")
	l.shown(w, b.asks, "touch quit")
	l.must(l.tmux("kill-session", "-t", w.name()).Run())
	l.settled()
	l.alone()
}
