package systemtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pennypost/internal/fence/fencetest"
)

// TestScripts runs testdata/script. commands lists the scripts' commands beyond testscript's own.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scripts("testdata/script"))
}

// TestScriptsInBothEras runs testdata/script/eras once for each pair of protocol revisions: $ERA1 and $ERA2.
func TestScriptsInBothEras(t *testing.T) {
	t.Parallel()
	for _, one := range eras() {
		for _, two := range eras() {
			t.Run(one+"_"+two, func(t *testing.T) {
				t.Parallel()
				testscript.Run(t, scripts("testdata/script/eras", "ERA1="+one, "ERA2="+two))
			})
		}
	}
}

func scripts(dir string, env ...string) testscript.Params {
	return testscript.Params{
		Dir:   dir,
		Cmds:  commands(),
		Setup: func(e *testscript.Env) error { return setUp(e, env) },
		Condition: func(name string) (bool, error) {
			if name == "jetstream" {
				return scriptServers != nil, nil
			}
			return false, fmt.Errorf("there is no condition %s", name)
		},
		// A command that fails to end is ended by then, long before all tests are.
		Deadline: time.Now().Add(12 * patience),
	}
}

// stage is the state for the commands of one script.
type stage struct {
	*office
	daemon *daemon
	agents map[string]*agent
}

type stageKey struct{}

