package hook_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/front/hookpipe"
	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/hook/hooktest"
	"pennypost/internal/wire"
)

const stop = `{"session_id":"s1","hook_event_name":"Stop","cwd":"/work"}`

// enters finds the mailbox of an event, as a post office does.
type enters = func(context.Context, *hook.Event) (*hook.Mailbox, error)

// pipe returns a hook run by a client.
func pipe(client, event string, in io.Reader, enter enters) *hookpipe.Pipe {
	return &hookpipe.Pipe{
		Hook: wire.Hook{Client: client, Event: event}, Stdin: in, Stdout: io.Discard, Stderr: io.Discard,
		Enter: func(bool) (hookpipe.Office, error) { return &hooktest.Counter{Enter: enter}, nil },
	}
}

// quiet runs a hook that must be silent and succeed, and returns the reason for its silence.
func quiet(t *testing.T, p *hookpipe.Pipe) string {
	t.Helper()
	var out, errs bytes.Buffer
	why := ""
	p.Stdout, p.Stderr = &out, &errs
	p.Debug = func(s string) { why = s }
	if exit := p.Run(context.Background()); exit != 0 || out.Len() > 0 || errs.Len() > 0 {
		t.Errorf("%s %s: exit %d, %q, %q; want silence", p.Hook.Client, p.Hook.Event, exit, &out, &errs)
	}
	return why
}

func TestSilence(t *testing.T) {
	never := func(context.Context, *hook.Event) (*hook.Mailbox, error) {
		t.Error("the post office was asked")
		return nil, errDown
	}
	for _, c := range []struct{ client, event, in string }{
		{"claude", "Stop", ""}, {"claude", "Stop", "not JSON"}, {"claude", "Stop", "[]"}, {"claude", "Stop", "{"},
		{"claude", "Stop", "\xff\xfe"}, {"claude", "Stop", "null"},
		{"claude", "Stop", "{}"}, {"claude", "Stop", `{"session_id":5,"cwd":{}}`},
		{"claude", "Stop", `{"session_id":"s1"` + strings.Repeat(" ", 20<<20) + `}`},
		{"claude", "Unheard", stop[:len(stop)-1] + `,"hook_event_name":"Unheard"}`}, {"claude", "", "{}"},
		{"nobody", "Stop", stop}, {"", "", ""},
		{"copilot", "preToolUse", "{"}, {"gemini", "BeforeTool", "{}"}, {"vscode", "Stop", "{}"},
	} {
		quiet(t, pipe(c.client, c.event, strings.NewReader(c.in), never))
	}
	for name, enter := range map[string]func(context.Context, *hook.Event) (*hook.Mailbox, error){
		"down":  func(context.Context, *hook.Event) (*hook.Mailbox, error) { return nil, errDown },
		"panic": func(context.Context, *hook.Event) (*hook.Mailbox, error) { panic("oops") },
		"no room": func(context.Context, *hook.Event) (*hook.Mailbox, error) {
			return &hook.Mailbox{As: func(mail.Name) (hook.Service, error) { return nil, errDown }}, nil
		},
		"other version": func(context.Context, *hook.Event) (*hook.Mailbox, error) {
			return &hook.Mailbox{As: func(mail.Name) (hook.Service, error) { return broken{}, nil }}, nil
		},
	} {
		if why := quiet(t, pipe("claude", "Stop", strings.NewReader(stop), enter)); why == "" {
			t.Errorf("%s: nobody can find out why", name)
		}
	}
}

// broken is a post office that returns an error to every turn.
type broken struct{ hook.Service }

func (broken) Turn(context.Context, mail.Turn) (mail.Briefing, error) {
	return mail.Briefing{}, mail.Errorf(mail.Internal, "not understood")
}

