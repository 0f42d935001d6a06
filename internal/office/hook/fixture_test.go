package hook_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"pennypost/internal/front/hookpipe"
	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/hook/hooktest"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
	"pennypost/internal/wire"
)

// fixture is a room in memory, with hooks that run in this process.
type fixture struct {
	testing.TB
	store journaltest.Store
	room  *mailroom.Room

	down     bool // no post office answers
	shut     bool // the client reads no output
	unmarked bool // the post office stops between the output and the marks
}

func newFixture(t testing.TB) *fixture {
	b := &fixture{TB: t}
	b.open()
	t.Cleanup(func() { b.room.Close() })
	return b
}

func (b *fixture) open() {
	b.Helper()
	var err error
	b.room, err = mailroom.Open(context.Background(), "lab", b.store.Open(),
		mailroom.Options{Limits: policy.Limits{RepeatWindow: -1, Exchanges: -1, PerMinute: -1, Depth: -1}})
	b.must(err)
}

// restart reopens a room as after kill -9.
func (b *fixture) restart() {
	b.Helper()
	b.must(b.room.Close())
	b.open()
}

func (b *fixture) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *fixture) as(n mail.Name) mail.Service { return b.room.As(n) }

// send sends a message, by default a question from the user.
func (b *fixture) send(to, body string, more ...func(*mail.Draft)) mail.ID {
	b.Helper()
	d := mail.Draft{To: mail.Recipients{to}, Type: string(mail.Question), Body: body}
	for _, f := range more {
		f(&d)
	}
	sent, err := b.as(mail.User).Send(context.Background(), d)
	b.must(err)
	return sent.ID
}

func typed(t mail.Type) func(*mail.Draft) { return func(d *mail.Draft) { d.Type = string(t) } }

func urgent(d *mail.Draft) { d.Priority = string(mail.Urgent) }

// harness returns a client with an agent of this name.
func (b *fixture) harness(c hooktest.Client, agent mail.Name, session string) *hooktest.Harness {
	return &hooktest.Harness{Client: c, Session: session, Dir: "/srv/parser",
		Run: b.runner(agent, agent+"/"+mail.Name(session))}
}

var errDown = errors.New("no post office answers")

func (b *fixture) runner(agent mail.Name, process mail.Name) hooktest.Runner {
	return b.runnerWith(agent, process, func(*hooktest.Counter) {})
}

// runnerWith is runner with a changed post office.
func (b *fixture) runnerWith(agent mail.Name, process mail.Name, change func(*hooktest.Counter)) hooktest.Runner {
	return func(client, event, stdin string) hooktest.Result {
		var out, errs bytes.Buffer
		var to io.Writer = &out
		if b.shut {
			to = shutPipe{}
		}
		p := hookpipe.Pipe{
			Hook:  wire.Hook{Client: client, Event: event, Environ: hooktest.Environ(client)},
			Stdin: strings.NewReader(stdin), Stdout: to, Stderr: &errs,
			Enter: func(bool) (hookpipe.Office, error) {
				if b.down {
					return nil, errDown
				}
				c := &hooktest.Counter{
					Process: string(process), Unmarked: b.unmarked,
					Enter: func(context.Context, *hook.Event) (*hook.Mailbox, error) {
						return &hook.Mailbox{Room: "lab", Agent: agent, As: func(n mail.Name) (hook.Service, error) {
							return b.as(n), nil
						}}, nil
					},
				}
				change(c)
				return c, nil
			},
		}
		exit := p.Run(context.Background())
		if b.shut {
			return hooktest.Result{Out: "{}"} // the output is not read
		}
		return hooktest.Result{Out: out.String(), Err: errs.String(), Exit: exit}
	}
}

// shutPipe is the output pipe of a hook whose client has exited.
type shutPipe struct{}

