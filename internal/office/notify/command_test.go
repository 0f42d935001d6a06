package notify

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/base/webhook"
	"pennypost/internal/mail"
)

func testNote() *Note {
	return compose("note_x", []Letter{
		{Room: "lab", ID: "msg_1", Type: mail.Question, From: "agent:ann", Subject: "Which port?", Preview: "8080?",
			Question: true, Sent: 1},
		{Room: "lab", ID: "msg_2", Type: mail.Custom, From: "agent:bea", Subject: "Fire", Urgent: true, Sent: 2},
	}, "https://box.example", true)
}

// TestCommand: a command gets its arguments, variables and input, names do not become options, and a failing one
// says why.
func TestCommand(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell here")
	}
	dir := t.TempDir()
	c := &Command{Dir: dir, Env: os.Environ(), Timeout: 10 * time.Second, Argv: []string{"sh", "-c",
		`printf '%s|' "$@" "$PENNYPOST_SUBJECT" "$PENNYPOST_URGENT" >args; cat >input; echo kept`, "sh", "{count}",
		"{from}",
		"{room}", "{url}"}}
	answer, err := c.Send(t.Context(), testNote())
	if err != nil || answer != "succeeded: kept" {
		t.Fatalf("Send = %q, %v", answer, err)
	}
	args, _ := os.ReadFile(filepath.Join(dir, "args"))
	subject := "2 messages, 1 of them questions, from ann and bea"
	if want := "2|ann, bea|lab|https://box.example/|" + subject + "|true|"; string(args) != want {
		t.Errorf("told\n%s\nwant\n%s", args, want)
	}
	input, _ := os.ReadFile(filepath.Join(dir, "input"))
	var n Note
	if err := json.Unmarshal(input, &n); err != nil || n.Subject != subject || len(n.Letters) != 2 ||
		n.Letters[0].Preview != "8080?" {
		t.Errorf("the input is %s (%v)", input, err)
	}
	several := compose("note_y", []Letter{
		{Room: "lab", Type: mail.Status, From: "agent:ann"}, {Room: "den", Type: mail.Status, From: "agent:bea"},
		{Room: "lab", Type: mail.Status, From: "agent:ann"}, {Room: "lab", Type: mail.Status, From: "agent:cy"},
	}, "https://box.example", true)
	if _, err := c.Send(t.Context(), several); err != nil {
		t.Fatal(err)
	}
	args, _ = os.ReadFile(filepath.Join(dir, "args"))
	if want := "4|ann, bea, cy||"; !strings.HasPrefix(string(args), want) {
		t.Errorf("several rooms: told\n%s\nwant\n%s", args, want)
	}
	c.Argv = []string{"sh", "-c", "echo the pager is off >&2; exit 3"}
	if _, err := c.Send(t.Context(), testNote()); err == nil || err.Error() != "exit status 3: the pager is off" {
		t.Errorf("Send = %v", err)
	}
	c.Argv = []string{"echo", "{subject}"}
	if _, err := c.Send(t.Context(), &Note{Subject: "--rm"}); err == nil || !strings.Contains(err.Error(), "option") {
		t.Errorf("Send = %v", err)
	}
}

// TestWebhook: a note is a signed POST of its own type.
func TestWebhook(t *testing.T) {
	var got struct {
		Type string
		Data Note
	}
	var head http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head = r.Header
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &got)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	w := &Webhook{webhook.New(server.URL, []byte("a secret of twenty-four b"), time.Minute)}
	answer, err := w.Send(t.Context(), testNote())
	if err != nil || answer != "202 Accepted" {
		t.Errorf("Send = %q, %v", answer, err)
	}
	if got.Type != "pennypost.notify" || got.Data.ID != "note_x" || head.Get("Webhook-Id") != "note_x" ||
		head.Get("Webhook-Signature") == "" || len(got.Data.Letters) != 2 {
		t.Errorf("got %+v with %v", got, head)
	}
}
