package door

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/office/wake"
	"pennypost/internal/office/wake/codextest"
	"pennypost/internal/office/wake/sessions"
)

const thread = "0199a213-81c0-7800-8aa1-bbab2a035a53"

// codexDoor returns a door to a session of Codex, with the test binary as codex, and the file that it may write.
func codexDoor(t *testing.T, kind string, with func(*sessions.Session)) (*Codex, string) {
	t.Helper()
	x, file := command(t, kind)
	s := sessions.Session{Room: "lab", Agent: "小克", Client: "codex", ID: thread, Dir: x.Dir, Version: "0.169.0",
		Home: filepath.Join(x.Dir, "codex")}
	if with != nil {
		with(&s)
	}
	l := new(sessions.List)
	l.Put(s)
	return &Codex{Sessions: l, Binary: x.Argv[0], Env: append(x.Env, "GORACE=atexit_sleep_ms=0"),
		Timeout: 30 * time.Second}, file
}

func TestCodex(t *testing.T) {
	r := testRing()
	for _, v := range []string{"0.169.0", "0.149.0", "", "codex-cli"} {
		c, file := codexDoor(t, "codex", func(s *sessions.Session) { s.Version = v })
		if err := c.Ring(t.Context(), r); err != nil {
			t.Fatalf("%q: Ring = %v", v, err)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := c.Sessions.Get("lab", "小克")
		want := fmt.Sprintf("args %q\ndir %s\nhome %s\nPENNYPOST_AGENT=somebody-else\n",
			[]string{"queue", "--thread", thread, "--message", r.Pointer()}, s.Dir, s.Home)
		if string(got) != want { // no variable of the ring: processes that codex starts may outlive it
			t.Errorf("%q: codex was run with\n%s, want\n%s", v, got, want)
		}
	}
}

func TestCodexFails(t *testing.T) {
	check := func(what, kind, want string, with func(*sessions.Session)) {
		t.Helper()
		c, file := codexDoor(t, kind, with)
		switch what {
		case "missing":
			c.Binary = "no-such-codex"
		case "hangs":
			c.Timeout = 200 * time.Millisecond
		}
		err := c.Ring(t.Context(), testRing())
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, wake.ErrOff) {
			t.Errorf("%s: Ring = %v, want %q", what, err, want)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s: codex was run", what)
		}
	}
	check("fails", "fail", "0.149.0: exit status 3: no such", nil)
	check("hangs", "sleep", "killed because it did not end within 200ms", nil)
	check("missing", "report", "codex not found", nil)
	check("a name", "report", "invalid thread id", func(s *sessions.Session) { s.ID = "--last" })
	check("old", "report", "has no queue", func(s *sessions.Session) { s.Version = "0.148.2" })
	check("claude", "report", "runs in claude, not in codex", func(s *sessions.Session) { s.Client = "claude" })
	check("another agent", "report", "no live session", func(s *sessions.Session) { s.Agent = "x" })
}

// fakeThread is a Codex thread and its queue, as seen in 0.169.0: an idle thread begins with a message immediately
// unless the queue is paused.
type fakeThread struct {
	mu     sync.Mutex
	Status string   // notLoaded, idle or active
	Still  bool     // a turn was interrupted
	Refuse bool     // the queue is not started on request
	Queue  []string // texts
	Begun  []string // texts that began turns
	added  int
}

func (f *fakeThread) answer(method string, params map[string]any) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := func() int {
		id, _ := params["queuedSubmissionId"].(string)
		return slices.IndexFunc(f.Queue, func(q string) bool { return strings.HasPrefix(q, id+" ") })
	}
	take := func(i int) string {
		_, text, _ := strings.Cut(f.Queue[i], " ")
		f.Queue = slices.Delete(f.Queue, i, i+1)
		return text
	}
	switch method {
	case "initialize":
		return map[string]any{}, nil
	case "thread/read":
		return map[string]any{"thread": map[string]any{"status": map[string]any{"type": f.Status}}}, nil
	case "thread/queue/list":
		data := []any{}
		for _, q := range f.Queue {
			id, text, _ := strings.Cut(q, " ")
			data = append(data, map[string]any{"id": id, "input": []any{map[string]any{"type": "text", "text": text}}})
		}
		return map[string]any{"data": data, "nextCursor": nil}, nil
	case "thread/queue/add":
		input := params["input"].([]any)[0].(map[string]any)
		f.added++
		id := fmt.Sprintf("q%d", f.added)
		f.Queue = append(f.Queue, id+" "+input["text"].(string))
		if f.Status == "idle" && !f.Still {
			f.Begun = append(f.Begun, take(0))
		}
		return map[string]any{"queuedSubmission": map[string]any{"id": id}}, nil
	case "thread/queue/start":
		i := at()
		if i < 0 || f.Status != "idle" || f.Refuse {
			return nil, errors.New("resume the thread before starting a queued message")
		}
		f.Still = false
		f.Begun = append(f.Begun, take(i))
		return map[string]any{"turn": map[string]any{}}, nil
	case "thread/queue/delete":
		i := at()
		if i >= 0 {
			take(i)
		}
		return map[string]any{"deleted": i >= 0}, nil
	}
	return nil, fmt.Errorf("unknown method %s", method)
}

// reply answers one message; nil if it needs no answer.
func (f *fakeThread) reply(text []byte) [][]byte { return codextest.Reply(text, f.answer) }

// serve runs the app-server that the sessions of a home share.
func (f *fakeThread) serve(t *testing.T, home string) {
	t.Helper()
	codextest.Serve(t, home, f.reply)
}

