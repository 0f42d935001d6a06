package acceptance

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// clientVariable makes the test binary an agent's client: a process of its own that runs hooks and commands. A
// process that runs hooks is the agent's session from then on, and the test has to remain the person.
const clientVariable = "ACCEPTANCE_CLIENT"

// order is a command for a client.
type order struct {
	Program, Dir, Stdin string
	Args, Env           []string
}

// outcome is a result sent through a pipe.
type outcome struct {
	Stdout, Stderr string
	Code           int
}

// clientMain executes orders until there are no more.
func clientMain() {
	orders, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			return
		}
		cmd := exec.Command(o.Program, o.Args...)
		cmd.Dir, cmd.Env, cmd.Stdin = o.Dir, o.Env, strings.NewReader(o.Stdin)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		r := outcome{stdout.String(), stderr.String(), 0}
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			r.Code = exit.ExitCode()
		} else if err != nil {
			r.Code, r.Stderr = -1, r.Stderr+err.Error()
		}
		if answers.Encode(r) != nil {
			return
		}
	}
}

// session is an agent's client with a session of its own.
type session struct {
	*office
	id      string
	env     []string
	cmd     *exec.Cmd
	orders  io.WriteCloser
	answers *json.Decoder
}

// session starts a client whose shells and hooks have these variables.
func (o *office) session(t *testing.T, id string, env ...string) *session {
	t.Helper()
	s := &session{office: o, id: id, env: o.environ(env...), cmd: exec.Command(os.Args[0])}
	s.cmd.Env, s.cmd.Dir = append(s.env, clientVariable+"=1"), o.dir
	var err error
	if s.orders, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.answers = json.NewDecoder(out)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	return s
}

// kill ends the client as a crash does.
func (s *session) kill() {
	_ = s.cmd.Process.Kill() // it may have ended by itself
	_ = s.cmd.Wait()
}

// shell runs a command in the client's session.
func (s *session) shell(t *testing.T, program, stdin string, args ...string) result {
	t.Helper()
	err := json.NewEncoder(s.orders).Encode(order{program, s.dir, stdin, args, s.env})
	var r outcome
	if err == nil {
		err = s.answers.Decode(&r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return result{r.Stdout, r.Stderr, r.Code}
}

// does runs a Pennypost command in the client's session.
func (s *session) does(t *testing.T, args ...string) result {
	t.Helper()
	return s.shell(t, s.program, "", args...)
}

// hook runs the hook of a Claude Code event, which must not fail, and returns its output.
func (s *session) hook(t *testing.T, event string, more args) string {
	t.Helper()
	in := args{"session_id": s.id, "cwd": s.dir, "hook_event_name": event}
	for k, v := range more {
		in[k] = v
	}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	r := s.shell(t, s.program, string(text), "hook", "claude", event)
	if r.code != 0 {
		t.Fatalf("the hook of %s fails: %+v", event, r)
	}
	return r.stdout
}
