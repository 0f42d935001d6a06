package realclient

import (
	"fmt"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// acpDoor gives the agent a door over ACP: its client with some arguments.
func (l *lab) acpDoor(args []string) {
	l.t.Helper()
	l.write(l.dir+"/pp/config.toml", fmt.Sprintf("[room.wake.%s]\nacp = [%q, %q]\ndir = %q\nwhen = \"gone\"\n",
		l.agent, l.version.program, args[0], l.project))
}

// overACP: an agent that never had a session, in a client that Pennypost does not know, is started for its mail,
// reads it with its tools, is at work meanwhile, asks its person at the desk, and ends; the next mail continues the
// session.
func overACP(args ...string) func(*testing.T, *lab) {
	return func(t *testing.T, l *lab) {
		l.acpDoor(args)
		l.startOffice()
		l.pp("agents", "register", string(l.agent))
		for i, body := range []string{"ZEBRA over ACP", "LION over ACP"} {
			file := fmt.Sprint("allowed-", i)
			sent := ask[mail.Sent](l, "send", "--to", string(l.agent), "--type", "question", "--body",
				body+" [[sh touch "+file+"]] [[say done]]")
			if sent.Recipients[0].Wake != "acp" {
				t.Errorf("the sender is told %+v", sent.Recipients)
			}
			l.allowing("the command has run", func() bool { return l.exists(file) })
			r := l.request("Notice from the post office", body)
			if !fenced(r, body) {
				t.Errorf("request %d has %q outside of a fence", r.N, body)
			}
			if r.Copies("Notice from the post office") != i+1 {
				t.Errorf("the session did not go on\n%s", l.scene())
			}
			l.presented(sent.ID)
			l.until("it has ended", func() bool { return l.state(l.agent) == mail.Gone })
			l.pp("mark", "--as", string(l.agent), "--read", "--all")
			if l.client.name == "gemini" && i == 0 {
				// Gemini CLI 0.61.0 empties the file of a session that is loaded in the minute it began
				minute := r.At.Minute()
				l.until("another minute has begun", func() bool { return time.Now().Minute() != minute })
			}
		}
		if len(l.agents()) != 1 || len(l.cards()) > 0 {
			t.Errorf("the roster has %+v, the desk %+v", l.agents(), l.cards())
		}
	}
}

// overACPInstalled: the same holds in a client with our hooks and tools, and its session is one agent.
func overACPInstalled(args ...string) func(*testing.T, *lab) {
	return func(t *testing.T, l *lab) {
		l.pp("install", l.client.name)
		l.acpDoor(args)
		l.startOffice()
		l.pp("agents", "register", string(l.agent))
		for _, body := range []string{"ZEBRA over ACP", "LION over ACP"} {
			id := l.send(l.agent, body+" [[say done]]")
			l.allowing("it is told", func() bool {
				for _, r := range l.model.Requests() {
					if r.Has(body) {
						return true
					}
				}
				return false
			})
			l.told(l.request("Notice from the post office", body), body)
			l.presented(id)
			l.until("it has ended", func() bool { return l.state(l.agent) == mail.Gone })
		}
		if len(l.agents()) != 1 {
			t.Errorf("the roster has %+v", l.agents())
		}
	}
}

// allowing waits until a condition holds, and meanwhile allows all that the agent asks.
func (l *lab) allowing(what string, holds func() bool) {
	l.t.Helper()
	worked, asked := false, 0
	l.until(what, func() bool {
		for _, c := range l.cards() {
			if c.Here && c.Agent == l.agent {
				l.pp("answer", string(c.ID), "allow")
				asked++
			}
		}
		worked = worked || l.state(l.agent) == mail.Working || l.state(l.agent) == mail.Asking
		return holds()
	})
	if !worked {
		l.t.Errorf("it was never seen at work; it has asked %d times", asked)
	}
}
