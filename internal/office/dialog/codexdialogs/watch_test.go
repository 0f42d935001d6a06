package codexdialogs

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialog"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/wake/codextest"
	"pennypost/internal/office/wake/sessions"
)

// server is an app-server whose thread t is at a dialog.
type server struct {
	mu      sync.Mutex
	waits   bool
	replies []string // to its requests
	calls   []string // the methods called
	joined  []string // additional messages to a client that joins
	settled []string // its messages after a reply
	other   bool     // the thread runs in another process
}

// say answers one message.
func (s *server) say(text []byte) [][]byte {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Result json.RawMessage `json:"result"`
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if json.Unmarshal(text, &m) != nil || m.ID == nil {
		return nil
	}
	if m.Method == "" {
		s.replies = append(s.replies, string(m.ID)+" "+string(m.Result))
		return texts(s.settled)
	}
	s.calls = append(s.calls, m.Method)
	answer := func(result string) []string { return []string{`{"id":` + string(m.ID) + `,"result":` + result + `}`} }
	switch m.Method {
	case "thread/read":
		is := `{"type":"idle"}`
		switch {
		case s.other:
			is = `{"type":"notLoaded"}`
		case s.waits:
			is = `{"type":"active","activeFlags":["waitingOnApproval"]}`
		}
		return texts(answer(`{"thread":{"id":"t","status":` + is + `}}`))
	case "thread/resume":
		return texts(append(answer(`{"initialTurnsPage":{"data":[{"items":[{"type":"fileChange","id":"call_1",`+
			`"status":"inProgress","changes":[{"path":"/srv/a","kind":{"type":"add"},"diff":"x\n"}]}]}]}}`), s.joined...))
	}
	return texts(answer("{}"))
}

func texts(all []string) (out [][]byte) {
	for _, text := range all {
		out = append(out, []byte(text))
	}
	return out
}

// said returns the calls and replies so far.
func (s *server) said() (calls, replies []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls), slices.Clone(s.replies)
}

// journal is a room that records changes of dialogs.
type journal struct {
	hook.Service
	mu   sync.Mutex
	told []string
	sum  string // of the last dialog

	fails error         // returned when a dialog ends; nil: no error
	slow  chan struct{} // the end of a dialog blocks until this is closed; nil: it does not
	ends  bool          // calls have a deadline
}

func (j *journal) Dialog(ctx context.Context, c mail.DialogChange) error {
	if c.Outcome != "" && j.slow != nil {
		<-j.slow
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, j.ends = ctx.Deadline()
	if c.Outcome != "" && j.fails != nil {
		return j.fails
	}
	j.sum = c.Sum
	j.told = append(j.told, strings.TrimSpace(string(c.Kind)+" "+string(c.Outcome)))
	return nil
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.told)
}

// office is a desk that watches a server.
type office struct {
	*testing.T
	*server
	*journal
	desk  *dialog.Desk
	ended atomic.Bool // the session has ended
}

func watch(t *testing.T, s *server, before ...hook.Held) *office {
	t.Helper()
	return watchFor(t, s, &journal{}, before...)
}

// watchFor is watch with an existing room.
func watchFor(t *testing.T, s *server, room *journal, before ...hook.Held) *office {
	t.Helper()
	home := t.TempDir()
	codextest.Serve(t, home, s.say)
	o := &office{T: t, server: s, journal: room, desk: dialog.Open("", slog.New(slog.DiscardHandler))}
	for _, h := range before {
		id, _, err := o.desk.Add(h)
		if err != nil {
			t.Fatal(err)
		}
		o.desk.Update(id, func(h *hook.Held) { h.Opened = time.Now().Add(-time.Minute) })
	}
	w := &Watch{Desk: o.desk, Log: slog.New(slog.DiscardHandler),
		Sessions: func() []sessions.Session {
			if o.ended.Load() {
				return nil
			}
			return []sessions.Session{{Room: "lab", Agent: "ann", Client: "codex", ID: "t", Home: home}}
		},
		Agent: func(mail.RoomName, mail.Name) hook.Service { return o.journal }}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return o
}

