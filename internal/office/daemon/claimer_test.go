package daemon

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pennypost/internal/front/hookpipe"
	"pennypost/internal/mail"
	"pennypost/internal/office/caller"
	"pennypost/internal/office/hook/hooktest"
	"pennypost/internal/office/rooms"
	"pennypost/internal/policy"
	"pennypost/internal/wire"
)

var claimSteps = flag.Int("claims.steps", 700, "random tool calls of each test of claims")

// field is a post office with agents at work in the trees below a home. It runs on synctest's time.
type field struct {
	*testing.T
	home   string
	office *caller.Rooms
	hooks  *caller.Hooks
	agents []*claimer
	beaten time.Time // when the agents' sessions were last heard of
}

// claimer is an agent's client. Its hooks get the recorded inputs of the real client's hooks.
type claimer struct {
	*field
	tape  hooktest.Tape
	name  mail.Name
	scene hooktest.Scene
	works bool
	ended time.Time // its last turn
	uses  int
}

// newField returns a field with an agent of each recorded client, each in its own directory.
func newField(t *testing.T, rule policy.ClaimRule, home string, dirs map[string]string) *field {
	t.Helper()
	cfg := testConfig(t)
	cfg.Room.Claims = string(rule)
	f := &field{T: t, home: home,
		office: newOffice(&cfg, slog.New(slog.DiscardHandler), rooms.NewMetrics())}
	f.hooks = &caller.Hooks{Rooms: f.office}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { f.office.Set.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		must(t, f.office.Set.Close())
	})
	tapes, err := hooktest.Tapes()
	must(t, err)
	for _, tape := range tapes {
		name := tape.Client.Name
		a := &claimer{field: f, tape: tape, name: mail.Name(name + "-shop"),
			scene: hooktest.Scene{Session: "session-of-" + name, Dir: dirs[name], Home: home, Prompt: "go on"}}
		f.agents = append(f.agents, a)
		a.at(mail.SessionStart)
		a.begin()
	}
	if len(f.agents) < 7 {
		t.Fatalf("%d clients are recorded", len(f.agents))
	}
	return f
}

// run stands in for the process of a hook, and for the path to the post office except the connection.
func (a *claimer) run(h *wire.Hook) hooktest.Result {
	var out, errs bytes.Buffer
	h.As, h.Room = string(a.name), "shop"
	h.Environ = append(h.Environ, "HOME="+a.home)
	p := hookpipe.Pipe{Hook: *h, Stdin: bytes.NewReader(h.Input), Stdout: &out, Stderr: &errs,
		Enter: func(bool) (hookpipe.Office, error) { return counter{a.hooks}, nil },
		Debug: func(why string) { a.Errorf("%s %s is silent: %s", a.name, h.Event, why) }}
	exit := p.Run(a.Context())
	return hooktest.Result{Out: out.String(), Err: errs.String(), Exit: exit}
}

// counter delivers hooks as their requests do.
type counter struct{ hooks *caller.Hooks }

func (c counter) Hook(ctx context.Context, h *wire.Hook) (wire.HookAnswer, error) {
	in := wire.Hook{Client: h.Client, Event: h.Event, Input: h.Input}
	if err := in.SetHeader(h.Header()); err != nil {
		return wire.HookAnswer{}, err
	}
	return c.hooks.Answer(ctx, &in, func() {})
}

func (c counter) HookAsking(ctx context.Context, h *wire.Hook, _ func()) (wire.HookAnswer, error) {
	return c.Hook(ctx, h)
}

func (c counter) HookTaken(ctx context.Context, ticket string) error {
	return c.hooks.Taken(ctx, ticket)
}

// at reports a moment, if the client does.
func (a *claimer) at(m mail.Moment) {
	a.Helper()
	if r := a.tape.At[m]; r != nil {
		_, err := a.tape.Play(r, &a.scene, a.run)
		must(a.T, err)
	}
}

func (a *claimer) begin() {
	a.Helper()
	a.at(mail.TurnStart)
	a.works = true
}

func (a *claimer) end() {
	a.Helper()
	goesOn, err := a.tape.End(&a.scene, a.run)
	must(a.T, err)
	a.works, a.ended = goesOn, time.Now()
}

// tool makes the agent call a tool, and returns why the call was refused, or "".
func (a *claimer) tool(tool *hooktest.Tool, given string) (refused string) {
	a.Helper()
	a.uses++
	s := a.scene
	s.Use, s.File, s.Command = fmt.Sprint(a.name, a.uses), given, given
	e, err := a.tape.Play(tool.Before, &s, a.run)
	must(a.T, err)
	if e.Deny == "" && tool.After != nil {
		_, err = a.tape.Play(tool.After, &s, a.run)
		must(a.T, err)
	}
	return e.Deny
}

// shell makes the agent run a command.
func (a *claimer) shell(command string) (refused string) {
	a.Helper()
	for i := range a.tape.Tools {
		if t := &a.tape.Tools[i]; t.Shell() {
			return a.tool(t, command)
		}
	}
	a.Fatalf("%s has no shell", a.name)
	return ""
}

// files returns the client's tools that read a file, or those that write one.
func (a *claimer) files(reads bool) (tools []*hooktest.Tool) {
	for i := range a.tape.Tools {
		t := &a.tape.Tools[i]
		name := strings.ToLower(t.Name)
		if !t.Shell() && reads == (strings.HasPrefix(name, "read") || name == "view") {
			tools = append(tools, t)
		}
	}
	return tools
}

// beat lets time pass. Agents whose clients run are heard of, as through their MCP servers.
func (f *field) beat(d time.Duration) {
	f.Helper()
	time.Sleep(d)
	if time.Since(f.beaten) < time.Minute {
		return
	}
	f.beaten = time.Now()
	for _, a := range f.agents {
		_, err := f.office.Own(f.Context(), "shop", a.name).Register(f.Context(),
			mail.Presence{Session: a.scene.Session})
		must(f.T, err)
	}
}

// repository makes a repository in a directory, and returns that.
func repository(t *testing.T, dir string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	put(t, filepath.Join(dir, ".gitignore"), "build/\n*.log\ngen/*\n!gen/keep.go\n")
	put(t, filepath.Join(dir, "src", ".gitignore"), "*.pb.go\n")
	gitIn(t, dir, "init", "-q")
	gitIn(t, dir, "add", ".")
	gitIn(t, dir, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "x")
	return dir
}

func gitIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

// homeDir returns a directory whose path has no links.
func homeDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}
