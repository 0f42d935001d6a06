package daemon

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// guestsOf is a post office with a room shop that guests may enter, and the agents who work there.
func guestsOf(t *testing.T) (*running, Options) {
	t.Helper()
	cfg := testConfig(t)
	cfg.Rooms = map[mail.RoomName]config.Room{"shop": {A2A: config.A2A{Enabled: true, Private: true,
		Publish: []mail.Name{"builder-1"}}}}
	opts := Options{Config: cfg}
	r := start(t, opts)
	svc := r.room(t, "shop", mail.User)
	for _, p := range []mail.Presence{{Name: "builder-1", Roles: []string{"builder"}}, {Name: "private-1"},
		{Name: "acme"}, {Name: "other"}} {
		if _, err := svc.Register(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	return r, opts
}

// guestToken makes the token of a guest.
func (r *running) guestToken(t *testing.T, name mail.Name) string {
	t.Helper()
	token, err := r.room(t, "shop", mail.User).GuestToken(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// a2aGet asks for a card.
func (r *running) a2aGet(t *testing.T, path, token string) (int, string) {
	t.Helper()
	return r.a2aDo(t, http.MethodGet, path, token, "")
}

func (r *running) a2aDo(t *testing.T, method, path, token, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.place.HTTP+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// a2aTask is the part of a task that the tests examine.
type a2aTask struct {
	ID, ContextID string
	Status        struct {
		State   string
		Message *a2aMessage
	}
	Artifacts []struct{ Parts []struct{ Text string } }
	History   []a2aMessage
}

type a2aMessage struct {
	MessageID, Role string
	Parts           []struct{ Text string }
}

// a2aCall makes a call of the protocol, and returns the code of its error, 0 for none.
func (r *running) a2aCall(t *testing.T, path, token, method string, params, result any) (code int, why string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	_, text := r.a2aDo(t, http.MethodPost, path, token, string(body))
	var answer struct {
		Result json.RawMessage
		Error  *struct {
			Code    int
			Message string
		}
	}
	if err := json.NewDecoder(bytes.NewReader([]byte(text))).Decode(&answer); err != nil {
		t.Fatalf("%s answers %q: %v", method, text, err)
	}
	if answer.Error != nil {
		return answer.Error.Code, answer.Error.Message
	}
	if result != nil {
		if err := json.Unmarshal(answer.Result, result); err != nil {
			t.Fatalf("%s answers %s: %v", method, answer.Result, err)
		}
	}
	return 0, ""
}

// guestSays is a message of a guest, sent without waiting for its task.
func guestSays(id, text string, more ...string) map[string]any {
	m := map[string]any{"messageId": id, "role": "ROLE_USER", "parts": []any{map[string]any{"text": text}}}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return map[string]any{"message": m, "configuration": map[string]any{"returnImmediately": true}}
}

const builder1 = "/a2a/shop/agents/builder-1"

// a2aSend sends a message, and expects a task.
func (r *running) a2aSend(t *testing.T, path, token string, params any) a2aTask {
	t.Helper()
	var out struct{ Task a2aTask }
	if code, why := r.a2aCall(t, path, token, "SendMessage", params, &out); code != 0 {
		t.Fatalf("SendMessage: %d %s", code, why)
	}
	return out.Task
}

func (r *running) a2aTask(t *testing.T, token, id string) a2aTask {
	t.Helper()
	var out a2aTask
	if code, why := r.a2aCall(t, "/a2a/shop", token, "GetTask", map[string]any{"id": id}, &out); code != 0 {
		t.Fatalf("GetTask: %d %s", code, why)
	}
	return out
}

// A task is mail, and its state follows from the room.
func TestA2ATask(t *testing.T) {
	r, _ := guestsOf(t)
	token := r.guestToken(t, "acme")
	if status, card := r.a2aGet(t, "/a2a/shop/.well-known/agent-card.json", token); status != 200 ||
		!strings.Contains(card, `"id":"role:builder"`) {
		t.Fatalf("the room's card: %d %s", status, card)
	}
	sent := r.a2aSend(t, builder1, token, guestSays("m-1", "Build it"))
	if sent.Status.State != "TASK_STATE_SUBMITTED" {
		t.Fatalf("sent: %+v", sent)
	}
	builder := r.room(t, "shop", "builder-1")
	page, err := builder.Inbox(t.Context(), mail.InboxQuery{})
	if err != nil || len(page.Messages) != 1 {
		t.Fatal(page, err)
	}
	ask := page.Messages[0]
	if string(ask.ID) != sent.ID || ask.From != "agent:acme" || ask.By != mail.ByGuest ||
		ask.Doubt() != mail.Outside || ask.Type != mail.TaskAssigned {
		t.Errorf("the mail is %+v", ask.Message)
	}
	if _, err := builder.Mark(t.Context(), mail.Marking{IDs: []mail.ID{ask.ID}, Mark: mail.MarkRead}); err != nil {
		t.Fatal(err)
	}
	if got := r.a2aTask(t, token, sent.ID); got.Status.State != "TASK_STATE_WORKING" {
		t.Errorf("read: %+v", got)
	}
	if _, err := builder.Send(t.Context(), mail.Draft{To: mail.Recipients{"acme"}, Type: "question",
		Body: "Which colour?", ReplyTo: ask.ID}); err != nil {
		t.Fatal(err)
	}
	got := r.a2aTask(t, token, sent.ID)
	if got.Status.State != "TASK_STATE_INPUT_REQUIRED" || got.Status.Message.Parts[0].Text != "Which colour?" {
		t.Errorf("asked: %+v", got)
	}
	r.a2aSend(t, "/a2a/shop", token, guestSays("m-2", "Red", "taskId", sent.ID))
	if got := r.a2aTask(t, token, sent.ID); got.Status.State != "TASK_STATE_WORKING" {
		t.Errorf("answered: %+v", got)
	}
	if _, err := builder.Send(t.Context(), mail.Draft{To: mail.Recipients{"acme"}, Type: "task-done",
		Body: "It is built", ReplyTo: ask.ID}); err != nil {
		t.Fatal(err)
	}
	got = r.a2aTask(t, token, sent.ID)
	if got.Status.State != "TASK_STATE_COMPLETED" || len(got.Artifacts) != 1 ||
		got.Artifacts[0].Parts[0].Text != "It is built" {
		t.Errorf("done: %+v", got)
	}
	var said []string
	for _, m := range got.History {
		said = append(said, m.Role+" "+m.Parts[0].Text)
	}
	if want := "ROLE_USER Build it|ROLE_AGENT Which colour?|ROLE_USER Red|ROLE_AGENT It is built"; strings.Join(said,
		"|") != want {
		t.Errorf("history %q, want %q", said, want)
	}
}

// a2aReply answers a task as the agent who has it.
func (r *running) a2aReply(t *testing.T, as mail.Name, task string, d mail.Draft) {
	t.Helper()
	d.To, d.ReplyTo = mail.Recipients{"acme"}, mail.ID(task)
	if _, err := r.room(t, "shop", as).Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// The events that end a task, and those that do not.
func TestA2AStates(t *testing.T) {
	r, _ := guestsOf(t)
	token := r.guestToken(t, "acme")
	user := r.room(t, "shop", mail.User)
	cancel := func(t *testing.T, id string) (int, a2aTask) {
		var out a2aTask
		code, _ := r.a2aCall(t, "/a2a/shop", token, "CancelTask", map[string]any{"id": id}, &out)
		return code, out
	}
	reply := func(d mail.Draft) func(*testing.T, string) {
		return func(t *testing.T, id string) { r.a2aReply(t, "builder-1", id, d) }
	}
	const submitted, working, required = "TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED"
	for i, tt := range []struct {
		name, want string
		code       int // of a cancel afterwards; 0: the task is cancelled
		do         func(t *testing.T, id string)
	}{
		{"sent", submitted, 0, func(*testing.T, string) {}},
		{"said something", working, 0, reply(mail.Draft{Body: "On it"})},
		{"status", working, 0, reply(mail.Draft{Type: "status", Body: "Half way"})},
		{"asked", required, 0, reply(mail.Draft{Type: "question", Body: "Which?"})},
		{"asked for a review", required, 0, reply(mail.Draft{Type: "review-request", Body: "Good?"})},
		{"answered", "TASK_STATE_COMPLETED", -32002, reply(mail.Draft{Type: "answer", Body: "Here"})},
		{"done", "TASK_STATE_COMPLETED", -32002, reply(mail.Draft{Type: "task-done", Body: "Here"})},
		{"declined", "TASK_STATE_REJECTED", -32002, reply(mail.Draft{Type: "answer", Body: "No",
			Metadata: mail.Metadata(`{"declined":"no time"}`)})},
		{"canceled by the user", "TASK_STATE_CANCELED", 0, func(t *testing.T, id string) {
			if _, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{"builder-1"}, Type: "cancel",
				Body: "Stop", ReplyTo: mail.ID(id)}); err != nil {
				t.Fatal(err)
			}
		}},
		{"done twice", "TASK_STATE_COMPLETED", -32002, func(t *testing.T, id string) {
			r.a2aReply(t, "builder-1", id, mail.Draft{Type: "task-done", Body: "Here"})
			r.a2aReply(t, "builder-1", id, mail.Draft{Type: "answer", Body: "No",
				Metadata: mail.Metadata(`{"declined":true}`)})
		}},
		{"done, and told to all alone", submitted, 0, func(t *testing.T, id string) {
			if _, err := r.room(t, "shop", "builder-1").Send(t.Context(), mail.Draft{To: mail.Recipients{"all"},
				Type: "task-done", Body: "Secret", ReplyTo: mail.ID(id)}); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			id := r.a2aSend(t, builder1, token, guestSays("m-"+tt.name, "Task "+tt.name)).ID
			tt.do(t, id)
			got := r.a2aTask(t, token, id)
			if got.Status.State != tt.want {
				t.Errorf("%d is %+v, want %s", i, got, tt.want)
			}
			for _, m := range got.History {
				if strings.Contains(m.Parts[0].Text, "Secret") {
					t.Errorf("the guest is told what was said to all: %+v", m)
				}
			}
			code, out := cancel(t, id)
			if code != tt.code || code == 0 && out.Status.State != "TASK_STATE_CANCELED" {
				t.Errorf("cancel: %d %+v, want %d", code, out, tt.code)
			}
			page, err := user.History(t.Context(), mail.HistoryQuery{Thread: mail.ID(id), Open: true})
			if err != nil || len(page.Messages) != 0 && code == 0 {
				t.Errorf("a withdrawn task leaves open %+v, %v", page.Messages, err)
			}
		})
	}
	var list struct {
		Tasks         []a2aTask
		TotalSize     int
		NextPageToken string
	}
	seen := make(map[string]bool)
	for more := true; more; more = list.NextPageToken != "" {
		ask := map[string]any{"pageSize": 3, "status": "TASK_STATE_CANCELED", "pageToken": list.NextPageToken}
		list.NextPageToken, list.Tasks = "", nil
		if code, why := r.a2aCall(t, "/a2a/shop", token, "ListTasks", ask, &list); code != 0 {
			t.Fatal(code, why)
		}
		for _, one := range list.Tasks {
			seen[one.ID] = true
		}
	}
	if len(seen) != 7 || list.TotalSize != 7 {
		t.Errorf("a list of what was canceled has %d of %d tasks, want 7", len(seen), list.TotalSize)
	}
	gone := r.a2aSend(t, builder1, token, guestSays("m-gone", "For one who goes"))
	if _, err := user.Register(t.Context(), mail.Presence{Name: "builder-1", State: mail.Gone}); err != nil {
		t.Fatal(err)
	}
	if got := r.a2aTask(t, token, gone.ID); got.Status.State != submitted {
		t.Errorf("whose agent is away: %+v, want it to wait", got)
	}
	if err := user.Retire(t.Context(), "builder-1"); err != nil {
		t.Fatal(err)
	}
	if got := r.a2aTask(t, token, gone.ID); got.Status.State != "TASK_STATE_FAILED" {
		t.Errorf("whose agent was retired: %+v", got)
	}
}

// A task to a role or a tag reaches its holders, and no one else.
func TestA2ASkills(t *testing.T) {
	r, _ := guestsOf(t)
	token := r.guestToken(t, "acme")
	skill := func(id, skill string) map[string]any {
		p := guestSays(id, "Task "+id)
		p["message"].(map[string]any)["metadata"] = map[string]any{"skill": skill}
		return p
	}
	task := r.a2aSend(t, "/a2a/shop", token, skill("s-1", "role:builder"))
	r.a2aReply(t, "builder-1", task.ID, mail.Draft{Type: "task-done", Body: "Here"})
	if got := r.a2aTask(t, token, task.ID); got.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("to a role: %+v", got)
	}
	alone := r.a2aSend(t, "/a2a/shop", token, guestSays("s-2", "The only skill there is"))
	if page, err := r.room(t, "shop", "builder-1").Inbox(t.Context(), mail.InboxQuery{All: true}); err != nil ||
		len(page.Messages) != 2 || string(page.Messages[1].ID) != alone.ID {
		t.Errorf("builder-1 has %+v, %v", page.Messages, err)
	}
	for _, to := range []string{"all", "user", "agent:private-1", "private-1", "agent:builder-1", "role:nobody",
		"role:builder@other", "orchestrator", "far:x@y", "system"} {
		if code, why := r.a2aCall(t, "/a2a/shop", token, "SendMessage", skill("s-"+to, to), nil); code != -32602 {
			t.Errorf("to %s: %d %s, want it refused", to, code, why)
		}
	}
}

// The guest's id of a message is its key.
func TestA2AAgain(t *testing.T) {
	r, _ := guestsOf(t)
	token, other := r.guestToken(t, "acme"), r.guestToken(t, "other")
	first := r.a2aSend(t, builder1, token, guestSays("m-1", "Build it"))
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if again := r.a2aSend(t, builder1, token, guestSays("m-1", "Build it")); again.ID != first.ID {
				t.Errorf("sent again: %s, want %s", again.ID, first.ID)
			}
		})
	}
	wait.Wait()
	if code, why := r.a2aCall(t, builder1, token, "SendMessage", guestSays("m-1", "Something else"),
		nil); code != -32602 {
		t.Errorf("another text under the same id: %d %s", code, why)
	}
	if theirs := r.a2aSend(t, builder1, other, guestSays("m-1", "Build it")); theirs.ID == first.ID {
		t.Error("another guest's message is taken for the first's")
	}
	for range 2 {
		r.a2aSend(t, builder1, token, guestSays("m-2", "And paint it", "taskId", first.ID))
	}
	r.a2aReply(t, "builder-1", first.ID, mail.Draft{Type: "question", Body: "Red?"})
	for range 2 {
		r.a2aSend(t, builder1, token, guestSays("m-3", "Yes", "taskId", first.ID))
	}
	r.a2aReply(t, "builder-1", first.ID, mail.Draft{Type: "task-done", Body: "Done"})
	r.a2aSend(t, builder1, token, guestSays("m-3", "Yes", "taskId", first.ID))
	if code, _ := r.a2aCall(t, builder1, token, "SendMessage", guestSays("m-4", "More", "taskId", first.ID),
		nil); code != -32004 {
		t.Errorf("more to a task that has ended: %d", code)
	}
	page, err := r.room(t, "shop", mail.User).History(t.Context(), mail.HistoryQuery{From: "acme"})
	if err != nil || len(page.Messages) != 3 {
		t.Errorf("the room has %d messages of the guest, %v, want 3", len(page.Messages), err)
	}
}