// runFakeCodex is the codex that a door runs: its app-server, for the thread in the file, or its command queue, which
// records its arguments.
func runFakeCodex() {
	file := os.Getenv("WAKE_FILE")
	if os.Args[1] == "app-server" {
		f := &fakeThread{}
		if text, err := os.ReadFile(file + ".thread"); err == nil {
			_ = json.Unmarshal(text, f)
		}
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			for _, out := range f.reply(in.Bytes()) {
				fmt.Printf("%s\n", out)
			}
		}
		text, _ := json.Marshal(f)
		_ = os.WriteFile(file+".thread", text, 0o600)
		return
	}
	dir, _ := os.Getwd()
	text := fmt.Sprintf("args %q\ndir %s\nhome %s\n", os.Args[1:], dir, os.Getenv("CODEX_HOME"))
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "PENNYPOST_") {
			text += v + "\n"
		}
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		os.Exit(1)
	}
}

// Sessions that share an app-server are rung through it: a paused queue is started, a message of an earlier ring is
// replaced, and a message that cannot be started is withdrawn, so that the next door is tried.
func TestCodexShared(t *testing.T) {
	r := testRing()
	text, old := r.Pointer(), "q0 "+strings.Replace(r.Pointer(), "2 unread", "1 unread", 1)
	for _, tt := range []struct {
		name         string
		thread       *fakeThread
		queue, begun []string
		fails        string
	}{
		{name: "idle", thread: &fakeThread{Status: "idle"}, begun: []string{text}},
		{name: "broken off", thread: &fakeThread{Status: "idle", Still: true, Queue: []string{"q9 the person's"}},
			queue: []string{"q9 the person's"}, begun: []string{text}},
		{name: "rung before", thread: &fakeThread{Status: "idle", Still: true,
			Queue: []string{old, "q9 the person's"}},
			queue: []string{"q9 the person's"}, begun: []string{text}},
		{name: "working", thread: &fakeThread{Status: "active", Queue: []string{old}}, queue: []string{"q1 " + text}},
		{name: "refused", thread: &fakeThread{Status: "idle", Still: true, Refuse: true}, queue: []string{},
			fails: "is paused, and Codex does not resume it: resume the thread"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, file := codexDoor(t, "codex", nil)
			s, _ := c.Sessions.Get("lab", "小克")
			tt.thread.serve(t, s.Home)
			err := c.Ring(t.Context(), r)
			if (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("Ring = %v, want %q", err, tt.fails)
			}
			if diff := cmp.Diff(tt.queue, slices.Clone(tt.thread.Queue)); diff != "" &&
				len(tt.queue)+len(tt.thread.Queue) > 0 {
				t.Errorf("queued (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.begun, tt.thread.Begun); diff != "" {
				t.Errorf("begun (-want +got):\n%s", diff)
			}
			if _, err := os.Stat(file); err == nil {
				t.Error("codex queue was run too")
			}
		})
	}
}

// A session outside the shared app-server is a process of its own. If earlier messages are still queued for it, its
// queue is paused: they are removed, and the ring has failed.
func TestCodexStandsStill(t *testing.T) {
	r := testRing()
	c, file := codexDoor(t, "codex", nil)
	s, _ := c.Sessions.Get("lab", "小克")
	(&fakeThread{Status: "notLoaded"}).serve(t, s.Home)
	left, err := json.Marshal(&fakeThread{Queue: []string{"q1 " + r.Pointer(), "q2 the person's",
		"q3 " + r.Pointer()}})
	if err == nil {
		err = os.WriteFile(file+".thread", left, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Ring(t.Context(), r); err == nil || !strings.Contains(err.Error(), "no ring is left") {
		t.Errorf("Ring = %v, want that it stands still", err)
	}
	var f struct{ Queue []string }
	text, _ := os.ReadFile(file + ".thread")
	if err := json.Unmarshal(text, &f); err != nil || !slices.Equal(f.Queue, []string{"q2 the person's"}) {
		t.Errorf("left in the queue: %q, %v", f.Queue, err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("codex queue was run")
	}
	if err := c.Ring(t.Context(), r); err != nil {
		t.Errorf("the next Ring = %v", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error("codex queue was not run")
	}
	s.Broken = true
	c.Sessions.Put(s)
	if err := c.Ring(t.Context(), r); err == nil || !strings.Contains(err.Error(), "no ring is left") {
		t.Errorf("Ring after Esc = %v, want that it stands still", err)
	}
}

// A door is promised if a codex can be run, or the session shares an app-server.
func TestCodexLeads(t *testing.T) {
	c, _ := codexDoor(t, "codex", nil)
	if !leadsFor(c.Sessions, c, "lab", "小克") {
		t.Error("with a codex: no door")
	}
	s, _ := c.Sessions.Get("lab", "小克")
	s.Broken = true
	if c.Sessions.Put(s); leadsFor(c.Sessions, c, "lab", "小克") {
		t.Error("a queue that stands still: a door")
	}
	c.Binary, s.Broken = "no-such-codex", false
	if c.Sessions.Put(s); leadsFor(c.Sessions, c, "lab", "小克") {
		t.Error("without a codex: a door")
	}
	(&fakeThread{Status: "idle"}).serve(t, s.Home)
	if !leadsFor(c.Sessions, c, "lab", "小克") {
		t.Error("with a shared app-server: no door")
	}
	c.Sessions.Drop("lab", "小克", thread)
	if leadsFor(c.Sessions, c, "lab", "小克") || leadsFor(c.Sessions, c, "lab", "x") {
		t.Error("without a session: a door")
	}
}
