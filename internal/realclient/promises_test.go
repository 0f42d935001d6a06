package realclient

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/realclient/model"
)

// letter is a message sent in promises, with its sender's answer.
type letter struct {
	id       mail.ID
	typ      mail.Type
	from     string // "user" or "agent"
	sentence string // as a person reads it
	wake     string
	sees     string
}

// promisedTypes are the types whose promises are tried. A cancel has a scenario of its own.
func promisedTypes() []mail.Type {
	return []mail.Type{mail.TaskAssigned, mail.TaskDone, mail.ReviewRequest, mail.ReviewResult, mail.Question,
		mail.Answer, mail.Status, mail.Custom}
}

// letters sends a message of each type from the person and from an agent.
func (l *lab) letters() (out []letter) {
	l.t.Helper()
	for _, from := range []string{"user", "agent"} {
		for _, typ := range promisedTypes() {
			out = append(out, l.letter(from, typ))
		}
	}
	return out
}

func (l *lab) letter(from string, typ mail.Type) letter {
	l.t.Helper()
	args := []string{"--type", string(typ)}
	if typ == mail.ReviewResult {
		args = append(args, "--metadata", `{"verdict":"approved"}`)
	}
	if from == "agent" {
		args = append(args, "--as", "bob")
	}
	l.letterNumber++ // the same text twice would be the same message
	body := fmt.Sprintf("a %s of the %s's, number %d", typ, from, l.letterNumber)
	args = append([]string{"send", "--to", string(l.agent), "--body", body}, args...)
	sent := ask[mail.Sent](l, args...)
	d := sent.Recipients[0]
	return letter{sent.ID, typ, from, d.Awaits(), d.Wake, d.Sees}
}

// promises: the answer to a send says truly what the next requests contain, for each type, from the person and from
// an agent, before a session, while the agent works and while it is idle. docs/clients.md has the table of results.
func promises(t *testing.T, l *lab) {
	l.install()
	l.shell()
	l.pp("agents", "register", "bob")
	l.pp("agents", "register", string(l.agent))
	before := l.letters()
	w := l.tui()
	tool, open := l.gate("gate")
	w.prompt("hello one " + tool + " [[say bye]]")
	first := l.request("hello one")
	l.nextTurn(first, before, "no session yet")

	l.began("gate")
	working := l.letters()
	open()
	l.until("the agent is idle", func() bool { return l.state(l.agent) == mail.Idle })
	for _, r := range l.model.Requests() {
		for i := range working {
			if m := &working[i]; m.wake != mail.WakeTurnEnd && r.Has(string(m.id)) {
				t.Errorf("%q of a %s from the %s at work: request %d of that turn has it",
					m.sentence, m.typ, m.from, r.N)
			}
		}
	}
	for i := range working {
		if m := &working[i]; m.wake == mail.WakeTurnEnd {
			l.hasOnce(l.request("hello one", string(m.id)), m, "it works")
		}
	}
	w.prompt("hello two [[say bye]]")
	l.nextTurn(l.request("hello two"), slices.DeleteFunc(slices.Clone(working), func(m letter) bool {
		return m.wake == mail.WakeTurnEnd
	}), "it works")
	l.until("the agent is idle", func() bool { return l.state(l.agent) == mail.Idle })

	var idle, waits []letter
	for _, from := range []string{"user", "agent"} {
		for _, typ := range promisedTypes() {
			m := l.letter(from, typ)
			idle = append(idle, m)
			if m.wake == mail.WakeNone || m.wake == mail.WakeNoDoor {
				waits = append(waits, m)
				continue
			}
			r := l.request(string(m.id)) // no one types
			l.hasOnce(r, &m, "it is idle")
			l.nextTurn(r, waits, "it is idle")
			waits = nil
			l.rested(r)
		}
	}
	w.prompt("hello three [[say bye]]")
	l.nextTurn(l.request("hello three"), waits, "it is idle")
	seen.promise(l, map[string][]letter{"no session yet": before, "it works": working, "it is idle": idle})
}

// rested waits until the agent is idle after the turn of a request. Some clients report a turn's beginning late.
func (l *lab) rested(r model.Request) {
	l.t.Helper()
	l.until("the agent is idle again", func() bool {
		return slices.ContainsFunc(l.agents(), func(a mail.Agent) bool {
			return a.Name == l.agent && a.State == mail.Idle && a.Since.Std().After(r.At)
		})
	})
}

