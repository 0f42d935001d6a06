package tui

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// hostile are texts that could harm a terminal or the layout.
var hostile = []string{
	"\x1b[2J\x1b]0;owned\x07\x1b]52;c;ZWNobw==\x07", "a\rb\bc\x7f", "\u009b31m", "\u202egnp.exe\u2066",
	"Привет мир", "日本語のテキストはここで折り返される長い行です", "👩‍👩‍👧‍👦🏳️‍🌈 family", "e\u0301\u0301\u0301\u0301clair",
	"שלום עולם: מה שלומך", "مرحبا بالعالم", "\u200b\u200d\ufeff", strings.Repeat("long", 200), "tab\there",
	"\u2028\u2029",
	"\U000e0041 tags", "\xff\xfe", "# h\n- a\n  - b\n> q\n```\n\x1b[31mcode\n```\n| a | b |",
}

// TestHostileText tests that hostile texts reach the terminal only as text, and that every line fits.
func TestHostileText(t *testing.T) {
	for _, text := range hostile {
		for _, width := range []int{1, 9, 20, 40, 80, 120, 200} {
			checkScreens(t, text, width)
		}
	}
}

func FuzzScreen(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, 80)
	}
	f.Fuzz(func(t *testing.T, text string, width int) {
		if width < 1 || width > 300 || len(text) > 4000 {
			t.Skip()
		}
		checkScreens(t, text, width)
	})
}

// checkScreens draws every screen with a text in all places.
func checkScreens(t *testing.T, text string, width int) {
	t.Helper()
	o := &office{agents: []mail.Agent{{Name: mail.Name(text), Task: text, State: mail.State(text),
		Roles: []string{text}}}}
	o.question(1, text, "")
	it := &o.needs[0]
	it.From, it.Room, it.Preview, it.Via = mail.Address("agent:"+text), mail.RoomName(text), text, text
	o.updates = []mail.Conversation{*it}
	first := &o.threads["msg_q1"][0]
	first.Body, first.From, first.To = text, it.From, []mail.Address{mail.Address(text), mail.ToUser}
	first.Docs, first.Type = []mail.Doc{{Path: text}}, mail.ReviewRequest
	o.agents[0].Dialogs = []mail.Dialog{{ID: "d-1"}}
	o.dialogs.Ask(hostileCard(text))
	b := newBench(t, o)
	b.tell(resized{width, 24})
	for _, keys := range []string{"", "enter", "3", "esc 1 q", "j enter", "r", "esc q", "e", "esc tab", "tab", "c",
		"esc ?"} {
		b.press(keys)
		if keys == "r" {
			b.tell(pasted(text))
		}
		for _, l := range b.model.view().lines {
			for _, r := range l.String() {
				if unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
					t.Fatalf("%U is on the screen: %q", r, l.String())
				}
			}
		}
		if width >= 9 {
			b.screen() // every line fits
		}
	}
	b.model.wrong(mail.Errorf(mail.Invalid, "%s", text))
	b.screen()
}

// hostileCard is a dialog with the same text in every field.
func hostileCard(text string) mail.Card {
	c := permission("d-1", text)
	c.Room, c.Agent, c.Client, c.Tool, c.Who = mail.RoomName(text), mail.Name(text), text, text, text
	c.Dir, c.Path, c.Says, c.Plan, c.Why = text, text, text, text, text
	c.Questions = []mail.AskedQuestion{{Text: text, Header: text, Several: true, Free: true,
		Options: []mail.Choice{{Label: text, Note: text}}}}
	c.Offers = []mail.Offer{{Verdict: mail.SayAnswer}, {Verdict: mail.SayAllow, Rule: 1, Writes: text},
		{Verdict: mail.SayDeny, Words: true}}
	c.Waiters = []mail.Waiting{{Asker: mail.Name(text), Subject: text}}
	return c
}

