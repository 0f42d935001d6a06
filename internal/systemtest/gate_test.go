package systemtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// theatre tries the lines of the gate's table: a post office with the agents ann and lead, the orchestrator.
type theatre struct {
	*office
	t *testing.T
}

// joinedTheatre is a theatre on a machine that uses another's post office.
func joinedTheatre(t *testing.T) *theatre {
	t.Helper()
	if runtime.GOOS != "linux" || seat == nil {
		t.Skip("only Linux tells where a process comes from, and a person's terminal is needed")
	}
	s := newCloud(t).ship(t, "laptop-2")
	s.env = append(s.env, "PENNYPOST_ROOM=default")
	th := &theatre{s.office, t}
	th.must("agents", "register", "ann")
	th.must("agents", "register", "lead", "--role", "orchestrator")
	return th
}

func newTheatre(t *testing.T) *theatre {
	t.Helper()
	if runtime.GOOS != "linux" || seat == nil {
		t.Skip("only Linux tells where a process comes from, and a person's terminal is needed")
	}
	s := &theatre{newOffice(t), t}
	s.env = append(s.env, "PENNYPOST_ROOM=default")
	s.must("agents", "register", "ann")
	s.must("agents", "register", "lead", "--role", "orchestrator")
	return s
}

func (s *theatre) must(args ...string) string {
	s.t.Helper()
	r := s.run(args...)
	if r.code != 0 {
		s.t.Fatalf("pennypost %q: %d\n%s%s", args, r.code, r.stdout, r.stderr)
	}
	return strings.TrimSpace(r.stdout)
}

// shell runs a script with a shell; in it $PP is the program itself, and $S the message to send.
func (s *theatre) shell(sh, script, body string, args ...string) result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, sh, append(args, "-c", script)...)
	cmd.Dir = s.dir
	cmd.Env = append(s.environ(), "PP="+binary, "BODY="+body, "ROOT="+s.root, "LC_ALL=C.UTF-8", "TERM=xterm",
		"CLEAN=env -i PATH="+os.Getenv("PATH")+" HOME="+s.root+" PENNYPOST_ROOM=default PENNYPOST_HOME="+s.home)
	cmd.WaitDelay = 5 * time.Second
	return finishWith(cmd, strings.NewReader(""))
}

// sent returns the sender of the message with that body, or "". It waits for background processes to end.
func (s *theatre) sent(body string) string {
	s.t.Helper()
	var page struct {
		Messages []struct{ From, Body string }
	}
	if err := json.Unmarshal([]byte(s.must("history", "--json")), &page); err != nil {
		// one value a line
		for line := range strings.Lines(s.must("history", "--json")) {
			var m struct{ From, Body string }
			if json.Unmarshal([]byte(line), &m) == nil && m.Body == body {
				return m.From
			}
		}
	}
	for _, m := range page.Messages {
		if m.Body == body {
			return m.From
		}
	}
	return ""
}

// inSession returns a script that runs another inside an agent's session: a client that is no shell, whose hook has
// reported it. If the agent's name begins with e, its session is in another room.
func inSession(agent, script string) string {
	room := "$PENNYPOST_ROOM"
	if agent[0] == 'e' {
		room = "elsewhere"
	}
	hook := fmt.Sprintf(
		`printf '{"session_id":"s-%s","cwd":"%%s","hook_event_name":"SessionStart","source":"startup"}' "$PWD" | `+
			`"$PP" hook claude SessionStart --as %s --room %s >/dev/null`,
		agent,
		agent,
		room,
	)
	return "timeout 25 sh -c '" + strings.ReplaceAll(hook+"\n"+script, "'", `'\''`) + "'"
}

// inThreads returns a script that runs another in the thread of an agent, in a program that runs two agents.
func inThreads(agent, other, script string) string {
	hooks := ""
	for _, a := range []string{other, agent} {
		hooks += fmt.Sprintf(`printf '{"session_id":"s-%s","cwd":"%%s","hook_event_name":"SessionStart","source":"startup",`+
			`"transcript_path":"/x/.codex/sessions/r-%s.jsonl"}' "$PWD" | "$PP" hook codex SessionStart --as %s >/dev/null`+"\n", a, a, a)
	}
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	thread := "exec env CODEX_THREAD_ID=s-" + agent + " sh -c " + quote(script)
	return "printf '%s\\0' " + quote(hooks) + " " + quote(thread) +
		" | xargs -0 -n1 sh -c" // it starts one shell for the hooks, and one in the thread
}