// A malformed call is refused in the protocol's own words, and nothing is stored.
func TestA2ABadInput(t *testing.T) {
	r, _ := guestsOf(t)
	token, other := r.guestToken(t, "acme"), r.guestToken(t, "other")
	theirs := r.a2aSend(t, builder1, other, guestSays("m-1", "Theirs")).ID
	asked, err := r.room(t, "shop", mail.User).Send(t.Context(), mail.Draft{To: mail.Recipients{"builder-1"},
		Type: "task-assigned", Body: "The user's"})
	if err != nil {
		t.Fatal(err)
	}
	before := r.shopSize(t)
	call := func(method string, params any) string {
		text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	with := func(change func(p, m map[string]any)) string {
		p := guestSays("bad", "Bad")
		change(p, p["message"].(map[string]any))
		return call("SendMessage", p)
	}
	long := strings.Repeat("x", 300)
	parts := func(parts ...any) string { return with(func(_, m map[string]any) { m["parts"] = parts }) }
	push := func(url string, more ...any) string {
		c := map[string]any{"url": url}
		for i := 0; i+1 < len(more); i += 2 {
			c[more[i].(string)] = more[i+1]
		}
		return with(func(p, _ map[string]any) {
			p["configuration"].(map[string]any)["taskPushNotificationConfig"] = c
		})
	}
	for name, tt := range map[string]struct {
		body string
		code int
	}{
		"torn":                 {call("SendMessage", guestSays("bad", "Bad"))[:90], -32700},
		"nothing":              {"", -32700},
		"no JSON":              {"hello", -32700},
		"a batch":              {"[" + call("GetTask", map[string]any{"id": "x"}) + "]", -32602},
		"deep":                 {strings.Repeat(`{"params":`, 100_000), -32700},
		"huge":                 {call("SendMessage", guestSays("bad", strings.Repeat("x", 2<<20))), -32700},
		"over the room's size": {call("SendMessage", guestSays("bad", strings.Repeat("x", 70<<10))), -32602},
		"no version":           {`{"id":1,"method":"GetTask","params":{"id":"x"}}`, -32600},
		"an id that is none":   {`{"jsonrpc":"2.0","id":[1],"method":"GetTask","params":{"id":"x"}}`, -32600},
		"unknown method":       {call("DeleteEverything", nil), -32601},
		"a method of 0.3":      {call("message/send", guestSays("bad", "Bad")), -32601},
		"params of a list":     {call("GetTask", []string{"x"}), -32602},
		"no message":           {call("SendMessage", map[string]any{}), -32602},
		"no message id":        {with(func(_, m map[string]any) { delete(m, "messageId") }), -32602},
		"long message id":      {with(func(_, m map[string]any) { m["messageId"] = long }), -32602},
		"controls in an id":    {with(func(_, m map[string]any) { m["contextId"] = "a\x1b[2J" }), -32602},
		"as an agent":          {with(func(_, m map[string]any) { m["role"] = "ROLE_AGENT" }), -32602},
		"no parts":             {parts(), -32602},
		"an empty part":        {parts(map[string]any{}), -32700},
		"parts that are null":  {parts(nil), -32602},
		"blank":                {parts(map[string]any{"text": " "}), -32602},
		"NUL":                  {parts(map[string]any{"text": "a\x00"}), -32602},
		"a file":               {parts(map[string]any{"raw": "AAAA", "filename": "x"}), -32005},
		"a link":               {parts(map[string]any{"url": "file:///etc/passwd"}), -32005},
		"an unknown task":      {call("GetTask", map[string]any{"id": "msg_nothing"}), -32001},
		"no task":              {call("GetTask", map[string]any{}), -32001},
		"another's task":       {call("GetTask", map[string]any{"id": theirs}), -32001},
		"the user's task":      {call("GetTask", map[string]any{"id": asked.ID}), -32001},
		"cancel another's":     {call("CancelTask", map[string]any{"id": theirs}), -32001},
		"cancel the user's":    {call("CancelTask", map[string]any{"id": asked.ID}), -32001},
		"more to another's":    {with(func(_, m map[string]any) { m["taskId"] = theirs }), -32001},
		"more to the user's":   {with(func(_, m map[string]any) { m["taskId"] = asked.ID }), -32001},
		"more to an unknown":   {with(func(_, m map[string]any) { m["taskId"] = "msg_nothing" }), -32001},
		"push of another's": {call("CreateTaskPushNotificationConfig", map[string]any{"taskId": theirs,
			"url": "https://example.com"}), -32001},
		"list another's pushes": {call("ListTaskPushNotificationConfigs", map[string]any{"taskId": theirs}), -32001},
		"get another's push": {call("GetTaskPushNotificationConfig", map[string]any{"taskId": theirs, "id": "x"}),
			-32001},
		"delete no push": {call("DeleteTaskPushNotificationConfig", map[string]any{"taskId": theirs}),
			-32602},
		"push to no URL":          {push("no url"), -32602},
		"push to a file":          {push("file:///etc/passwd"), -32602},
		"push with a password":    {push("https://a:b@example.com"), -32602},
		"push that adds a header": {push("https://example.com", "token", "a\r\nX: y"), -32602},
		"push by digest": {push("https://example.com", "authentication", map[string]any{"scheme": "Digest"}),
			-32602},
		"a page too large":  {call("ListTasks", map[string]any{"pageSize": 101}), -32602},
		"a page token":      {call("ListTasks", map[string]any{"pageToken": "x"}), -32602},
		"the extended card": {call("GetExtendedAgentCard", map[string]any{}), -32007},
	} {
		t.Run(name, func(t *testing.T) {
			status, text := r.a2aDo(t, http.MethodPost, builder1, token, tt.body)
			var answer struct{ Error struct{ Code int } }
			err := json.Unmarshal([]byte(text), &answer)
			if err != nil || status != 200 || answer.Error.Code != tt.code {
				t.Errorf("%.80s: %d %.300s, want code %d", tt.body, status, text, tt.code)
			}
			for _, method := range []string{"SendStreamingMessage", "SubscribeToTask"} {
				streamed := strings.NewReplacer(`"SendMessage"`, `"SendStreamingMessage"`, `"GetTask"`,
					`"SubscribeToTask"`).Replace(tt.body)
				if !strings.Contains(streamed, method) || streamed == tt.body {
					continue
				}
				_, text := r.a2aDo(t, http.MethodPost, builder1, token, streamed)
				if !strings.Contains(text, `"error":{"code":`+strconv.Itoa(tt.code)) {
					t.Errorf("as a stream: %.300s, want code %d", text, tt.code)
				}
			}
		})
	}
	if after := r.shopSize(t); after != before {
		t.Errorf("the room has %d messages, and had %d", after, before)
	}
	if text, err := os.ReadFile(r.place.home(t).A2A()); err == nil && strings.Contains(string(text), "example") {
		t.Errorf("a push was kept: %s", text)
	}
}

func (p Place) home(t *testing.T) config.Home {
	t.Helper()
	return config.Home(filepath.Dir(p.Token))
}

func (r *running) shopSize(t *testing.T) int {
	t.Helper()
	st, err := r.room(t, "shop", mail.User).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return st.Messages
}
