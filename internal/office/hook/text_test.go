package hook

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// The shell reads the told command as one with the agent's name, for any name.
func TestMarkingIsOneShellWord(t *testing.T) {
	for _, name := range []mail.Name{"builder-1", "小克", "the boss", "it's", "$(touch x)", "a;b", "`a`", `a\b"c`, "*"} {
		word := wording.Shell(string(name))
		out, err := exec.Command("sh", "-c", "printf %s "+word).Output()
		if err != nil || mail.Name(out) != name {
			t.Errorf("%q is told as %s, which a shell reads as %q, %v", name, word, out, err)
		}
	}
}

// Output to a client stays within 20 KB for any names and subjects, including JSON escapes.
func TestP12_HookBudget(t *testing.T) {
	const budget = 20 << 10
	for _, c := range []string{"a", "\"", "'", "<user>", "&lt;", "\x00", "𐍈", "漢"} {
		fill := func(n int) string { return strings.Repeat(c, n/len(c)) }
		name := mail.Name(fill(mail.MaxName))
		var items []mail.Item
		for i := range 50 {
			it := mail.Item{Message: mail.Message{
				ID: mail.ID(fmt.Sprintf("msg_%021d", i)), From: mail.AgentAddress(name), Type: mail.Question,
				Priority: mail.Urgent,
				Subject:  fill(mail.MaxSubject), Issue: fill(mail.MaxName), ReplyTo: "msg_V1StGXR8_Z5jdHi6B-myT",
				Body: fill(1 + i*i*i),
			}}
			for range i % 10 {
				it.Docs = append(it.Docs, mail.Doc{Path: fill(500)})
			}
			items = append(items, it)
		}
		box := &Mailbox{Room: mail.RoomName(strings.Repeat("r", mail.MaxName)), Agent: name + "x"}
		e := &Event{Moment: mail.SessionStart, Compacted: true}
		type said struct {
			words
			kinds []speechKind
		}
		all := []said{
			{news(e, box, &mail.Briefing{Agent: name, Items: items, More: 1 << 40, Unread: 1 << 40}),
				[]speechKind{tell, goOn}},
			{news(e, box, &mail.Briefing{Agent: name, Continue: true, Unread: 1 << 40}), []speechKind{tell, goOn}},
			{news(e, box, &mail.Briefing{Agent: name, Unread: 1 << 40}), []speechKind{tell, goOn}},
			{news(e, box, &mail.Briefing{Agent: name}), []speechKind{tell, goOn}},
			{order(&mail.Briefing{Agent: name, Cancel: &items[45]}), []speechKind{forbid}},
		}
		for n := 500; n < MaxText; n += 500 {
			stop := mail.Item{Message: mail.Message{From: mail.ToUser, Body: strings.Repeat(c, n)}}
			all = append(all, said{order(&mail.Briefing{Agent: name, Cancel: &stop}), []speechKind{forbid}})
		}
		for _, w := range all {
			if n := utf8.RuneCountInString(w.text); n == 0 || n > MaxText {
				t.Errorf("%d characters of %q", n, c)
			}
			for _, client := range Clients() {
				for _, kind := range w.kinds {
					a := client.answer(&Event{Client: client.Name, Name: "Stop"}, speech{kind, w.text, ""})
					if n := len(a.Out) + len(a.Err); n > budget {
						t.Errorf("%s is handed %d bytes of %q", client.Name, n, c)
					}
				}
			}
		}
	}
}
