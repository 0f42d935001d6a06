package mailtest

import (
	"fmt"
	"iter"
	"os"
	"strconv"
	"time"

	"pennypost/internal/mail"
)

// Large describes a room with much mail, for benchmarks of pages and lists.
type Large struct {
	Agents, Messages int
	// Imported: all mail was imported at once from another system, sent over a year and all unread. Otherwise it
	// was sent in the last six days, and 19 of 20 messages were read.
	Imported bool
}

// LargeFromEnv returns a room with the numbers of messages and agents in PENNYPOST_BENCH_EVENTS and
// PENNYPOST_BENCH_AGENTS, or by default the arguments.
func LargeFromEnv(messages, agents int) Large {
	from := func(name string, n int) int {
		if set, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return set
		}
		return n
	}
	return Large{Messages: from("PENNYPOST_BENCH_EVENTS", messages), Agents: from("PENNYPOST_BENCH_AGENTS", agents)}
}

// Agent returns the name of the agent with this index.
func (l Large) Agent(i int) mail.Name { return mail.Name(fmt.Sprintf("agent-%d", i%l.Agents)) }

// ID returns the id of the message with this index.
func (l Large) ID(i int) mail.ID { return mail.ID(fmt.Sprintf("msg_%021d", i)) }

// Events yields the journal of such a room up to now.
func (l Large) Events(now mail.Time) iter.Seq[mail.Event] {
	age := 6 * 24 * time.Hour
	if l.Imported {
		age = 365 * 24 * time.Hour
	}
	begun := now.Add(-age)
	return func(yield func(mail.Event) bool) {
		for i := range l.Agents {
			e := mail.Event{At: begun, Agent: &mail.AgentChange{Name: l.Agent(i), State: l.state(i),
				Roles: []string{fmt.Sprint("role-", i%70)}, Tags: []string{fmt.Sprint("project:p", i%50)}}}
			if !yield(e) {
				return
			}
		}
		for i := range l.Messages {
			sent := begun.Add(age / time.Duration(l.Messages) * time.Duration(i))
			at := sent
			if l.Imported {
				at = now
			}
			m := l.message(i, sent)
			if !yield(mail.Event{At: at, Message: m}) {
				return
			}
			if reader, ok := readerOf(m); ok && !l.Imported && i%20 != 0 &&
				!yield(mail.Event{At: at, Receipt: &mail.Receipt{Message: m.ID, Reader: reader,
					Mark: mail.MarkRead}}) {
				return
			}
		}
	}
}

// state distributes the states: a few agents work, some are idle, most are gone.
func (l Large) state(i int) mail.State {
	switch {
	case i%100 == 0:
		return mail.Working
	case i%10 == 0:
		return mail.Idle
	}
	return mail.Gone
}

func (l Large) message(i int, sent mail.Time) *mail.Message {
	types := []mail.Type{mail.TaskAssigned, mail.TaskDone, mail.Status, mail.Custom}
	m := &mail.Message{ID: l.ID(i), Type: types[i%len(types)], From: mail.AgentAddress(l.Agent(i)), Sent: sent,
		To:      []mail.Address{mail.AgentAddress(l.Agent(i*7 + 1))},
		Subject: fmt.Sprint("subject ", i), Body: fmt.Sprint("a line of text\n\nmore of it ", i)}
	switch {
	case i%5 == 0:
		m.To = []mail.Address{mail.ToUser}
	case i%500 == 1:
		m.To = []mail.Address{mail.Address(fmt.Sprint("project:p", i%50))}
	case i%100 == 2:
		m.To = []mail.Address{mail.RoleAddress(fmt.Sprint("role-", i%70))}
	case i%1000 == 3:
		m.Type = mail.Question
	case i%10_000 == 4:
		m.To = []mail.Address{mail.ToAll}
	case i%10 == 6:
		m.ReplyTo, m.Thread = l.ID(i-1), l.ID(i-1)
	}
	return m
}

// readerOf returns the reader of a message to one recipient.
func readerOf(m *mail.Message) (mail.Address, bool) {
	kind := m.To[0].Kind()
	return m.To[0], kind == mail.ToAgent || kind == mail.ToPerson
}
