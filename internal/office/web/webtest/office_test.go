package webtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serve is the command that starts a post office on a free port.
var serve = []string{"serve", "--listen", "127.0.0.1:0", "--json"}

// office is a running post office.
type office struct {
	dir  string // its writable directory
	home string
	URL  string // the plain address
	site string // the pages' own, "http://pp-….localhost:PORT"
	cmd  *exec.Cmd
	said strings.Builder // read only after close
}

// open starts a post office in dir with a command that prints JSON as serve --json does.
func open(dir string, args ...string) (*office, error) {
	o := &office{dir: dir, home: filepath.Join(dir, "home")}
	o.cmd = o.command(context.Background(), args...)
	out, err := o.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	o.cmd.Stderr = &o.said
	if err := o.cmd.Start(); err != nil {
		return nil, err
	}
	var place struct {
		HTTP string `json:"http"`
		Home string `json:"home"`
	}
	if err := json.NewDecoder(bufio.NewReader(out)).Decode(&place); err != nil || place.HTTP == "" {
		o.close()
		return nil, fmt.Errorf("the post office does not say where it is: %w\n%s", err, o.said.String())
	}
	if o.URL = place.HTTP; place.Home != "" { // the demo has its own
		o.home = place.Home
	}
	link, err := o.command(context.Background(), "open", "--print").Output()
	if err != nil {
		o.close()
		return nil, fmt.Errorf("the post office does not say where its pages are: %w\n%s", err, o.said.String())
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(httptest.NewRequest(http.MethodGet,
		strings.TrimSpace(string(link)), nil))
	if err != nil {
		o.close()
		return nil, err
	}
	resp.Body.Close()
	o.site, _, _ = strings.Cut(resp.Header.Get("Location"), "/login")
	return o, nil
}

func (o *office) close() {
	_ = o.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(10*time.Second, func() { _ = o.cmd.Process.Kill() })
	defer late.Stop()
	_ = o.cmd.Wait()
}

// signal stops or continues the process of the post office.
func (r *room) signal(sig syscall.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(sig); err != nil {
		r.t.Fatal(err)
	}
}

func (o *office) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, typed, args...)
	cmd.Dir = o.dir
	cmd.Env = []string{"PENNYPOST_HOME=" + o.home, "PENNYPOST_AUTOSTART=0", "PATH=" + os.Getenv("PATH"),
		"HOME=" + o.dir, "TMPDIR=" + os.TempDir(), "TZ=UTC"}
	return cmd
}

// room is a test's room.
type room struct {
	*office
	t    *testing.T
	name string
}

// newRoom is a new room in the shared post office.
func newRoom(t *testing.T) *room {
	t.Parallel()
	return &room{shared, t, strings.ToLower(t.Name())}
}

// ownOffice is the first room of a new post office.
func ownOffice(t *testing.T, name string, args ...string) *room {
	t.Helper()
	t.Parallel()
	o, err := open(t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	r := &room{o, t, name}
	t.Cleanup(func() {
		r.close()
		if t.Failed() {
			t.Logf("the post office said:\n%s", r.said.String())
		}
	})
	return r
}

// try runs a command to its end.
func (r *room) try(stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	cmd := r.command(ctx, append([]string{"--room", r.name}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// run runs a command to its end and returns its output.
func (r *room) run(args ...string) string {
	r.t.Helper()
	out, err := r.try("", args...)
	if err != nil {
		r.t.Fatalf("pennypost %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// send sends a message as an agent and returns its id.
func (r *room) send(from, to, body string, more ...string) string {
	r.t.Helper()
	out := r.run(append([]string{"--as", from, "--json", "send", "--to", to, "--body", body}, more...)...)
	var sent struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(out), &sent); err != nil {
		r.t.Fatalf("%v in %s", err, out)
	}
	return sent.ID
}

// letter is a message to import.
type letter struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	From     string         `json:"from"`
	To       []string       `json:"to"`
	Subject  string         `json:"subject,omitempty"`
	Body     string         `json:"body"`
	ReplyTo  string         `json:"reply_to,omitempty"`
	Thread   string         `json:"thread,omitempty"`
	Priority string         `json:"priority,omitempty"`
	Issue    string         `json:"issue_id,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`
	Docs     []doc          `json:"docs,omitempty"`
	Sent     time.Time      `json:"sent"`
}

type doc struct {
	Path string `json:"path"`
}

// fill imports letters, one minute apart up to now unless they have a time. Missing fields get defaults: a status
// report from builder-1 to the user.
func (r *room) fill(letters ...letter) {
	r.t.Helper()
	var text strings.Builder
	enc := json.NewEncoder(&text)
	for i, l := range letters {
		if l.ID == "" {
			l.ID = fmt.Sprintf("msg_%022d", i)
		}
		if l.Type == "" {
			l.Type = "status"
		}
		if l.From == "" {
			l.From = "agent:builder-1"
		}
		if l.To == nil {
			l.To = []string{"user"}
		}
		if l.Body == "" {
			l.Body = fmt.Sprintf("The text of letter %d.", i)
		}
		if l.Sent.IsZero() {
			l.Sent = time.Now().Add(-time.Duration(len(letters)-i) * time.Minute).UTC()
		}
		if err := enc.Encode(l); err != nil {
			r.t.Fatal(err)
		}
	}
	if out, err := r.try(text.String(), "import", "-"); err != nil {
		r.t.Fatalf("pennypost import: %v\n%s", err, out)
	}
}

// reports are n letters to the user, each with its own row: Report 1 is the oldest.
func reports(n int) []letter {
	all := make([]letter, n)
	for i := range all {
		all[i] = letter{ID: fmt.Sprintf("msg_report%016d", i+1), Type: "custom",
			Subject: fmt.Sprintf("Report %d", i+1),
			From:    fmt.Sprintf("agent:builder-%d", i%3+1)}
	}
	return all
}

// restart stops the post office, calls meanwhile, and starts it again at the same address.
func (r *room) restart(meanwhile func()) {
	r.t.Helper()
	at := strings.TrimPrefix(r.URL, "http://")
	r.close()
	meanwhile()
	o, err := open(r.dir, "serve", "--listen", at, "--json")
	if err != nil {
		r.t.Fatal(err)
	}
	r.office = o
}