func setUp(e *testscript.Env, env []string) error {
	o, err := makeOffice()
	if err != nil {
		return err
	}
	s := &stage{office: o, agents: make(map[string]*agent)}
	e.Values[stageKey{}] = s
	e.Defer(func() {
		for _, a := range s.agents {
			a.session.Close()
		}
		o.clear()
	})
	o.dir = e.WorkDir
	if err := useServers(o.home, o.dir); err != nil {
		return err
	}
	for _, v := range append(o.environ(), env...) {
		if !strings.HasPrefix(v, "TMPDIR=") { // the script has its own
			e.Vars = append(e.Vars, v)
		}
	}
	// A program called by this path runs in place; $SEAT_SH is a shell in the terminal.
	e.Setenv("SEAT_SH", personSh)
	e.Setenv("PENNYPOST", binary)
	e.Setenv("PERSON_SH", personSh)
	e.Setenv("HOME2", filepath.Join(o.root, "home2"))
	// Git must not ask for the author of a commit.
	e.Vars = append(e.Vars, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	return nil
}

// verb is a command of scripts. Its error fails the script, unless "!" precedes the command.
type verb func(s *stage, ts *testscript.TestScript, args []string) error

func commands() map[string]func(*testscript.TestScript, bool, []string) {
	verbs := map[string]verb{
		"serve":   cmdServe,   // serve [FLAG...]: starts the post office; sets $HTTP, $SOCKET and $TLSADDR
		"stopped": cmdStopped, // stopped: sends SIGTERM; the post office must end in order
		"killed":  cmdKilled,  // killed: kills the post office
		// agent [KEY=]NAME ERA [FLAG...]: starts "pennypost mcp --as NAME FLAG..." and connects; other commands say
		// KEY
		"agent":     cmdAgent,
		"agenthttp": cmdAgentHTTP, // agenthttp NAME ERA TOKEN: connects to $HTTP/mcp
		"bye":       cmdBye,       // bye NAME: ends the agent's session in order
		"agentkill": cmdAgentKill, // agentkill NAME: kills the agent's server
		// call NAME TOOL [JSON]: its text is the standard output, the text of a failed tool the standard error
		"call":  cmdCall,
		"exits": cmdExits, // exits STATUS COMMAND [ARG...]: like exec, and the exit status must be STATUS
		// http STATUS METHOD PATH [-operator] [-token T] [-H 'NAME: VALUE'] [BODY]: to $HTTP
		"http":     cmdHTTP,
		"watchers": cmdWatchers, // watchers N: waits until that many watches and waits are open
		// is PATH VALUE: of the JSON on standard output; PATH is like messages.0.id, messages.len counts
		"is":       cmdIs,
		"let":      cmdLet,      // let NAME PATH: sets a variable to a value of the JSON on standard output
		"grephome": cmdGrepHome, // grephome TEXT: some file below $PENNYPOST_HOME contains it
		// logged TEXT: the post office has written it to standard error; @token is the operator's token
		"logged":  cmdLogged,
		"daemons": cmdDaemons, // daemons N: that many post offices run, now or soon
		"until":   cmdUntil,   // until TEXT COMMAND [ARG...]: repeats the command until it succeeds and says TEXT
	}
	out := make(map[string]func(*testscript.TestScript, bool, []string))
	for name, v := range verbs {
		out[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			s := ts.Value(stageKey{}).(*stage)
			s.home = ts.Getenv("PENNYPOST_HOME") // a script may change its home
			err := v(s, ts, args)
			switch {
			case neg && err == nil:
				ts.Fatalf("%s %q succeeded", name, args)
			case !neg && err != nil:
				ts.Fatalf("%s %q: %v", name, args, err)
			}
		}
	}
	return out
}

// settings are the variables that a script may set for processes that its commands start.
func settings(ts *testscript.TestScript) (env []string) {
	for _, name := range []string{"PENNYPOST_ROOM", "PENNYPOST_LOG"} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func cmdServe(s *stage, ts *testscript.TestScript, args []string) (err error) {
	s.env = settings(ts)
	if s.daemon, err = s.serve(args...); err != nil {
		return err
	}
	ts.Setenv("HTTP", s.daemon.HTTP)
	ts.Setenv("SOCKET", s.daemon.Socket)
	ts.Setenv("TLSADDR", strings.TrimPrefix(s.daemon.HTTPS, "https://"))
	return nil
}

func cmdStopped(s *stage, _ *testscript.TestScript, _ []string) error { return s.daemon.terminate() }

func cmdKilled(s *stage, _ *testscript.TestScript, _ []string) error {
	s.daemon.kill()
	return nil
}

func cmdAgent(s *stage, ts *testscript.TestScript, args []string) error {
	if len(args) < 2 {
		return errors.New("usage: agent NAME ERA [FLAG...]")
	}
	key, name, ok := strings.Cut(args[0], "=")
	if !ok {
		name = key
	}
	s.env = settings(ts)
	a, err := s.office.agent(args[1], append([]string{"--as", name}, args[2:]...)...)
	if err != nil {
		fmt.Fprintln(ts.Stderr(), err)
		return err
	}
	s.agents[key] = a
	return nil
}

func cmdAgentHTTP(s *stage, ts *testscript.TestScript, args []string) error {
	if len(args) != 3 {
		return errors.New("usage: agenthttp NAME ERA TOKEN")
	}
	d := s.daemon.door(args[2])
	a, err := agentHTTP(args[1], s.daemon.MCP, &http.Client{Transport: d})
	if err == nil {
		s.agents[args[0]] = a
	}
	return err
}

// find returns an agent that a script has named.
func (s *stage) find(args []string) (*agent, error) {
	if len(args) == 0 || s.agents[args[0]] == nil {
		return nil, errors.New("no such agent")
	}
	return s.agents[args[0]], nil
}

func cmdBye(s *stage, _ *testscript.TestScript, args []string) error {
	a, err := s.find(args)
	if err != nil {
		return err
	}
	delete(s.agents, args[0])
	return a.session.Close()
}

func cmdAgentKill(s *stage, _ *testscript.TestScript, args []string) error {
	a, err := s.find(args)
	if err != nil {
		return err
	}
	delete(s.agents, args[0])
	a.kill()
	return nil
}

func cmdCall(s *stage, ts *testscript.TestScript, args []string) error {
	a, err := s.find(args)
	if err != nil || len(args) < 2 {
		return errors.Join(err, errors.New("usage: call NAME TOOL [JSON]"))
	}
	text, err := a.call(context.Background(), args[1], rawArgs(args[2:]))
	if err != nil {
		fmt.Fprintln(ts.Stderr(), err)
		return err
	}
	if letters, end, err := fencetest.Parse(text); err != nil {
		return err
	} else if len(letters) > 0 { // so that scripts read it like other answers
		line, err := json.Marshal(map[string]any{"messages": letters, "end": end})
		if err != nil {
			return err
		}
		text = string(line)
	}
	fmt.Fprintln(ts.Stdout(), text)
	return nil
}

func cmdExits(_ *stage, ts *testscript.TestScript, args []string) error {
	want, err := strconv.Atoi(args[0])
	if err != nil || len(args) < 2 {
		return errors.New("usage: exits STATUS COMMAND [ARG...]")
	}
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("exit status %d, want %d", got, want)
	}
	return nil
}

func cmdHTTP(s *stage, ts *testscript.TestScript, args []string) error {
	if len(args) < 3 {
		return errors.New("usage: http STATUS METHOD PATH [-operator] [-token T] [-H 'NAME: VALUE'] [BODY]")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	d, body, fields := s.daemon.door(""), "", []string(nil)
	for rest := args[3:]; len(rest) > 0; {
		switch {
		case rest[0] == "-operator":
			if d.token, err = s.operatorToken(); err != nil {
				return err
			}
			rest = rest[1:]
		case rest[0] == "-token" && len(rest) > 1:
			d.token, rest = rest[1], rest[2:]
		case rest[0] == "-H" && len(rest) > 1:
			fields, rest = append(fields, rest[1]), rest[2:]
		default:
			body, rest = rest[0], rest[1:]
		}
	}
	a, err := d.do(args[1], args[2], body, fields...)
	if err != nil {
		return err
	}
	fmt.Fprintln(ts.Stdout(), a.body)
	if a.status != want {
		return fmt.Errorf("status %d, want %d: %s", a.status, want, a.body)
	}
	return nil
}

func cmdWatchers(s *stage, _ *testscript.TestScript, args []string) error {
	return s.awaitWatchers(args[0])
}

func cmdGrepHome(s *stage, _ *testscript.TestScript, args []string) error {
	found, err := grep(s.home, args[0])
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no file contains %q", args[0])
	}
	return err
}

func cmdLogged(s *stage, _ *testscript.TestScript, args []string) (err error) {
	text := args[0]
	if text == "@token" {
		if text, err = s.operatorToken(); err != nil {
			return err
		}
	}
	if !strings.Contains(s.daemon.log.String(), text) {
		return fmt.Errorf("the log does not contain %q:\n%s", text, s.daemon.log)
	}
	return nil
}
