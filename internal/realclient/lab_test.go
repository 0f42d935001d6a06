package realclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pennypost/internal/base/child"
	"pennypost/internal/mail"
	"pennypost/internal/realclient/model"
)

// patience bounds every wait for an expected event: the machine may be busy with other clients.
const patience = 120 * time.Second

// lab is the environment of one scenario: a home, a project, a post office, a scripted model and a client.
type lab struct {
	t       *testing.T
	client  client
	version clientVersion
	dir     string // contains everything
	home    string // HOME
	project string // a Git repository
	agent   mail.Name
	model   *model.Server
	more    []string // variables on top of environ

	office  *exec.Cmd     // the post office; nil: not running
	seconds time.Duration // duration for the table; 0: none
	windows int           // number of terminals opened

	letterNumber int             // of the last letter in promises
	agreed       map[string]bool // dialogs answered, by their text
}

// newLab makes a lab in which Pennypost is not installed, and nothing runs but the model. All of its processes end
// with the test; one that should have ended before is an error.
func newLab(t *testing.T, c client, v clientVersion) *lab {
	t.Helper()
	labs := filepath.Join(filepath.Dir(*installed), "labs") // some clients refuse a home below /tmp
	dir := ""
	err := os.MkdirAll(labs, 0o700)
	if err == nil {
		dir, err = os.MkdirTemp(labs, "") // a short name, as the paths of sockets must be
	}
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{
		t: t, client: c, version: v, dir: dir, home: filepath.Join(dir, "home"),
		project: filepath.Join(dir, "shop"), agent: mail.Name(c.name + "-shop"), agreed: map[string]bool{},
	}
	for _, d := range []string{l.home, filepath.Join(l.project, ".git"), filepath.Join(dir, "requests"),
		filepath.Join(dir, "tmp")} {
		l.must(os.MkdirAll(d, 0o700))
	}
	l.must(exec.Command("git", "init", "-q", l.project).Run())
	l.model, err = model.Start(filepath.Join(dir, "requests"))
	l.must(err)
	t.Cleanup(l.end)
	if c.settings != nil {
		c.settings(l)
	}
	if c.trust != nil {
		c.trust(l)
	}
	return l
}

// shell lets the client run commands, as its person would.
func (l *lab) shell() {
	if l.client.shell != nil {
		l.client.shell(l)
	}
}

// grants returns a client.shell that adds arguments which let the client run commands.
func grants(args ...string) func(*lab) {
	return func(l *lab) {
		headless := l.client.headless
		l.client.headless = func(prompt string) []string { return append(headless(prompt), args...) }
		l.client.tui = slices.Concat(l.client.tui, args)
	}
}

// must fails the test for an error of the lab itself.
func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// write makes a file below the home, or at an absolute path. A value other than a string is written as JSON.
func (l *lab) write(path string, v any) {
	l.t.Helper()
	text, ok := v.(string)
	if !ok {
		raw, err := json.MarshalIndent(v, "", "  ")
		l.must(err)
		text = string(raw)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.home, path)
	}
	l.must(os.MkdirAll(filepath.Dir(path), 0o700))
	l.must(os.WriteFile(path, []byte(text), 0o600))
}

// environ is the whole environment of a process in the lab.
func (l *lab) environ() []string {
	env := []string{
		"PATH=" + filepath.Dir(os.Getenv(binaryVar)) + ":" + filepath.Dir(l.version.program) + ":" + os.Getenv("PATH"),
		"HOME=" + l.home, "TMPDIR=" + filepath.Join(l.dir, "tmp"), "PENNYPOST_HOME=" + filepath.Join(l.dir, "pp"),
		"PENNYPOST_LISTEN=none", "TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8", "SHELL=/bin/bash",
		"USER=somebody",
	}
	if l.client.env != nil {
		env = append(env, l.client.env(l)...)
	}
	return append(env, l.more...)
}

// command returns a command in the project, which is killed with all its children when ctx ends.
func (l *lab) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = l.project, l.environ()
	child.OwnGroup(cmd)
	cmd.WaitDelay = time.Second
	return cmd
}

// pp runs pennypost as the person, and returns its output.
func (l *lab) pp(args ...string) string {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := l.command(ctx, typed, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		l.t.Fatalf("pennypost %q: %v\n%s%s", args, err, out, &stderr)
	}
	return string(out)
}

// try runs pennypost as the person, and returns all its output and its error.
func (l *lab) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := l.command(ctx, typed, args...).CombinedOutput()
	return string(out), err
}

// ask runs pennypost with --json and decodes its answer.
func ask[T any](l *lab, args ...string) T {
	l.t.Helper()
	var v T
	out := l.pp(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		l.t.Fatalf("pennypost %q --json: %v in %s", args, err, out)
	}
	return v
}

