package acp

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"io"

	"go.uber.org/goleak"

	"pennypost/internal/base/process"
	"pennypost/internal/office/acp/acptest"
)

func TestMain(m *testing.M) {
	acptest.Main()
	goleak.VerifyTestMain(m)
}

// testTurn returns a turn of an agent that behaves as how says, and a function that reads the agent's notes.
func testTurn(t *testing.T, how string) (*Turn, func() string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "notes")
	return &Turn{Argv: acptest.Command(t, how, file), Env: append(os.Environ(), "PENNYPOST_AGENT=ann"), Dir: dir,
			Servers: []Server{{Name: "pennypost", Program: "/no/such/program", Args: []string{"mcp"},
				Env: map[string]string{"B": "2", "A": "1"}}},
			Prompt:  func(loaded bool) string { return map[bool]string{true: "again", false: "first"}[loaded] },
			Timeout: 20 * time.Second},
		func() string {
			notes, _ := os.ReadFile(file)
			return string(notes)
		}
}

func TestRun(t *testing.T) {
	for how, want := range map[string]string{"new": "", "noise": ""} {
		turn, notes := testTurn(t, how)
		session, err := turn.Run(t.Context())
		if session != "s1" || err != nil {
			t.Fatalf("%s: Run = %q, %v, want s1%s", how, session, err, want)
		}
		for _, want := range []string{
			"dir " + turn.Dir + "\n", "PENNYPOST_AGENT=ann\n", `"protocolVersion":1`,
			`"clientCapabilities":{"auth":{},"fs":{}},`,
			`session/new {"cwd":"` + turn.Dir + `","mcpServers":[{"args":["mcp"],"command":"/no/such/program",` +
				`"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],"name":"pennypost"}]}`,
			`"text":"first"`, "input ended\n",
		} {
			if !strings.Contains(notes(), want) {
				t.Errorf("%s: the agent was not told %s:\n%s", how, want, notes())
			}
		}
	}
}

// A session is resumed if the agent can do that, otherwise a new one begins.
func TestRunLoads(t *testing.T) {
	for how, want := range map[string]struct{ session, text, not string }{
		"replay":    {"s0", `"text":"again"`, "session/new"},
		"old":       {"s1", `"text":"first"`, "session/load"},
		"forgetful": {"s1", `"text":"first"`, "no mail"},
	} {
		turn, notes := testTurn(t, how)
		turn.Load = "s0"
		session, err := turn.Run(t.Context())
		if session != want.session || err != nil || !strings.Contains(notes(), want.text) ||
			strings.Contains(notes(), want.not) {
			t.Errorf("%s: Run = %q, %v:\n%s", how, session, err, notes())
		}
	}
}

// An agent's errors are reported in words, and the agent is ended.
func TestRunFails(t *testing.T) {
	for how, want := range map[string]string{
		"version":  "speaks ACP version 99, but Pennypost speaks version 1",
		"auth":     "needs a login: start it in a terminal and log in there",
		"nameless": "opened a session with an id of 0 bytes; the id must have 1 to 1024",
		"refuse":   "has refused the prompt",
		"broken":   "has stopped its turn early",
		"garbage":  "wrote 1001 lines that are not ACP messages",
		"long":     "wrote a line of more than 4 MiB, which is not an ACP message",
		"crash":    "ended in the middle of its turn: exit status 3: no such  [31mmodel\ufffd",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			turn, notes := testTurn(t, how)
			var program string
			turn.Started = func(is string) { program = is }
			if _, err := turn.Run(t.Context()); err == nil || err.Error() != want {
				t.Errorf("Run = %v, want %s\n%s", err, want, notes())
			}
			if runtime.GOOS == "linux" && (program == "" || process.Alive(program)) {
				t.Errorf("the program %q lives on", program)
			}
		})
	}
	turn, _ := testTurn(t, "turn")
	turn.Argv = []string{"no-such-program"}
	if _, err := turn.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "could not be run") {
		t.Errorf("Run of what is not there = %v", err)
	}
	turn.Argv = []string{os.Args[0], "-test.run=^$"} // exits immediately, and does not speak ACP
	if _, err := turn.Run(t.Context()); err == nil ||
		!strings.HasPrefix(err.Error(), "ended in the middle of its turn: exit status 0") {
		t.Errorf("Run of another program = %v", err)
	}
}