// until waits for a condition.
func (o *office) until(what string, holds func() bool) {
	o.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			calls, replies := o.said()
			o.Fatalf("%s: not in time; the server heard %q and %q, the room %q, and on the desk is %+v", what, calls,
				replies, o.all(), o.desk.All())
		}
	}
}

// card waits until there is exactly one dialog on the desk and it can be answered.
func (o *office) card() (h hook.Held) {
	o.Helper()
	o.until("a card", func() bool {
		all := o.desk.All()
		if len(all) == 1 {
			h = all[0]
		}
		waits, _ := o.desk.Waits(h.ID)
		return len(all) == 1 && waits
	})
	return h
}

const (
	falls = `{"method":"thread/status/changed","params":{"threadId":"t",` +
		`"status":{"type":"active","activeFlags":[]}}}`
	resolved  = `{"method":"serverRequest/resolved","params":{"threadId":"t","requestId":7}}`
	completed = `{"method":"item/completed","params":{"threadId":"t","item":{"id":"call_1","status":"completed"}}}`
	broken    = `{"method":"turn/completed","params":{"threadId":"t","turn":{"status":"interrupted"}}}`
	declined  = `{"method":"item/completed","params":{"threadId":"t","item":{"id":"call_1","status":"declined"}}}`
)

// asks returns a request of the server.
func asks(method, params string) string {
	var is json.RawMessage
	_ = json.Unmarshal([]byte(params), &is)
	text, _ := json.Marshal(map[string]any{"id": 7, "method": method, "params": is})
	return string(text)
}

// A dialog that is open when the post office starts is answered from the desk: with one reply, in the right form.
func TestAnswered(t *testing.T) {
	for verdict, tt := range map[mail.Verdict]struct {
		settled []string
		reply   string
	}{
		mail.SayAllow: {[]string{resolved, falls}, `7 {"decision":"accept"}`},
		mail.SayDeny:  {[]string{resolved, falls, declined}, `7 {"decision":"decline"}`},
	} {
		s := &server{waits: true, joined: []string{asks(commandMethod, command)}, settled: tt.settled}
		o := watch(t, s)
		h := o.card()
		if h.Text != "touch a" || !h.Beside || h.Agent != "ann" {
			t.Errorf("the card is %+v", h)
		}
		a := &mail.DialogAnswer{Dialog: h.ID, Sum: h.Shown(), Verdict: verdict}
		if _, err := o.desk.Answer(a, closed); err != nil {
			t.Error(err)
		}
		if err := o.desk.Answered(t.Context(), o.journal, &h, a, mail.ByTerminal); err != nil {
			t.Error(err)
		}
		o.until("it is left", func() bool {
			calls, _ := s.said()
			return slices.Contains(calls, "thread/unsubscribe")
		})
		if _, replies := s.said(); !slices.Equal(replies, []string{tt.reply}) {
			t.Errorf("it was replied %q, want %q once", replies, tt.reply)
		}
	}
}

// If the person answers in the client's own dialog, nothing is replied.
func TestAnsweredThere(t *testing.T) {
	t.Parallel()
	for want, says := range map[string][]string{
		"permission allowed": {resolved, falls, completed},
		"permission denied":  {resolved, declined, falls},
		"permission denied ": {resolved, falls, broken},
		"permission ended":   {falls},
		"permission ended ":  {resolved, falls},
	} {
		want = strings.TrimSpace(want)
		s := &server{waits: true, joined: append([]string{asks(commandMethod, command)}, says...)}
		o := watch(t, s)
		o.until("it is over", func() bool { return len(o.desk.All()) == 0 && len(o.all()) == 2 })
		if told := o.all(); told[1] != want {
			t.Errorf("the room was told %q, want %s", told, want)
		}
		if _, replies := s.said(); len(replies) > 0 {
			t.Errorf("it was replied %q", replies)
		}
	}
}

