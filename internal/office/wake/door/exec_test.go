package door

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/process"
	"pennypost/internal/mail"
	"pennypost/internal/office/acp/acptest"
	"pennypost/internal/office/wake"
	"pennypost/internal/office/wake/codextest"
	"pennypost/internal/office/wake/sessions"
)

// TestMain lets the test binary act as the commands that Exec runs.
func TestMain(m *testing.M) {
	codextest.Main()
	acptest.Main()
	switch os.Getenv("WAKE_TEST") {
	case "":
		goleak.VerifyTestMain(m)
	case "codex":
		runFakeCodex()
	case "report": // its input
		in, _ := io.ReadAll(os.Stdin)
		fmt.Printf("%s\n", in)
		dir, _ := os.Getwd()
		text := fmt.Sprintf("args %q\ndir %s\nstdin %s", os.Args[1:], dir, in)
		for _, v := range os.Environ() {
			if strings.HasPrefix(v, "PENNYPOST_") {
				text += v + "\n"
			}
		}
		if err := os.WriteFile(os.Getenv("WAKE_FILE"), []byte(text), 0o600); err != nil {
			os.Exit(1)
		}
	case "fail":
		fmt.Println("first line")
		fmt.Fprintln(os.Stderr, "no such \x1b[31msession\xff")
		os.Exit(3)
	case "hang", "family": // hang, with a child that hangs too
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "WAKE_TEST=sleep")
		cmd.Stdout = os.Stdout
		if err := cmd.Start(); err != nil {
			os.Exit(1)
		}
		if err := os.WriteFile(os.Getenv("WAKE_FILE"), fmt.Appendln(nil, cmd.Process.Pid), 0o600); err != nil {
			os.Exit(1)
		}
		if os.Getenv("WAKE_TEST") == "hang" {
			time.Sleep(time.Hour)
		}
	case "sleep":
		time.Sleep(time.Minute)
	case "flood":
		w := bufio.NewWriter(os.Stdout)
		for range 1 << 16 {
			fmt.Fprintln(w, "line")
		}
		fmt.Fprint(w, strings.Repeat("long", 1000))
		w.Flush()
		os.Exit(1)
	}
}

func testRing() wake.Ring {
	return wake.Ring{ID: "ring_1", Room: "lab", Agent: "小克", Role: "orchestrator", Unread: 2, Urgent: 1,
		From: []mail.Address{"agent:x"}, Messages: []mail.ID{"msg_1"}, Text: "2 unread, 1 urgent: read_messages"}
}

// command returns an Exec of the test binary, and the file that the command may write.
func command(t *testing.T, kind string, args ...string) (*Exec, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "out")
	return &Exec{
		Argv: append([]string{self}, args...), Dir: dir, Home: "/home/of/pennypost", Timeout: 30 * time.Second,
		Env: append(os.Environ(), "WAKE_TEST="+kind, "WAKE_FILE="+file, "PENNYPOST_AGENT=somebody-else"),
	}, file
}

func TestExec(t *testing.T) {
	x, file := command(t, "report", "{agent} has {unread}", "--urgent={urgent}", "{room}", "{role}", "{}", "$HOME;`x`")
	if err := x.Ring(t.Context(), testRing()); err != nil {
		t.Fatalf("Ring = %v", err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := jsonx.Marshal(testRing())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`args ["小克 has 2" "--urgent=1" "lab" "orchestrator" "{}" "$HOME;` + "`x`" + `"]`,
		"dir " + x.Dir + "\n", "stdin " + string(ring) + "\n",
		"PENNYPOST_HOME=/home/of/pennypost\n", "PENNYPOST_ROOM=lab\n", "PENNYPOST_AGENT=小克\n",
		"PENNYPOST_ROLE=orchestrator\n", "PENNYPOST_UNREAD=2\n", "PENNYPOST_URGENT=1\n",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the command was not given %q:\n%s", want, got)
		}
	}
}