// install sets the client up, and starts the post office.
func (l *lab) install() {
	l.t.Helper()
	l.pp("install", l.client.name)
	if l.client.installed != nil {
		l.client.installed(l)
	}
	l.startOffice()
}

// startOffice starts the post office, and waits until it answers.
func (l *lab) startOffice() {
	l.t.Helper()
	l.office = l.command(context.Background(), os.Getenv(binaryVar)+"d", "serve")
	log := filepath.Join(l.dir, "office.log")
	to, err := os.OpenFile(log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	l.must(err)
	defer to.Close()
	l.office.Stdout, l.office.Stderr = to, to
	l.must(l.office.Start())
	l.until("the post office is open", func() bool {
		said, _ := os.ReadFile(log)
		return bytes.Contains(said, []byte("The post office is open."))
	})
}

// stopOffice ends the post office as its user would.
func (l *lab) stopOffice() {
	l.t.Helper()
	if l.office == nil {
		return
	}
	_ = l.office.Process.Signal(os.Interrupt) // it may have ended already
	_ = l.office.Wait()                       // with any status
	l.office = nil
}

// send sends mail as the person.
func (l *lab) send(to mail.Name, body string, more ...string) mail.ID {
	l.t.Helper()
	args := []string{"send", "--to", string(to), "--type", "question", "--body", body}
	return ask[mail.Sent](l, append(args, more...)...).ID
}

// agents returns the roster.
func (l *lab) agents() []mail.Agent {
	l.t.Helper()
	return ask[struct{ Agents []mail.Agent }](l, "agents").Agents
}

// state returns an agent's state in the roster; "": the agent is unknown.
func (l *lab) state(name mail.Name) mail.State {
	l.t.Helper()
	for _, a := range l.agents() {
		if a.Name == name {
			return a.State
		}
	}
	return ""
}

// marks returns an agent's marks on a message, in the journal's order: notified, presented, read, …
func (l *lab) marks(id mail.ID, name mail.Name) []mail.Mark {
	l.t.Helper()
	var marks []mail.Mark
	files, _ := filepath.Glob(filepath.Join(l.dir, "pp", "rooms", "*", "mailbox.jsonl"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		l.must(err)
		for line := range strings.Lines(string(text)) {
			var event struct {
				Receipt struct {
					Message mail.ID   `json:"message"`
					Reader  string    `json:"reader"`
					Mark    mail.Mark `json:"mark"`
				} `json:"receipt"`
			}
			l.must(json.Unmarshal([]byte(line), &event))
			if r := event.Receipt; r.Message == id && r.Reader == "agent:"+string(name) {
				marks = append(marks, r.Mark)
			}
		}
	}
	return marks
}

// events returns all events of the journals.
func (l *lab) events() (events []mail.Event) {
	l.t.Helper()
	files, _ := filepath.Glob(filepath.Join(l.dir, "pp", "rooms", "*", "mailbox.jsonl"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		l.must(err)
		for line := range strings.Lines(string(text)) {
			var e mail.Event
			l.must(json.Unmarshal([]byte(line), &e))
			events = append(events, e)
		}
	}
	return events
}

// from waits for a message with a body, and returns its sender.
func (l *lab) from(body string) (from mail.Address) {
	l.t.Helper()
	l.until("mail says "+body, func() bool {
		for line := range strings.Lines(l.pp("export")) {
			var m mail.Message
			l.must(json.Unmarshal([]byte(line), &m))
			if m.Body == body {
				from = m.From
			}
		}
		return from != ""
	})
	return from
}

// exists reports whether the project has a file.
func (l *lab) exists(name string) bool {
	_, err := os.Stat(filepath.Join(l.project, name))
	return err == nil
}

// until waits for a condition, and fails the test if it does not become true.
func (l *lab) until(what string, holds func() bool) {
	l.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// scene describes the state of the lab for a failed test.
func (l *lab) scene() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s; the model was asked:\n", l.dir)
	for _, r := range l.model.Requests() {
		last := ""
		if len(r.Parts) > 0 {
			last = r.Parts[len(r.Parts)-1].Text
			last = last[max(0, len(last)-200):]
		}
		fmt.Fprintf(&b, "%3d %s %s, %d tools, hung up %t: %s\n      … %q\n", r.N, r.At.Format("15:04:05.000"), r.Path,
			len(r.Tools), r.HungUp, r.Answer, last)
	}
	for i := range l.windows {
		fmt.Fprintf(&b, "screen %d:\n%s\n", i+1, (&terminal{l, i + 1}).screen())
	}
	return b.String()
}

// request waits for a request with tools that has all of the texts.
func (l *lab) request(texts ...string) model.Request {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := l.model.Wait(ctx, func(r *model.Request) bool { return len(r.Tools) > 0 && hasAll(r, texts) })
	if err != nil {
		l.t.Fatalf("a request with %q: %v", texts, err)
	}
	return r
}

func hasAll(r *model.Request, texts []string) bool {
	for _, text := range texts {
		if !r.Has(text) {
			return false
		}
	}
	return true
}

// told checks that a request has the body of a message once, and fenced.
func (l *lab) told(r model.Request, body string) {
	l.t.Helper()
	if n := r.Copies(body); n != 1 {
		l.t.Errorf("request %d has %q %d times, want once", r.N, body, n)
	}
	if !fenced(r, body) {
		l.t.Errorf("request %d has %q outside of a fence", r.N, body)
	}
}

// result is the end of a headless run.
type result struct {
	out  string
	err  error
	took time.Duration
}

// begin starts the client for one prompt. The channel receives its result.
func (l *lab) begin(prompt string) <-chan result {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	cmd := l.command(ctx, l.version.program, l.client.headless(prompt)...)
	done, began := make(chan result, 1), time.Now()
	go func() { // ends with the client, which ends with ctx
		defer cancel()
		out, err := cmd.CombinedOutput()
		_ = os.WriteFile(filepath.Join(l.dir, "headless.out"), out, 0o600) // for inspection
		done <- result{string(out), err, time.Since(began)}
	}()
	return done
}

// alone waits until nothing in the lab runs but the post office.
func (l *lab) alone() {
	l.t.Helper()
	l.until("nothing is left but the post office", func() bool { return len(l.processes()) <= 1 })
}

// finished waits for the end of a headless run, which must succeed.
func (l *lab) finished(done <-chan result) {
	l.t.Helper()
	if r := <-done; r.err != nil {
		l.t.Errorf("the headless run: %v\n%s", r.err, r.out)
	}
}

// passed is the output of a gate's command at its end; the command line does not contain it.
const passed = "passed-42"

// gate returns a directive that runs a waiting command, and a function that lets it end.
func (l *lab) gate(name string) (directive string, open func()) {
	path := filepath.Join(l.dir, "tmp", name)
	return fmt.Sprintf("[[sh touch %s.began; until test -e %[1]s; do sleep 0.1; done; printf passed-%%d 42]]", path),
		func() { l.t.Helper(); l.write(path, "") }
}

// began waits until the command of a gate runs.
func (l *lab) began(name string) {
	l.t.Helper()
	l.until("the tool behind "+name, func() bool {
		_, err := os.Stat(filepath.Join(l.dir, "tmp", name+".began"))
		return err == nil
	})
}

// cell is the table's cell for a scenario that passed.
func (l *lab) cell() string {
	if l.seconds == 0 {
		return "✓"
	}
	return fmt.Sprintf("✓ %.1f s", max(0, l.seconds.Seconds()))
}

// end ends all processes of the lab, and checks that none is left that should have ended by itself.
func (l *lab) end() {
	if l.t.Failed() {
		l.t.Logf("as it is left in %s", l.scene())
	}
	if l.windows > 0 {
		_ = l.tmux("kill-server").Run() // it may have ended with its last window
	}
	if l.client.ended != nil {
		l.client.ended(l)
	}
	for pid, args := range l.processes() {
		if l.client.outlives && strings.Contains(args, l.version.program) {
			_ = signal(pid, syscall.SIGKILL) // it may have ended by itself
		}
	}
	office := 0
	if l.office != nil {
		office = l.office.Process.Pid
	}
	l.leftBut(office) // before the office ends: a hook of an ending session would restart it
	l.stopOffice()
	for pid, args := range l.leftBut(0) {
		l.t.Errorf("left behind: %d %s", pid, args)
		_ = signal(pid, syscall.SIGKILL) // it may end by itself meanwhile
	}
	l.model.Close()
	if !*keep && !l.t.Failed() {
		os.RemoveAll(l.dir)
	}
}

// leftBut waits ten seconds for all processes of the lab but one to end, and returns those that did not.
func (l *lab) leftBut(but int) map[int]string {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left := l.processes()
		delete(left, but)
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

// processes returns the command lines of all processes of the lab, recognized by the home in their environment.
func (l *lab) processes() map[int]string {
	found := map[int]string{}
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		env, _ := os.ReadFile("/proc/" + d.Name() + "/environ") // missing for a process that has just ended
		if bytes.Contains(env, []byte("PENNYPOST_HOME="+l.dir+"/")) {
			args, _ := os.ReadFile("/proc/" + d.Name() + "/cmdline")
			found[pid] = strings.TrimSpace(strings.ReplaceAll(string(args), "\x00", " "))
		}
	}
	return found
}

// signal sends a process a signal. It returns an error if the process has ended.
func signal(pid int, sig syscall.Signal) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Signal(sig)
}
