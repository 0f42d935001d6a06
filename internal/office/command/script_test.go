package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pennypost/internal/front/cli"
	front "pennypost/internal/front/verbs"
	"pennypost/internal/persontest"
)

func TestMain(m *testing.M) {
	testscript.Main(seated{m}, map[string]func(){
		"pennypost":  func() { os.Exit(cli.Main(os.Args[1:], cli.System(), front.Front())) },
		"typist":     typist,
		"pennypostd": func() { os.Exit(Main(os.Args[1:], cli.System())) },
	})
}

// seated runs the tests with a terminal, in which a person types the commands found on the path.
type seated struct{ m *testing.M }

// Run implements testscript.TestingM.
func (s seated) Run() int {
	seat, err := persontest.Open()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer seat.Close()
	for _, name := range []string{"pennypost", "pennypostd", "typist", "sh"} {
		real, err := exec.LookPath(name)
		proxy := real
		if err == nil {
			proxy, err = seat.Program(real)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if programs[name] = [2]string{real, proxy}; name != "sh" {
			os.Setenv("PATH", filepath.Dir(proxy)+string(os.PathListSeparator)+os.Getenv("PATH"))
		}
	}
	return s.m.Run()
}

// programs maps a name to a program and to the command that runs it in the terminal. TestMain sets it.
var programs = make(map[string][2]string)

// TestScript runs the real program as its user does, each script with its own data directory and post office.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Setup:               environment,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "saveid": saveID, "race": race, "until": until,
		},
	})
}

// environment gives a script an environment without agent clients. $PENNYPOST runs where it is called, and $SEAT_SH is
// a shell in the terminal.
func environment(env *testscript.Env) error {
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("PENNYPOST_HOME", filepath.Join(env.WorkDir, "h"))
	env.Setenv("PENNYPOST_LISTEN", "127.0.0.1:0")
	env.Setenv("PENNYPOST", programs["pennypost"][0])
	env.Setenv("REAL_PATH", filepath.Dir(programs["pennypost"][0])+string(os.PathListSeparator)+os.Getenv("PATH"))
	env.Setenv("SEAT_SH", programs["sh"][1])
	env.Setenv("PENNYPOST_ROOM", "test")
	env.Setenv("NO_COLOR", "1")
	env.Setenv("GORACE", raceOptions)
	env.Defer(func() {
		home := env.Getenv("PENNYPOST_HOME")
		if _, err := os.Stat(home); err != nil {
			return
		}
		stop := exec.Command("pennypost", "stop")
		stop.Env = append(os.Environ(), "PENNYPOST_HOME="+home)
		stop.Env = append(stop.Env, "CLAUDECODE=", "PENNYPOST_AGENT=")
		if out, err := stop.CombinedOutput(); err != nil {
			env.T().Log("stop: ", err, string(out))
			kill(home)
		}
	})
	return nil
}

// raceOptions keep a program built with -race from sleeping for a second before it exits.
const raceOptions = "atexit_sleep_ms=0"

// kill kills a post office that did not stop.
func kill(home string) {
	text, err := os.ReadFile(filepath.Join(home, "pennypost.lock"))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return
	}
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

// exits N command args… runs a command and checks its exit status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND [ARG...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	status := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		status = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("exit status %d, want %s\n%s", status, args[0], ts.ReadFile("stderr"))
	}
}

// saveid NAME puts the first id in the last standard output into a variable.
func saveID(ts *testscript.TestScript, neg bool, args []string) {
	found := regexp.MustCompile(`msg_[A-Za-z0-9_-]{21}|d-[a-z0-9]{10}`).FindString(ts.ReadFile("stdout"))
	if neg || len(args) != 1 || found == "" {
		ts.Fatalf("no id in the last output")
	}
	ts.Setenv(args[0], found)
}

// race N command args… runs a command N times concurrently; each must succeed.
func race(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[0])
	if neg || err != nil || len(args) < 2 {
		ts.Fatalf("usage: race N COMMAND [ARG...]")
	}
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	outputs, errs := make([]string, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			cmd := exec.Command(path, args[2:]...)
			cmd.Dir = ts.MkAbs(".")
			for _, name := range []string{"HOME", "PATH", "PENNYPOST_HOME", "PENNYPOST_LISTEN", "PENNYPOST_ROOM",
				"GORACE"} {
				cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
			}
			out, err := cmd.CombinedOutput()
			outputs[i], errs[i] = string(out), err
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			ts.Fatalf("run %d: %v\n%s", i, err, outputs[i])
		}
	}
}

// until command args… repeats a command, for at most 10 s, until it succeeds.
func until(ts *testscript.TestScript, neg bool, args []string) {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := ts.Exec(args[0], args[1:]...)
		if (err == nil) != neg {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("it did not come to pass: %v", err)
		}
	}
}