// closed says that the client's own dialog has gone.
func closed() bool { return true }

// An answer that comes after another one is reported as having no effect.
func TestAnsweredThereFirst(t *testing.T) {
	t.Parallel()
	s := &server{waits: true, joined: []string{asks(commandMethod, command)},
		settled: []string{resolved, declined, falls}}
	o := watch(t, s)
	h := o.card()
	how, err := o.desk.Answer(&mail.DialogAnswer{Dialog: h.ID, Sum: h.Shown(), Verdict: mail.SayAllow}, closed)
	if mail.CodeOf(err) != mail.Conflict {
		t.Errorf("allowed, though it was denied there: %v", err)
	}
	if how != "" {
		if err := o.desk.Settle(t.Context(), o.journal, &h, how); err != nil {
			t.Error(err)
		}
	}
	o.until("it is over", func() bool { return len(o.desk.All()) == 0 })
	if told := o.all(); told[len(told)-1] != "permission denied" {
		t.Errorf("the room was told %q", told)
	}
}

// A refusal is not reported as effective if the person had already allowed the action in the client: it would still be
// carried out.
func TestAllowedThereFirst(t *testing.T) {
	t.Parallel()
	s := &server{waits: true, joined: []string{asks(commandMethod, command)}, settled: []string{resolved, falls}}
	o := watch(t, s)
	h := o.card()
	how, err := o.desk.Answer(&mail.DialogAnswer{Dialog: h.ID, Sum: h.Shown(), Verdict: mail.SayDeny}, closed)
	if mail.CodeOf(err) != mail.Conflict || how != mail.DialogEnded {
		t.Errorf("denied, though it was allowed there: %q, %v", how, err)
	}
}

// While a room is slow to record the end of a dialog, the next one is already on the desk.
func TestSlowRoom(t *testing.T) {
	next := strings.NewReplacer(`"id":7`, `"id":8`, "call_1", "call_2").Replace(asks(commandMethod, command))
	s := &server{waits: true, joined: []string{asks(commandMethod, command), resolved, completed, next}}
	room := &journal{slow: make(chan struct{})}
	o := watchFor(t, s, room)
	defer close(room.slow)
	o.until("the next is on the desk", func() bool {
		return slices.ContainsFunc(o.desk.All(), func(h hook.Held) bool { return h.Use == "call_2" })
	})
	room.mu.Lock()
	defer room.mu.Unlock()
	if !room.ends {
		t.Error("the room is waited for without end")
	}
}

// A dialog that its room rejects, because the room or the agent has gone, is removed from the desk.
func TestRoomHasGone(t *testing.T) {
	t.Parallel()
	for _, code := range []mail.Code{mail.NotFound, mail.Conflict} {
		s := &server{waits: true, joined: []string{asks(commandMethod, command)}}
		o := watchFor(t, s, &journal{fails: mail.Errorf(code, "no")})
		o.card()
		o.ended.Store(true)
		o.until("it is forgotten", func() bool { return len(o.desk.All()) == 0 })
	}
}

// A patch is shown from the item of the turn; the request does not contain it.
func TestPatchShown(t *testing.T) {
	s := &server{waits: true, joined: []string{asks(patchMethod, `{"threadId":"t","itemId":"call_1"}`)}}
	if h := watch(t, s).card(); h.Text != "*** Add File: /srv/a\n+x\n" || h.Cut {
		t.Errorf("the card is %+v", h)
	}
}