// An agent that does not end its turn in time is told to, and then killed.
func TestRunTimesOut(t *testing.T) {
	for _, how := range []string{"silent", "hang", "deaf"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			turn, notes := testTurn(t, how)
			turn.Timeout = 2 * time.Second
			began := time.Now()
			_, err := turn.Run(t.Context())
			if err == nil || !strings.HasPrefix(err.Error(), "was stopped because its turn took longer than 2s") {
				t.Errorf("Run = %v", err)
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("Run took %s", took)
			}
			if how != "silent" && !strings.Contains(notes(), `session/cancel {"sessionId":"s1"}`) {
				t.Errorf("it was not told:\n%s", notes())
			}
		})
	}
}

// A turn is cancelled with its context, which also answers its open questions.
func TestRunCancelled(t *testing.T) {
	turn, notes := testTurn(t, "ask")
	ctx, cancel := context.WithCancel(t.Context())
	turn.Ask = func(ctx context.Context, q *Question) string {
		cancel()
		<-ctx.Done()
		return ""
	}
	if _, err := turn.Run(ctx); err == nil || err.Error() != "the turn was cancelled" {
		t.Errorf("Run = %v", err)
	}
	if !strings.Contains(notes(), `answered {"outcome":{"outcome":"cancelled"}}`) {
		t.Errorf("what it asked stands:\n%s", notes())
	}
}

func TestRunAsks(t *testing.T) {
	for option, want := range map[string]string{
		"now": `answered {"outcome":{"optionId":"now","outcome":"selected"}}`,
		"":    `answered {"outcome":{"outcome":"cancelled"}}`,
	} {
		turn, notes := testTurn(t, "ask")
		turn.Ask = func(_ context.Context, q *Question) string {
			if len(q.Options) != 3 || q.Options[0] != (Option{"for ever", "Always allow", "allow_always"}) ||
				!strings.Contains(string(q.Tool), `"rawInput":{"command":"make deploy"}`) {
				t.Errorf("it asks %s %+v", q.Tool, q.Options)
			}
			return option
		}
		if _, err := turn.Run(t.Context()); err != nil || !strings.Contains(notes(), want) {
			t.Errorf("Run = %v, want that it is %s:\n%s", err, want, notes())
		}
	}
}

// An agent that says nothing is given up long before the time limit of a turn.
func TestOpenTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, told := io.Pipe()
		said, out := io.Pipe()
		go func() { _, _ = io.Copy(io.Discard, in) }()
		p := &program{in: told, out: newLines(said)}
		c := newConversation(t.Context(), &Turn{Dir: "/x"}, p)
		began := time.Now()
		_, err := c.open(t.Context())
		if err == nil || err.Error() != "opened no session within 1m30s" || time.Since(began) != openTime {
			t.Errorf("open = %v after %s", err, time.Since(began))
		}
		c.close()
		out.Close()
		told.Close()
		<-c.conn.Done()
	})
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"id\":1,\"result\":{}}\nnoise\n{\"method\":\"session/update\"}\n{\"torn"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := newLines(strings.NewReader(string(text)))
		close(l.ready)
		got, err := io.ReadAll(l)
		if err != nil && err != l.err {
			t.Errorf("ReadAll = %v", err)
		}
		if len(got) > len(text) || strings.Contains(string(got), "\n{\"torn") {
			t.Errorf("%q becomes %q", text, got)
		}
	})
}

func FuzzQuestion(f *testing.F) {
	f.Add([]byte(`{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"a","kind":"allow_once"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if q, _ := readQuestion(text); q != nil && (len(q.Options) > maxOptions || q.Tool[0] != '{') {
			t.Errorf("readQuestion(%q) = %+v", text, q)
		}
	})
}