// under returns a script that runs a program with arguments, without a terminal, under the name of another and as
// its session's first process, as cron, sshd and the like do.
func under(name, program, args string) string {
	return `mkdir -p "$ROOT/as" && cp "$(command -v ` + program + `)" "$ROOT/as/` + name + `" && setsid -w "$ROOT/as/` + name + `" ` + args
}

// service returns a script that sends without a terminal, below a program with that name.
func service(name, as string) string { return under(name, "timeout", "9 sh -c '"+send+as+"'") }

// detachedTmux begins a command in a tmux without an attached client.
const detachedTmux = `tmux -L pp$$ -f /dev/null new-session -d -s x `

const send = `"$PP" send --to user --body "$BODY"`
const cleanSend = `$CLEAN "$PP" send --to user --body "$BODY"`

// TestP5_Gate tries the lines of the table in docs/security.md with real processes: where a process may speak as the
// user, and where it may not, whatever it says.
func TestP5_Gate(t *testing.T) {
	t.Parallel()
	t.Run("here", func(t *testing.T) { tryGate(t, newTheatre(t), false) })
	t.Run("on a machine that has joined", func(t *testing.T) { tryGate(t, joinedTheatre(t), true) })
}

// tryGate tries the lines; joined leaves out those about credentials, which are made where the post office is.
func tryGate(t *testing.T, s *theatre, joined bool) {
	var nightly, bob, tcp string
	var operator []byte
	if !joined {
		s.tokenSocket(t)
		nightly, operator, bob = s.credentials()
		for _, at := range ask[struct{ Listen []string }](t, s.office, "status").Listen {
			if strings.HasPrefix(at, "http:") {
				tcp = at
			}
		}
	}
	for i, line := range []struct {
		name   string
		sh     string // personSh: in the person's terminal; "sh": without a person
		script string
		from   string // the sender of the message; "": it is refused
		needs  string // a required program
	}{
		{"a terminal", personSh, send, "user", ""},
		{"a pipe in a terminal", personSh, "echo x | " + send + " | cat", "user", ""},
		{"nohup in a terminal that is open", personSh, "nohup " + send, "user", "nohup"},
		{"script in a terminal", personSh, `script -qec '` + send + `' /dev/null`, "user", "script"},
		{"a git hook in a terminal", personSh, `mkdir "$ROOT/repo" && cd "$ROOT/repo" && git init -q . &&
			printf '#!/bin/sh\nexec "$PP" send --to user --body "$BODY"\n' >.git/hooks/pre-commit &&
			chmod +x .git/hooks/pre-commit && git -c user.name=x -c user.email=x@x commit -q --allow-empty -m x`, "user", "git"},
		{"tmux that a person is attached to", personSh, `script -qec 'tmux -L pp$$ -f /dev/null new-session -s x "` +
			`sleep 0.5; $PP send --to user --body \"$BODY\"; sleep 0.5"' /dev/null`, "user", "tmux"},
		{"screen that a person is attached to", personSh, `SCREENDIR="$ROOT/scr1"; mkdir -m 700 "$SCREENDIR"; export SCREENDIR;
			script -qec 'screen -S x sh -c "sleep 0.3; $PP send --to user --body \"$BODY\"; sleep 0.5"' /dev/null`, "user", "screen"},

		{"no terminal", "sh", send, "", ""},
		{"a login, as by ssh HOST", "sh", under("sshd", "script", `-qec '`+send+`' /dev/null`), "user", "script"},
		{"ssh HOST COMMAND", "sh", service("sshd", ""), "", ""},
		{"cron", personSh, service("cron", ""), "", ""},
		{"cron, as an agent of its own", personSh, service("cron", " --as nightly"), "agent:nightly", ""},
		{"at", personSh, service("atd", ""), "", ""},
		{"systemd, systemd-run or a service", personSh, service("systemd", ""), "", ""},
		{"CI", "sh", "CI=true " + service("Runner.Worker", ""), "", ""},
		{"docker run -it or docker exec -it", "sh", under("containerd-shim", "script", `-qec '`+send+`' /dev/null`),
			"", "script"},
		{"su to another user", personSh, `su -s /bin/sh nobody -c '` + send + `'`, "", "su"},
		{"setsid", personSh, "setsid -w " + send, "", "setsid"},
		{"setsid, whose parent ends", personSh, "setsid -f " + send + "; sleep 0.5", "", "setsid"},
		{"a child that has lost its parent", personSh, `sh -c '(sleep 0.3; ` + send + `) &'; sleep 1`, "", ""},
		{"script that has lost its parent", personSh, `setsid -f script -qec '` + send + `' /dev/null; sleep 1`, "", "script"},
		{"tmux that nobody is attached to", personSh, detachedTmux + `"` +
			`$PP send --to user --body \"$BODY\"; sleep 1"; sleep 1`, "", "tmux"},
		{"tmux to which a program of no person is attached", personSh, detachedTmux + `"` +
			`sleep 1; $PP send --to user --body \"$BODY\"; sleep 1"; setsid -f script -qec "tmux -L pp$$ attach -t x" /dev/null; sleep 2.5`,
			"", "tmux"},
		{"screen that nobody is attached to", personSh, `SCREENDIR="$ROOT/scr2"; mkdir -m 700 "$SCREENDIR"; export SCREENDIR;
			screen -dmS x sh -c "sleep 0.3; $PP send --to user --body \"$BODY\"; sleep 0.5"; sleep 1.5`, "", "screen"},
		{"another namespace of processes, in a terminal", personSh, `unshare -pf --mount-proc ` + send + " || true", "user", "unshare"},
		{"another namespace of processes, in none", "sh", `unshare -pf --mount-proc ` + send, "", "unshare"},

		{"a session", personSh, inSession("c1", send), "", ""},
		{"a session that hides its variables", personSh, inSession("c2", cleanSend), "", ""},
		{"a session that says that it is the user", personSh, inSession("c3", cleanSend+" --as user"), "", ""},
		{"a session and setsid", personSh, inSession("c4", "setsid -f "+cleanSend+"; sleep 0.7"), "", ""},
		{"a session and script", personSh, inSession("c5", `script -qec '`+cleanSend+`' /dev/null`), "", "script"},
		{"a session and tmux", personSh, inSession("c6", `$CLEAN TERM=xterm PP="$PP" BODY="$BODY" tmux -L pp$$ -f /dev/null `+
			`new-session -d -s x "$PP send --to user --body $BODY; sleep 1"; sleep 1`), "", "tmux"},
		{"a session that attaches to a tmux of its own", personSh, inSession("c10", detachedTmux+
			`"sleep 1; $PP send --to user --body $BODY; sleep 1"; script -qec "tmux -L pp$$ attach -t x" /dev/null`), "", "tmux"},
		{"a session that attaches to a tmux of its own, as the orchestrator", personSh, inSession("c12", detachedTmux+
			`"sleep 1; $PP send --to user --body $BODY --as lead; sleep 1"; script -qec "tmux -L pp$$ attach -t x" /dev/null`), "", "tmux"},
		{"a session that attaches to a screen of its own", personSh, inSession("c11", `SCREENDIR="$ROOT/scr3"; mkdir -m 700 "$SCREENDIR"; export SCREENDIR;
			screen -dmS x sh -c "sleep 1; $PP send --to user --body \"$BODY\"; sleep 0.5"; script -qec "screen -r x" /dev/null`), "", "screen"},
		{"a session, speaking for itself", personSh, inSession("c7", send+" --as c7"), "agent:c7", ""},
		{"a session, speaking for its child", personSh, inSession("c13", `"$PP" agents register kid --parent c13 --as c13 >/dev/null; `+
			cleanSend+" --as kid"), "agent:kid", ""},
		{"a session, as somebody new, who is its child", personSh, inSession("c14", cleanSend+" --as newborn"),
			"agent:newborn", ""},
		{"a client inside of a session is a session of its own", personSh, inSession("c15",
			inSession("c16", cleanSend+" --as c16")), "agent:c16", ""},
		{"a client inside of a session, speaking for the outer", personSh, inSession("c17",
			inSession("c18", cleanSend+" --as c17")), "", ""},
		{"a session, speaking for another", personSh, inSession("c8", cleanSend+" --as ann"), "", ""},
		{"a session, speaking for the orchestrator", personSh, inSession("c9", cleanSend+" --as lead"), "", ""},
		{"a thread, speaking for itself", personSh, inThreads("f1", "f2", send+" --as f1"), "agent:f1", ""},
		{"a thread, speaking for another", personSh, inThreads("f3", "f4", send+" --as f4"), "", ""},
		{"a thread that says that it is another", personSh, inThreads("f5", "f6",
			"CODEX_THREAD_ID=s-f6 "+send+" --as f6"), "", ""},
		{"a thread that says that it is one of no agent", personSh, inThreads("f7", "f8",
			"CODEX_THREAD_ID=none "+send+" --as f8"), "", ""},
		{"a thread that hides which it is", personSh, inThreads("f9", "f10", cleanSend+" --as f10"), "", ""},

		{"a session of another room, as the user", personSh, inSession("e1", send), "", ""},
		{"a session of another room, as the orchestrator here", personSh, inSession("e2", send+" --as lead"), "", ""},
		{"a session of another room, as an agent here", personSh, inSession("e3", send+" --as ann"), "", ""},
		{"a session of another room, as itself", personSh, inSession("e4", send+" --as e4"), "agent:e4", ""},
		{"a client that sets a variable, unset below it", personSh, `CLAUDECODE=1 timeout 9 sh -c '` + cleanSend + `'`, "", ""},
		{"a client that sets no variable", personSh, `cp "$(command -v timeout)" "$ROOT/goose" && "$ROOT/goose" 9 sh -c '` +
			cleanSend + `'`, "", ""},

		{"a client that sets no variable, before its session, under a free name", personSh, `cp "$(command -v timeout)" "$ROOT/crush" &&
			"$ROOT/crush" 9 sh -c '` + cleanSend + ` --as fresh'`, "agent:fresh", ""},
		{"a client before its session, as the orchestrator", personSh, `CLAUDECODE=1 timeout 9 sh -c '` + cleanSend + ` --as lead'`, "", ""},
		{"a client before its session, as one that runs elsewhere", personSh,
			inSession("c19", cleanSend+" --as c19 & sleep 2") +
				` & sleep 1; CLAUDECODE=1 timeout 9 sh -c 'BODY=forged-$BODY; ` + cleanSend + ` --as c19'`, "agent:c19", ""},

		{"a script with a credential", "sh", "PENNYPOST_TOKEN=" + nightly + " " + send, "user", ""},
		{"a script with another's credential", "sh", "PENNYPOST_TOKEN=" + nightly + "x " + send, "", ""},
		{"a credential in a session", personSh, inSession("d1", "PENNYPOST_TOKEN="+nightly+" "+send), "", ""},
		{"a credential in a session, shown", personSh, inSession("d2", `$CLEAN PENNYPOST_TOKEN=`+nightly+
			` "$PP" send --to user --body "$BODY"`), "", ""},
		{"an agent's token outranks where it runs", personSh, inSession("d3", `$CLEAN PENNYPOST_TOKEN=`+bob+
			` "$PP" send --to user --body "$BODY" --remote unix:"$ROOT/tokens.sock"`), "agent:bob", ""},
		{"the operator's token in a session", personSh, inSession("d4", `$CLEAN PENNYPOST_TOKEN=`+
			strings.TrimSpace(string(operator))+` "$PP" send --to user --body "$BODY" --remote unix:"$ROOT/tokens.sock"`), "", ""},

		{"the operator's token in a session, over TCP", personSh, inSession("d5", `$CLEAN PENNYPOST_TOKEN=`+
			strings.TrimSpace(string(operator))+` "$PP" send --to user --body "$BODY" --remote `+tcp), "", ""},
		{"a script's credential in a session, over TCP", personSh, inSession("d6", `$CLEAN PENNYPOST_TOKEN=`+nightly+
			` "$PP" send --to user --body "$BODY" --remote `+tcp), "", ""},
		{"a script's credential in no session, over TCP", "sh", `$CLEAN PENNYPOST_TOKEN=` + nightly +
			` "$PP" send --to user --body "$BODY" --remote ` + tcp, "user", ""},

		{"no terminal, as an agent of its own", "sh", send + " --as cron", "agent:cron", ""},
		{"no terminal, as the orchestrator", "sh", send + " --as lead", "", ""},
		{"a terminal, as the orchestrator", personSh, send + " --as lead", "agent:lead", ""},
	} {
		t.Run(line.name, func(t *testing.T) {
			if joined && strings.Contains(line.script, "PENNYPOST_TOKEN") {
				t.Skip("credentials are made where the post office is")
			}
			if line.needs != "" {
				if _, err := exec.LookPath(line.needs); err != nil {
					t.Skip("there is no ", line.needs)
				}
			}
			sub := &theatre{s.office, t}
			body := fmt.Sprint("line-", i)
			r := sub.shell(line.sh, line.script, body)
			if got := sub.sent(body); got != line.from {
				t.Errorf("sent as %q, want %q\n%d %s%s", got, line.from, r.code, r.stdout, r.stderr)
			}
			if line.from == "" && r.code == 0 && !strings.Contains(line.script, "; sleep") {
				t.Errorf("it ended with 0:\n%s%s", r.stdout, r.stderr)
			}
		})
	}
}