// A dialog reported by a hook is the same one, shown as the server has it: the hook may be forged.
func TestHookTold(t *testing.T) {
	told := hook.Held{Room: "lab", Agent: "ann", Client: "codex", Session: "t"}
	told.Kind, told.Tool, told.Use, told.Text, told.Sum = mail.AsksPermission, "Bash", "call_1", "ls", "x"
	s := &server{waits: true, joined: []string{asks(commandMethod, command)}}
	o := watch(t, s, told)
	h := o.card()
	if h.Text != "touch a" || h.Sum == told.Sum {
		t.Errorf("the card is %+v", h)
	}
	_, err := o.desk.Answer(&mail.DialogAnswer{Dialog: h.ID, Sum: told.Shown(), Verdict: mail.SayAllow}, closed)
	if mail.CodeOf(err) != mail.Conflict {
		t.Errorf("an answer to what the hook said counts: %v", err)
	}
	if err := o.desk.Settle(t.Context(), o.journal, &h, mail.DialogEnded); err != nil || o.sum != told.Sum {
		t.Errorf("the room, which knows the sum %q, is told %q: %v", told.Sum, o.sum, err)
	}
}

// An open dialog returns to the desk if a hook, or a process that poses as one, says that it is over.
func TestHookLies(t *testing.T) {
	t.Parallel()
	s := &server{waits: true, joined: []string{asks(commandMethod, command)}}
	o := watch(t, s)
	h := o.card()
	if err := o.desk.Settle(t.Context(), o.journal, &h, mail.DialogEnded); err != nil {
		t.Fatal(err)
	}
	if again := o.card(); again.ID == h.ID || again.Sum != h.Sum {
		t.Errorf("it is %+v", again)
	}
}

// A dialog that ended while the post office was not running is removed; one of a session outside the server, which the
// server does not know, stays.
func TestOverMeanwhile(t *testing.T) {
	for _, loaded := range []bool{true, false} {
		told := hook.Held{Room: "lab", Agent: "ann", Client: "codex", Session: "t"}
		told.Kind, told.Tool = mail.AsksPermission, "Bash"
		s := &server{other: !loaded}
		o := watch(t, s, told)
		o.until("the server is asked", func() bool {
			calls, _ := s.said()
			return slices.Contains(calls, "thread/read")
		})
		if loaded {
			o.until("it is over", func() bool { return len(o.desk.All()) == 0 })
			continue
		}
		time.Sleep(hooksTime / 4) // time for something that must not happen
		if len(o.desk.All()) != 1 {
			t.Error("the dialog of a session of its own was ended")
		}
	}
}

// The dialog of an ended session is removed, although its server and request still exist; and no connection stays.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	s := &server{waits: true, joined: []string{asks(commandMethod, command)}}
	o := watch(t, s)
	o.card()
	o.ended.Store(true)
	o.until("it is over", func() bool { return len(o.desk.All()) == 0 })
	if told := o.all(); told[len(told)-1] != "permission ended" {
		t.Errorf("the room was told %q", told)
	}
}

// Messages of a server never cause a reply by themselves, and never crash the post office.
func TestSilent(t *testing.T) {
	var says []string
	for _, method := range []string{"item/tool/call", "account/chatgptAuthTokens/refresh", "attestation/generate",
		"currentTime/read", "applyPatchApproval", "", commandMethod} {
		says = append(says, asks(method, `{"threadId":"t"}`), asks(method, `{"threadId":"other","itemId":"call_1"}`))
	}
	says = append(says, `[]`, `{"id":{},"method":7}`, `{"id":9,"result":{}}`, `{"method":"item/completed","params":7}`,
		`{"method":"thread/status/changed","params":{"threadId":"u","status":{"activeFlags":["waitingOnApproval"]}}}`,
		`{"method":"serverRequest/resolved","params":{"threadId":"t","requestId":[]}}`, "\xff{", "")
	for i := range 400 {
		says = append(says, fmt.Sprintf(`{"method":"thread/status/changed","params":{"threadId":"t%d",`+
			`"status":{"activeFlags":["waitingOnApproval"]}}}`, i))
	}
	s := &server{waits: true, joined: append(says, asks(commandMethod, command))}
	o := watch(t, s)
	o.card()
	calls, replies := s.said()
	joins := len(slices.DeleteFunc(calls, func(m string) bool { return m != "thread/resume" }))
	if len(replies) > 0 || joins != 1 {
		t.Errorf("it was replied %q, and %d threads were joined", replies, joins)
	}
}