// Clients that expect an object get one, whatever fails.
func TestEmptyObject(t *testing.T) {
	for _, c := range []struct{ client, event, want string }{
		{"codex", "Stop", "{}\n"}, {"codex", "PreToolUse", ""}, {"cursor", "stop", "{}\n"},
		{"cursor", "beforeSubmitPrompt", "{\"continue\":true}\n"}, {"agy", "PreInvocation", "{}\n"},
		{"agy", "Stop", "{}\n"},
	} {
		for _, in := range []string{"?", "{}"} {
			var out bytes.Buffer
			p := pipe(c.client, c.event, strings.NewReader(in), nil)
			p.Stdout = &out
			if exit := p.Run(context.Background()); exit != 0 || out.String() != c.want {
				t.Errorf("%s %s after %s: exit %d, %q, want %q", c.client, c.event, in, exit, &out, c.want)
			}
		}
	}
}

// A hook finishes within its deadline, even if its input does not come or the post office does not answer.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		in, out := io.Pipe()
		quiet(t, pipe("claude", "Stop", in, nil))
		out.Close()
		if took := time.Since(began); took > hookpipe.Deadline {
			t.Errorf("waited %s for input", took)
		}
		began = time.Now()
		slow := func(ctx context.Context, _ *hook.Event) (*hook.Mailbox, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		quiet(t, pipe("claude", "Stop", strings.NewReader(stop), slow))
		if took := time.Since(began); took > hookpipe.Deadline {
			t.Errorf("waited %s for the post office", took)
		}
	})
}

// A hook does not wait for the end of its input: some clients leave it open.
func TestOpenInput(t *testing.T) {
	in, out := io.Pipe()
	go io.WriteString(out, stop)
	entered := false
	quiet(t, pipe("claude", "Stop", in, func(context.Context, *hook.Event) (*hook.Mailbox, error) {
		entered = true
		return nil, errors.New("enough")
	}))
	if !entered {
		t.Error("the event was not read")
	}
}

// Client input is understood in both casings, and takes precedence over the client's configuration.
func TestCasings(t *testing.T) {
	for _, c := range []struct{ in, client, session, dir string }{
		{`{"session_id":"s1","cwd":"/work","hook_event_name":"Stop"}`, "claude", "s1", "/work"},
		{`{"sessionId":"s1","cwd":"/work","hookEventName":"Stop","timestamp":"t"}`, "vscode", "s1", "/work"},
		{`{"session_id":"s1","cwd":"/work","hook_event_name":"Stop","timestamp":"t","stop_reason":"end_turn"}`,
			"copilot", "s1", "/work"},
	} {
		var got hook.Event
		quiet(t, pipe("claude", "SubagentStop", strings.NewReader(c.in),
			func(_ context.Context, e *hook.Event) (*hook.Mailbox, error) {
				got = *e
				return nil, errDown
			}))
		if got.Client != c.client || got.Session.ID != c.session || got.Session.Dir != c.dir ||
			got.Moment != mail.TurnEnd {
			t.Errorf("%s is read as %+v", c.in, got)
		}
	}
}

// A session's credentials are not printed with it.
func TestSecret(t *testing.T) {
	s := hook.Session{ID: "s1", Token: "hush"}
	var b bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		fmt.Fprintf(&b, verb+verb, s, s.Token)
	}
	if strings.Contains(b.String(), "hush") {
		t.Errorf("printed: %s", &b)
	}
}

// FuzzRun checks that no input makes a hook disturb its client.
func FuzzRun(f *testing.F) {
	for _, c := range hooktest.Clients() {
		h := hooktest.Harness{Client: c, Session: "s1", Dir: "/work",
			Run: func(client, event, stdin string) hooktest.Result {
				f.Add(client, event, stdin)
				return hooktest.Result{}
			}}
		h.Start("startup")
		h.Prompt("x")
		h.Tool("Bash", "pennypost inbox")
		h.End()
		h.Exit("other")
	}
	f.Fuzz(func(t *testing.T, client, event, stdin string) {
		p := pipe(client, event, strings.NewReader(stdin), func(_ context.Context, e *hook.Event) (*hook.Mailbox,
			error) {
			if e.Session.ID == "" || e.Moment == "" {
				t.Errorf("an event without session or moment: %+v", e)
			}
			return nil, errDown
		})
		p.Debug = func(why string) {
			if strings.Contains(why, "runtime error") {
				t.Error(why)
			}
		}
		if exit := p.Run(context.Background()); exit != 0 {
			t.Errorf("exit %d", exit)
		}
	})
}