func (shutPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// state returns the delivery state that the sender sees for an agent.
func (b *fixture) state(id mail.ID, agent mail.Name) mail.DeliveryState {
	b.Helper()
	it, err := b.as(mail.User).Message(context.Background(), id)
	b.must(err)
	for _, d := range it.Deliveries {
		if d.Agent == agent {
			return d.State
		}
	}
	return ""
}

func (b *fixture) wantState(id mail.ID, agent mail.Name, want mail.DeliveryState) {
	b.Helper()
	if got := b.state(id, agent); got != want {
		b.Errorf("%s is %s with %s, want %s", id, got, agent, want)
	}
}

// agent returns an agent's entry in the roster.
func (b *fixture) agent(n mail.Name) mail.Agent {
	b.Helper()
	list, err := mail.Roster(context.Background(), b.as(mail.User))
	b.must(err)
	i := slices.IndexFunc(list, func(a mail.Agent) bool { return a.Name == n })
	if i < 0 {
		b.Fatalf("%s is not on the roster", n)
	}
	return list[i]
}

func (b *fixture) wantAgent(n mail.Name, want mail.State) {
	b.Helper()
	if got := b.agent(n).State; got != want {
		b.Errorf("%s is %s, want %s", n, got, want)
	}
}

// last returns and clears the newest text shown to the model, as the model reads it: Gemini CLI escapes brackets.
func last(h *hooktest.Harness) string {
	if len(h.Context) == 0 {
		return ""
	}
	text := h.Context[len(h.Context)-1]
	h.Context = h.Context[:0]
	return strings.NewReplacer("&lt;", "<", "&gt;", ">").Replace(text)
}

// wantShown checks that the newest text has exactly these messages whole, in this order.
func (b *fixture) wantShown(h *hooktest.Harness, bodies ...string) {
	b.Helper()
	text := last(h)
	whole, pointed := hooktest.Shown(text)
	at := 0
	for _, body := range bodies {
		i := strings.Index(text[at:], "\n"+body+"\n</mail-")
		if i < 0 {
			b.Errorf("%s: %q is not shown, or not in its place:\n%s", h.Client.Name, body, text)
			return
		}
		at += i
	}
	if len(whole)+len(pointed) != len(bodies) {
		b.Errorf("%s: %d messages are shown and %d pointed to, want %d:\n%s", h.Client.Name, len(whole), len(pointed),
			len(bodies), text)
	}
}

// wantSilence checks that the model was shown nothing, except that Codex's was told its name.
func (b *fixture) wantSilence(h *hooktest.Harness) {
	b.Helper()
	text := last(h)
	if h.Client.Name == "codex" && introduced().MatchString(text) {
		return
	}
	if text != "" {
		b.Errorf("%s: the model was shown:\n%s", h.Client.Name, text)
	}
}

var introduced = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^Pennypost: This session is the agent [a-z0-9-]+ in room lab\.$`)
})

func (b *fixture) wantNoFaults(h *hooktest.Harness) {
	b.Helper()
	for _, f := range h.Faults {
		b.Errorf("a hook broke the client's rules: %s", f)
	}
}

// everyClient runs a test with every client.
func everyClient(t *testing.T, f func(b *fixture, h *hooktest.Harness)) {
	for _, c := range hooktest.Clients() {
		t.Run(c.Name, func(t *testing.T) {
			b := newFixture(t)
			h := b.harness(c, "ann", "s1")
			f(b, h)
			b.wantNoFaults(h)
		})
	}
}

// takesPrompts reports whether a client accepts text with a prompt.
func takesPrompts(c hooktest.Client) bool {
	return slices.Contains([]string{"claude", "codex", "gemini", "qwen", "opencode", "pi", "copilot"}, c.Name)
}

// resume resumes a session, and begins a turn where the client drops text told at a resume.
func resume(h *hooktest.Harness) {
	h.Start("resume")
	if h.Client.Name == "qwen" || h.Client.Name == "gemini" {
		h.Prompt("go on")
	}
}

func words(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }

func numbered(prefix string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%s %d", prefix, i))
	}
	return out
}