// credentials makes a credential for scripts and the agent bob with a token, and returns both and the operator's
// token.
func (s *theatre) credentials() (nightly string, operator []byte, bob string) {
	s.t.Helper()
	nightly = strings.Fields(s.must("credentials", "add", "nightly"))[0]
	operator, err := os.ReadFile(filepath.Join(s.home, "token"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.must("agents", "register", "bob")
	return nightly, operator, s.must("agents", "token", "bob")
}

// tokenSocket makes the post office listen at ROOT/tokens.sock, and at a port of loopback.
func (s *theatre) tokenSocket(t *testing.T) {
	t.Helper()
	file := filepath.Join(s.home, "config.toml")
	text := fmt.Sprintf("token_socket = %q\n", filepath.Join(s.root, "tokens.sock"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, "PENNYPOST_LISTEN=127.0.0.1:0")
	s.must("stop")
	s.must("agents")
}

// TestP5_OtherUser: a process of another user, or in its own container, gets only the access of its token.
func TestP5_OtherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root becomes another user")
	}
	s := newTheatre(t)
	s.tokenSocket(t)
	_, operator, _ := s.credentials()
	token := s.must("agents", "token", "ann")
	pp := filepath.Join(s.root, "pennypost")
	if out, err := exec.Command("cp", binary, pp).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if err := os.Chmod(s.root, 0o711); err != nil {
		t.Fatal(err)
	}
	as := func(variables []string, args ...string) result {
		cmd := exec.Command(pp, args...)
		cmd.Dir = "/"
		cmd.Env = append(
			[]string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "PENNYPOST_AUTOSTART=0"},
			variables...)
		asNobody(cmd)
		return finishWith(cmd, strings.NewReader(""))
	}
	socket := "unix:" + filepath.Join(s.root, "tokens.sock")
	r := as([]string{"PENNYPOST_TOKEN=" + token}, "send", "--remote", socket, "--to", "user", "--body", "hello")
	if r.code != 0 {
		t.Errorf("with its token: %d %s", r.code, r.stderr)
	}
	if got := s.sent("hello"); got != "agent:ann" {
		t.Errorf("sent as %q", got)
	}
	for what, r := range map[string]result{
		"without a token": as(nil, "send", "--remote", socket, "--to", "user", "--body", "forged"),
		"as another": as([]string{"PENNYPOST_TOKEN=" + token}, "send", "--remote", socket, "--as", "lead",
			"--to", "user",
			"--body", "forged"),
		"as the user": as([]string{"PENNYPOST_TOKEN=" + token}, "agents", "token", "lead", "--remote", socket),
		"at the user's socket": as([]string{"PENNYPOST_TOKEN=" + token, "PENNYPOST_HOME=" + s.home}, "send", "--to",
			"user",
			"--body", "forged"),
	} {
		if r.code == 0 || strings.Contains(r.stdout, "pp.") {
			t.Errorf("%s: %d %s", what, r.code, r.stdout)
		}
	}
	// Nor would the socket let it in if the data directory were open to it: the kernel identifies the caller.
	for path, mode := range map[string]os.FileMode{s.home: 0o711, filepath.Join(s.home, "pennypost.sock"): 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"user", "stranger"} {
		if r := as([]string{"PENNYPOST_HOME=" + s.home}, "send", "--as", name, "--to", "user", "--body",
			"forged"); r.code == 0 {
			t.Errorf("at the user's socket, which is open, as %s: %s", name, r.stdout)
		}
	}
	if s.sent("forged") != "" {
		t.Error("it was sent")
	}
	theirs := exec.Command("setpriv", "--reuid=65534", "--clear-groups", "cat", filepath.Join(s.home, "token"))
	if text, err := theirs.Output(); err == nil &&
		strings.Contains(string(text), strings.TrimSpace(string(operator))) {
		t.Error("another user reads the operator's token")
	}
}

