package systemtest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// marker is in every text that must not be stored.
const marker = "NOTTOBESTORED"

// badInput is one bad input, and how it is given to each door. A door that cannot get it is left out.
type badInput struct {
	name string
	says string // what every answer must match

	cli   []string // arguments
	stdin string
	exit  int

	method, path, body string // HTTP; path is below the room if it begins with a word
	fields             []string
	status             int

	tool string // MCP
	args string // as sent
}

// patient is a post office that gets bad input, and must survive it.
type patient struct {
	*office
	door  *door
	agent map[string]*agent // by era
	pid   int
}

func newPatient(t *testing.T) *patient {
	t.Helper()
	o := newOffice(t)
	d := o.mustServe(t, loopback)
	p := &patient{office: o, agent: make(map[string]*agent), pid: d.cmd.Process.Pid}
	p.door = d.door(o.operator(t))
	o.must(t, "agents", "register", "builder")
	o.must(t, "send", "--to", "builder", "--body", "before")
	for _, era := range eras() {
		p.agent[era] = o.mustAgent(t, era, "--as", "agent-"+era)
	}
	return p
}

// TestBadInput gives bad input to the command line, HTTP and MCP. Each says what is wrong, with the right code;
// nothing is stored; and the post office still works.
func TestBadInput(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	before := p.journal(t)
	for _, in := range badInputs() {
		t.Run(strings.ReplaceAll(in.name, " ", "_"), func(t *testing.T) {
			p.askCLI(t, in)
			p.askHTTP(t, in)
			p.askMCP(t, in)
			if after := p.journal(t); after != before {
				t.Errorf("the journal grew:\n%s", strings.TrimPrefix(after, before))
				before = after
			}
		})
	}
	p.unharmed(t)
}

// journal returns the default room's journal without heartbeats.
func (p *patient) journal(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.home, "rooms", "default", "mailbox.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return heartbeats.ReplaceAllString(string(text), "")
}

var heartbeats = regexp.MustCompile(
	`(?m)^\{"seq":\d+,"prev":"[^"]*","at":"[^"]*","agent":\{"name":"[^"]*"(,"session":"[^"]*")?\},"crc":"[^"]*"\}\n`)

func (p *patient) askCLI(t *testing.T, in badInput) {
	t.Helper()
	if in.cli == nil {
		return
	}
	r := p.runWith(in.stdin, nil, in.cli...)
	if r.code != in.exit || r.stdout != "" {
		t.Errorf("pennypost %.200q: exit %d, want %d; %s%s", in.cli, r.code, in.exit, r.stdout, r.stderr)
	}
	clear(t, "pennypost", r.stderr, in.says)
}

func (p *patient) askHTTP(t *testing.T, in badInput) {
	t.Helper()
	if in.path == "" {
		return
	}
	path := in.path
	if !strings.HasPrefix(path, "/") {
		path = room + "/" + path
	}
	a, err := p.door.do(in.method, path, in.body, in.fields...)
	if err != nil || a.status != in.status {
		t.Errorf("%s %.200s = %d, %v, want %d: %s", in.method, path, a.status, err, in.status, a.body)
		return
	}
	problem := decode[struct {
		Detail string
		Status int
		Code   mail.Code
	}](t, a.body)
	if kind := a.header.Get("Content-Type"); kind != "application/problem+json" || problem.Status != in.status ||
		problem.Code == "" {
		t.Errorf("%s %.200s: %s %s", in.method, path, kind, a.body)
	}
	clear(t, "HTTP", problem.Detail, in.says)
}

func (p *patient) askMCP(t *testing.T, in badInput) {
	t.Helper()
	if in.tool == "" {
		return
	}
	for era, a := range p.agent {
		_, err := a.call(context.Background(), in.tool, json.RawMessage(in.args))
		if failed, ok := errors.AsType[*toolError](err); !ok {
			t.Errorf("%s in %s: %v, want an error of the tool", in.tool, era, err)
		} else {
			clear(t, "MCP", failed.text, in.says)
		}
	}
}

// clear checks that an error says what is wrong, without internal details.
func clear(t *testing.T, door, said, want string) {
	t.Helper()
	if !regexp.MustCompile("(?is)" + want).MatchString(said) {
		t.Errorf("%s says %.500q, want something like %q", door, said, want)
	}
	if inside := regexp.MustCompile(
		`goroutine \d|\.go:\d|runtime error|json: |jsontext: |Go (struct|value|type)|panic|mail\.[A-Z]|strconv\.`).FindString(said); inside != "" {
		t.Errorf("%s shows its inside, %q: %.500q", door, inside, said)
	}
}

// unharmed checks that the same process still serves, and that the home has no unexpected files.
func (p *patient) unharmed(t *testing.T) {
	t.Helper()
	if pid := ask[struct{ PID int }](t, p.office, "status").PID; pid != p.pid {
		t.Errorf("the post office is process %d, and was %d", pid, p.pid)
	}
	p.must(t, "send", "--to", "builder", "--body", "after")
	if page := ask[mail.Page](t, p.office, "inbox", "--as", "builder"); page.Unread != 2 {
		t.Errorf("builder has %d messages, want 2: %+v", page.Unread, page.Messages)
	}
	for era, a := range p.agent {
		if _, err := a.call(context.Background(), "list_agents", nil); err != nil {
			t.Errorf("after all that MCP in %s says %v", era, err)
		}
	}
	if found, err := grep(p.root, marker); err != nil || len(found) > 0 {
		t.Errorf("what was refused stands in %q, %v", found, err)
	}
	rooms, err := os.ReadDir(filepath.Join(p.home, "rooms"))
	if err != nil || len(rooms) != 1 {
		t.Errorf("the rooms are %v, %v", rooms, err)
	}
	if r := p.run("verify"); r.code != 0 {
		t.Errorf("verify: %+v", r)
	}
	agents := fetch[struct{ Agents []mail.Agent }](t, p.door, http.StatusOK, http.MethodGet, room+"/agents", "").Agents
	if len(agents) != 3 {
		t.Errorf("the roster is %+v, want builder and two agents", agents)
	}
}