func TestBody(t *testing.T) {
	const text = "# A *plan* of **two** steps #\n\nFirst, a line that is longer than the screen is wide.\n" +
		"- [x] a point whose text goes on in another line\n  1. below [it](https://example.org \"x\")\n" +
		"> they said **no**, and said it at length\n```go\nif a {\n\treturn b // which is not broken at a " +
		"word\n}\n```\n" +
		"a_b_c and `x**y**z` stay, and 2*3*4; *this* goes"
	want := []string{
		"A plan of two steps",
		"",
		"First, a line that is longer",
		"than the screen is wide.",
		"☑ a point whose text goes on",
		"  in another line",
		"  1. below it",
		"     (https://example.org)",
		"│ they said no, and said it",
		"│ at length",
		"    if a {",
		"        return b // which is",
		"    not broken at a word",
		"    }",
		"a_b_c and x**y**z stay, and",
		"2*3*4; this goes",
	}
	var got []string
	strong := map[string]bool{}
	for _, l := range body(text, 28) {
		got = append(got, strings.TrimRight(l.String(), " "))
		for _, s := range l {
			if s.style&bold != 0 {
				strong[strings.TrimSpace(s.text)] = true
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"A plan of two steps": true, "no": true}, strong); diff != "" {
		t.Errorf("bold: -want +got\n%s", diff)
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 10, []string{""}},
		{"one two three", 8, []string{"one two", "three"}},
		{"one two", 7, []string{"one two"}},
		{"a\n\nb", 5, []string{"a", "", "b"}},
		{"abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"日本語日本", 5, []string{"日本", "語日", "本"}},
		{"e\u0301e\u0301e\u0301", 2, []string{"e\u0301e\u0301", "e\u0301"}},
		{"日本", 1, []string{"日", "本"}},
	} {
		all := cells(c.text, 0)
		var got []string
		for _, at := range wrap(all, c.width) {
			got = append(got, strings.TrimRight(lineOf(all[at[0]:at[1]]).String(), " "))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("wrap(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// TestWidths tests the order in which a row drops its parts: the subject is readable at every width.
func TestWidths(t *testing.T) {
	o := &office{}
	o.question(1, "Which port is free?", ports)
	b := newBench(t, o)
	for _, width := range []int{40, 60, 80, 120, 200} {
		b.tell(resized{width, 24})
		b.sees("Which port is", "builder", "1 8080 · 2 9090", "1 h", "enter open")
		if wide := width >= 60; strings.Contains(b.screen(), " lab ") != wide {
			t.Errorf("at %d columns the room is to be seen: %t\n%s", width, wide, b.screen())
		}
	}
	b.tell(resized{10, 3})
	b.screen()
	b.tell(resized{0, 0})
	b.screen()
}

func TestBox(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"a b left x", "ax▏b"},
		{"a enter b up x", "ax▏\nb"},
		{"a b home x end y", "xaby▏"},
		{"a b c backspace", "ab▏"},
		{"a b left delete", "a▏"},
		{"a b enter c ctrl+u d", "ab\nd▏"},
		{"a b left ctrl+k c", "ac▏"},
		{"日 本 left x", "日x▏本"},
		{"e \u0301 backspace", "▏"},
		{"a ␣ b ctrl+w c", "a c▏"},
		{"alt+q ctrl+q esc a", "a▏"},
	} {
		b := newBox("", "", toReply)
		for k := range strings.FieldsSeq(c.keys) {
			if k == "␣" {
				k = " "
			}
			b.key(k, 20)
		}
		got := lineOf(b.text[:b.at]).String() + "▏" + lineOf(b.text[b.at:]).String()
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.keys, got, c.want)
		}
	}
	b := newBox("", "one two three four", toReply)
	if lines, row, column := b.place(10); len(lines) != 2 || row != 1 || column != 10 {
		t.Errorf("place = %v, %d, %d", lines, row, column)
	}
	b.key("up", 10)
	b.insert("|")
	if got := b.String(); got != "one two| three four" {
		t.Errorf("after up: %q", got)
	}
}