// TestP5_OutsideOfSight: a post office in a container does not take callers that it cannot see for the person.
func TestP5_OutsideOfSight(t *testing.T) {
	t.Run("here", func(t *testing.T) { outOfSight(t, newTheatre(t), "serve") })
	t.Run("on a machine that has joined", func(t *testing.T) { outOfSight(t, joinedTheatre(t), "relay") })
}

func outOfSight(t *testing.T, s *theatre, office string) {
	s.must("stop")
	cmd := exec.Command("unshare", "-pf", "--kill-child", "--mount-proc", binary, office)
	cmd.Dir, cmd.Env = s.dir, s.environ()
	if err := cmd.Start(); err != nil {
		t.Skip("there is no unshare: ", err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	var r result
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if r = s.run("status"); r.code == 0 {
			break
		}
		select {
		case <-t.Context().Done():
			return
		default:
		}
	}
	if r = s.run("send", "--to", "user", "--body", "x"); r.code != 5 ||
		!strings.Contains(r.stderr, "another container") {
		t.Errorf("send: %d %s%s", r.code, r.stdout, r.stderr)
	}
	for name, want := range map[string]int{"guest": 0, "lead": 5} {
		if r = s.run("send", "--to", "ann", "--body", "x", "--as", name); r.code != want {
			t.Errorf("send as %s: %d %s%s; want %d", name, r.code, r.stdout, r.stderr, want)
		}
	}
}

// TestP5_ProcOfOthers: in a process namespace that has the /proc of another, a process id leads to another process
// there. A caller whose id equals that of the person's shell outside is not the person.
func TestP5_ProcOfOthers(t *testing.T) {
	s := newTheatre(t)
	s.must("stop")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	at := exec.CommandContext(ctx, personSh, "-c", "echo $$; exec sleep 60")
	at.Env = s.environ()
	out, err := at.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := at.Start(); err != nil {
		t.Fatal(err)
	}
	defer at.Wait()
	defer at.Process.Kill()
	persons, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	script := `export PENNYPOST_AUTOSTART=0
"$PP" serve >/dev/null 2>&1 &
n=0
until "$PP" status >/dev/null 2>&1; do n=$((n + 1)); [ $n -lt 300 ] || exit 9; sleep 0.1; done
echo $((` + strings.TrimSpace(persons) + ` - 1)) >/proc/sys/kernel/ns_last_pid || exit 9
"$PP" send --to user --body "$BODY"`
	r := s.shell("unshare", script, "as somebody", "-pf", "--kill-child", "sh")
	if r.code == 9 || strings.Contains(r.stderr, "unshare") {
		t.Skip("no process namespace, or no number can be chosen there: ", r.stderr)
	}
	if r.code != 5 {
		t.Errorf("a process with the number of the person's shell sends: %d %s%s", r.code, r.stdout, r.stderr)
	}
}
