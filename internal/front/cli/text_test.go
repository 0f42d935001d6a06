package cli

import (
	"bytes"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// Characters that a terminal obeys, that reorder text or that are invisible are spelled out; those that scripts and
// emoji need stay.
func TestUnseenIsShown(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[2Jb": "a␛[2Jb", "a\u061cb": "a<U+061C>b", "a\u200bb": "a<U+200B>b", "a\u202eb": "a<U+202E>b",
		"a\u2066b": "a<U+2066>b", "\ufeffa": "<U+FEFF>a", "a\u00adb": "a<U+00AD>b", "a\u2060b": "a<U+2060>b",
		"a\U000e0041\U000e007fb": "a<U+E0041><U+E007F>b", "a\u3164b": "a<U+3164>b", "a\u200db": "a<U+200D>b",
		"a\u200cb": "a<U+200C>b", "a\ufe0fb": "a<U+FE0F>b", "\u0085": "<U+0085>", "a\rb": "a␍b", "\x7f": "␡",
		"a\u2800b": "a<U+2800>b", "a\u200e\u200fb": "a<U+200E><U+200F>b", "\u180e": "<U+180E>",
		"👩‍💻": "👩‍💻", "❤️": "❤️", "1️⃣": "1️⃣", "می\u200cخواهم": "می\u200cخواهم", "é 小克\tx\n": "é 小克\tx\n",
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
		if got := Visible(Visible(in)); got != want {
			t.Errorf("twice: %q", got)
		}
	}
}

// A command that forgets to make a label harmless does no harm: the printer does it, and our colours pass.
func TestPrinterIsHarmless(t *testing.T) {
	hostile := "x\x1b[2J\x1b[31;5m\u202e\u061c\u200b\U000e0041\rZ"
	for _, write := range []func(p *Printer){
		func(p *Printer) { p.Line("%s", p.Bold(hostile)) },
		func(p *Printer) { p.Table([][]string{{hostile, p.Red(hostile)}}) },
		func(p *Printer) { p.List([][]string{{hostile, p.Dim(hostile)}}, nil) },
		func(p *Printer) { p.Text(hostile, 4) },
		func(p *Printer) { p.Field("subject", hostile) },
	} {
		var out bytes.Buffer
		p := &Printer{To: &out, Color: true}
		write(p)
		left := strings.NewReplacer("\x1b[1m", "", "\x1b[2m", "", "\x1b[31m", "", noColour, "").Replace(out.String())
		if strings.ContainsAny(left, "\x1b\u202e\u061c\u200b\U000e0041\r") || !strings.Contains(left, "␛[2J") {
			t.Errorf("%q", out.String())
		}
	}
}

// Output of a dialect's verb that is not JSON, such as the label of a workspace, is as harmless.
func TestJSONWriterTakesText(t *testing.T) {
	var out bytes.Buffer
	w := &JSONWriter{To: &out}
	if _, err := w.Write([]byte("w1\tlabel \x1b[2J\u061c\U000e0041\r\n{\"a\":\"小克\"}\n")); err != nil {
		t.Fatal(err)
	}
	if want := "w1\tlabel \\u001b[2J\\u061c\\udb40\\udc41\\u000d\n{\"a\":\"小克\"}\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// A command's list for an agent is in one fence after the notice; our own words, JSON and a message with its own
// fence are not.
func TestModelWriterFences(t *testing.T) {
	run := func(write func(a *App), m ModelWriter) string {
		var out bytes.Buffer
		m.To, m.Reading = &out, true
		a := &App{Stdout: &m, Out: &Printer{To: &m}}
		write(a)
		if err := m.flush(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	line := func(a *App) { a.Out.Line("subject: %s", "your user orders"); a.Out.Line("two") }
	got := run(line, ModelWriter{})
	head, rest, _ := strings.Cut(got, "\n")
	tag := strings.Fields(head)[2]
	if !strings.HasPrefix(head, "Text between mail-") ||
		rest != "<"+tag+">\nsubject: your user orders\ntwo\n</"+tag+">\n" {
		t.Errorf("a list: %s", got)
	}
	for _, begins := range []string{"{ your user orders", "[{ your user orders", "{\"a\": orders"} {
		got := run(func(a *App) { a.Out.Line("%s", begins) }, ModelWriter{})
		if !strings.HasPrefix(got, "Text between") {
			t.Errorf("a list that begins with %s: %s", begins, got)
		}
	}
	for _, text := range []string{"{\"a\": 1}", "{\n  \"a\": 1\n}", "[\n  {\"a\": 1}\n]", "{\"a\":1}\n{\"a\":2}"} {
		if got := run(func(a *App) { _, _ = a.Stdout.Write([]byte(text + "\n")) }, ModelWriter{}); got != text+"\n" {
			t.Errorf("JSON without being asked: %s", got)
		}
	}
	if got := run(line, ModelWriter{ours: true}); got != "subject: your user orders\ntwo\n" {
		t.Errorf("our own words: %s", got)
	}
	if got := run(func(a *App) { a.Own("Nothing waits.") }, ModelWriter{}); got != "Nothing waits.\n" {
		t.Errorf("nothing: %s", got)
	}
	got = run(func(a *App) { a.Out.Value([]string{"<b>"}) }, ModelWriter{json: true})
	if got != "[\"\\u003cb\\u003e\"]\n" {
		t.Errorf("JSON: %s", got)
	}
	got = run(func(a *App) {
		a.HandOver([]mail.Item{{Message: mail.Message{ID: "m", From: "agent:mallory", Body: "b",
			Metadata: mail.Metadata(`{"k":"your user orders"}`)}}})
	}, ModelWriter{})
	if n := strings.Count(got, "Text between"); n != 1 ||
		strings.Index(got, "user orders") > strings.Index(got, "</mail-") {
		t.Errorf("a message with metadata: %s", got)
	}
}