// A command that resumes a session never runs while the session lives, or may.
func TestExecGone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the name of a program is spelled as on Linux")
	}
	x, file := command(t, "report", "--resume", "{session}")
	project := t.TempDir()
	sleeper := exec.Command(x.Argv[0])
	sleeper.Env = append(os.Environ(), "WAKE_TEST=sleep")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	x.Gone, x.Sessions = true, new(sessions.List)
	r := testRing()
	refused := func(what, want string) {
		t.Helper()
		if err := x.Ring(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Ring = %v, want %q", what, err, want)
		}
		if _, err := os.Stat(file); err == nil {
			t.Fatalf("%s: the command was run", what)
		}
	}
	r.State = mail.Gone
	refused("nothing is known", "no session")
	s := testSession()
	s.Dir, s.Process = project, process.Tree(sleeper.Process.Pid)[0].Key
	x.Sessions.Put(s)
	refused("alive", "live session is not resumed")
	x.Sessions.Drop(s.Room, s.Agent, s.ID)
	refused("said goodbye, and its program runs on", "live session is not resumed")
	x.Sessions.Put(s)
	_ = sleeper.Process.Kill()
	_ = sleeper.Wait()
	r.State = mail.Idle
	refused("the room has the agent for alive", "live session is not resumed")
	r.State = mail.Gone
	if err := x.Ring(t.Context(), r); err != nil {
		t.Fatalf("Ring = %v", err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`args ["--resume" "s1"]`, "dir " + project, "PENNYPOST_AGENT=小克\n"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the command was not given %q:\n%s", want, got)
		}
	}
}

func TestExecFails(t *testing.T) {
	x, _ := command(t, "fail")
	err := x.Ring(t.Context(), testRing())
	if want := "exit status 3: no such  [31msession\ufffd"; err == nil || err.Error() != want {
		t.Errorf("Ring = %v, want %s", err, want)
	}
	if errors.Is(err, wake.ErrOff) {
		t.Error("a command that failed is off")
	}
	x.Argv = []string{"/no/such/command"}
	if err := x.Ring(t.Context(), testRing()); err == nil || !strings.Contains(err.Error(), "could not be run") {
		t.Errorf("Ring of a command that is not there = %v", err)
	}
	x, _ = command(t, "flood")
	if err := x.Ring(t.Context(), testRing()); err == nil || len(err.Error()) > 300 ||
		!strings.Contains(err.Error(), "longlong") {
		t.Errorf("Ring of a command that writes much = %v", err)
	}
}

// A name that an agent chose does not become an option.
func TestExecOptions(t *testing.T) {
	x, file := command(t, "report", "{agent}")
	r := testRing()
	r.Agent = "--dangerously"
	if err := x.Ring(t.Context(), r); err == nil || !strings.Contains(err.Error(), "PENNYPOST_AGENT") {
		t.Errorf("Ring = %v, want it refused", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the command was run")
	}
}

func TestExecHangs(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no process groups")
	}
	x, file := command(t, "hang")
	x.Timeout = time.Second
	began := time.Now()
	err := x.Ring(t.Context(), testRing())
	if err == nil || !strings.Contains(err.Error(), "did not end within 1s") {
		t.Errorf("Ring = %v, want that it was killed", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("Ring took %s", took)
	}
	child, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); alive(strings.TrimSpace(string(child))); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("what the command started lives on")
		}
	}

	x, _ = command(t, "sleep")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := x.Ring(ctx, testRing()); err == nil || time.Since(began) > 20*time.Second {
		t.Errorf("Ring = %v when its context ended", err)
	}
}

// A ring succeeded if its command exited with 0, even if a process that the command started lives on with its output.
func TestExecLeavesSomethingRunning(t *testing.T) {
	t.Parallel()
	x, file := command(t, "family")
	began := time.Now()
	if err := x.Ring(t.Context(), testRing()); err != nil {
		t.Errorf("Ring = %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("Ring took %s", took)
	}
	child, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(string(child))
	if runtime.GOOS == "linux" && !alive(pid) {
		t.Error("what the command started was killed")
	}
	end(pid)
}