// nextTurn checks that the first request of a turn contains the promised mail.
func (l *lab) nextTurn(r model.Request, letters []letter, when string) {
	l.t.Helper()
	counted := 0
	for i := range letters {
		m := &letters[i]
		if m.typ == mail.Status {
			counted++
			if r.Has(string(m.id)) {
				l.t.Errorf("%s, %q: request %d has the %s from the %s", when, m.sentence, r.N, m.typ, m.from)
			}
			continue
		}
		l.hasOnce(r, m, when)
	}
	line, before := fmt.Sprintf("%d new of type status", counted), 0
	for _, old := range l.model.Requests() {
		if old.N < r.N && len(old.Tools) > 0 {
			before = max(before, old.Copies(line)) // still part of the conversation
		}
	}
	if n := r.Copies(line); counted > 0 && n != before+1 {
		l.t.Errorf("%s: request %d says %d times that there are %d of type status, and those before %d times",
			when, r.N, n, counted, before)
	}
}

func (l *lab) hasOnce(r model.Request, m *letter, when string) {
	l.t.Helper()
	if n := r.Copies(string(m.id)); n != 1 {
		l.t.Errorf("%s, %q: request %d has the %s from the %s %d times", when, m.sentence, r.N, m.typ, m.from, n)
	}
}

// promiseKey is a cell of the table of promises: a client, a moment, a type and a sender.
type promiseKey struct{ title, moment, typ, from string }

// promise records what a client's senders were told.
func (s *sightings) promise(l *lab, found map[string][]letter) {
	if l.t.Failed() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.promises == nil {
		s.promises = map[promiseKey]string{}
	}
	for moment, letters := range found {
		for _, m := range letters {
			s.promises[promiseKey{l.client.title, moment, string(m.typ), m.from}] = m.sentence
		}
	}
}

// allPromise reports whether promises were tried for every client that can be told of mail.
func (s *sightings) allPromise() bool {
	for _, c := range clients() {
		if c.lacks["promises"] == "" &&
			!slices.ContainsFunc(keysOf(s.promises), func(k promiseKey) bool { return k.title == c.title }) {
			return false
		}
	}
	return true
}

// promiseTable draws the promises, as letters that stand for the sentences; those that several clients share are
// drawn once.
func promiseTable(all map[promiseKey]string) string {
	var titles []string
	for _, c := range clients() {
		if slices.ContainsFunc(keysOf(all), func(k promiseKey) bool { return k.title == c.title }) {
			titles = append(titles, c.title)
		}
	}
	var b strings.Builder
	var sentences legend
	b.WriteString("| " + strings.Join(append([]string{"type", "from"}, promiseMoments()...), " | ") + " |\n")
	b.WriteString("|" + strings.Repeat("---|", 2+len(promiseMoments())) + "\n")
	for _, typ := range promisedTypes() {
		for _, from := range []string{"user", "agent"} {
			row := []string{string(typ), from}
			for _, moment := range promiseMoments() {
				row = append(row, sentences.cell(all, titles, promiseKey{"", moment, string(typ), from}))
			}
			b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		}
	}
	for i, sentence := range sentences {
		b.WriteString("\n" + letterOf(i) + ": " + sentence + "  ")
	}
	return b.String() + "\n\nHeld in the requests of " + strings.Join(titles, ", ") + ".\n"
}

// legend is the sentences in order of their letters.
type legend []string

func letterOf(i int) string { return string(rune('a' + i)) }

func (l *legend) letter(sentence string) string {
	i := slices.Index(*l, sentence)
	if i < 0 {
		i = len(*l)
		*l = append(*l, sentence)
	}
	return letterOf(i)
}

func promiseMoments() []string { return []string{"no session yet", "it works", "it is idle"} }

func keysOf(all map[promiseKey]string) (keys []promiseKey) {
	for k := range all {
		keys = append(keys, k)
	}
	return keys
}

// cell says what the clients' senders were told at a moment.
func (l *legend) cell(all map[promiseKey]string, titles []string, at promiseKey) string {
	by := map[string][]string{}
	var sentences []string
	for _, title := range titles {
		at.title = title
		s := cmp.Or(all[at], "○")
		if by[s] == nil {
			sentences = append(sentences, s)
		}
		by[s] = append(by[s], title)
	}
	if len(sentences) == 1 {
		return l.letter(sentences[0])
	}
	var parts []string
	for _, s := range sentences {
		parts = append(parts, l.letter(s)+" ("+strings.Join(by[s], ", ")+")")
	}
	return strings.Join(parts, "; ")
}
