package systemtest

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestP5_Browser: the cookie of a browser that the person has logged in is not valid in a browser that an agent
// runs.
func TestP5_Browser(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	s := newTheatre(t)
	s.tokenSocket(t)
	link := strings.Fields(s.must("open", "--print", "--plain"))[0]
	base, key, _ := strings.Cut(link, "/login?key=")
	jar := filepath.Join(s.root, "cookies")
	page := func(sh, wrap string) string {
		t.Helper()
		look := `curl -sS -o /dev/null -w '%{http_code}' -b ` + jar + " " + base + "/@default/"
		if wrap != "" {
			look = strings.Replace(wrap, "LOOK", look, 1)
		}
		return strings.TrimSpace(s.shell(sh, look, "").stdout)
	}
	login := exec.Command("curl", "-sS", "-o", "/dev/null", "-c", jar, "--data-urlencode", "key="+key, base+"/login")
	if out, err := login.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for _, line := range []struct{ name, sh, script, want string }{
		{"the person's", personSh, "", "200"},
		{"a desktop's", "sh", "", "200"},
		{"in a session", personSh, inSession("b1", "LOOK"), "403"},
		{"in a session that hides", personSh, inSession("b2", "env -i LOOK"), "403"},
		{"of a client before its session", personSh, `cp "$(command -v timeout)" "$ROOT/goose" && "$ROOT/goose" 9 LOOK`, "403"},
	} {
		if got := page(line.sh, line.script); got != line.want {
			t.Errorf("%s browser is answered %s, want %s", line.name, got, line.want)
		}
	}
}

// TestP5_Scripts: the rights of a credential for scripts, and their limits.
func TestP5_Scripts(t *testing.T) {
	s := newTheatre(t)
	token := "PENNYPOST_TOKEN=" + strings.Fields(s.must("credentials", "add", "nightly", "--for", "1h"))[0]
	question := s.must("send", "--to", "user", "--type", "question", "--body", "May I?", "--as", "ann", "--json")
	var q struct{ ID string }
	if err := json.Unmarshal([]byte(question), &q); err != nil {
		t.Fatal(err, question)
	}
	with := func(args ...string) result {
		cmd := exec.Command(binary, args...)
		cmd.Dir, cmd.Env = s.dir, append(s.environ(), token)
		return finishWith(cmd, &bytes.Buffer{})
	}
	for _, args := range [][]string{
		{"send", "--to", "ann", "--body", "x"}, {"inbox"}, {"history"}, {"agents"}, {"mark", q.ID, "--read"},
		{"waiting"},
	} {
		if r := with(args...); r.code != 0 {
			t.Errorf("%q: %d %s", args, r.code, r.stderr)
		}
	}
	for _, args := range [][]string{
		{"answer", q.ID, "yes"}, {"decline", q.ID}, {"agents", "token", "ann"}, {"open", "--print"}, {"invite"},
		{"agents", "update", "ann", "--role", "orchestrator"}, {"erase", q.ID}, {"agents", "retire", "ann"},
		{"credentials", "add", "more"}, {"credentials"}, {"dialogs"}, {"away"},
		{"agents", "freeze", "ann"}, {"withdraw", q.ID}, {"stop"},
		{"backup", filepath.Join(s.root, "all.gz")},
	} {
		if r := with(args...); r.code != 5 {
			t.Errorf("%q is done, or refused for another reason: %d %s%s", args, r.code, r.stdout, r.stderr)
		}
	}
	if out := s.must("waiting", "--json"); !strings.Contains(out, q.ID) {
		t.Errorf("the question is settled: %s", out)
	}
	// It is listed, is valid after a restart, and one for a room opens only that room.
	one := "PENNYPOST_TOKEN=" + strings.Fields(s.must("credentials", "add", "one-room", "--room", "default"))[0]
	s.must("stop")
	if out := s.must("credentials"); !strings.Contains(out, "nightly") || !strings.Contains(out, "room default") ||
		strings.Contains(out, "pp-script") {
		t.Errorf("listed is %s", out)
	}
	if r := with("inbox"); r.code != 0 {
		t.Errorf("after a restart: %d %s", r.code, r.stderr)
	}
	nightly := token
	token = one
	if r := with("inbox"); r.code != 0 {
		t.Errorf("in its room: %d %s", r.code, r.stderr)
	}
	for _, args := range [][]string{{"inbox", "--room", "other"}, {"send", "--room", "other", "--to", "user", "--body",
		"x"}, {"send", "--to", "user@other", "--body", "x"}} {
		if r := with(args...); r.code == 0 {
			t.Errorf("%q by a credential of another room is done: %s", args, r.stdout)
		}
	}
	token = nightly
	s.must("credentials", "revoke", "nightly")
	if r := with("inbox"); r.code != 5 || !strings.Contains(r.stderr, "pennypost credentials add") {
		t.Errorf("after its end: %d %s", r.code, r.stderr)
	}
}

// TestP5_ScriptsOfAMachine: where a machine has joined, a script shows its credential to the post office itself.
func TestP5_ScriptsOfAMachine(t *testing.T) {
	c := newCloud(t)
	s := c.ship(t, "laptop-2")
	token := "PENNYPOST_TOKEN=" + strings.Fields(c.must(t, "credentials", "add", "nightly"))[0]
	script := func(args ...string) result { // without a terminal
		cmd := exec.Command(binary, args...)
		cmd.Dir, cmd.Env = s.dir, append(s.environ(), token)
		return finishWith(cmd, &bytes.Buffer{})
	}
	send := []string{"send", "--room", "default", "--to", "user", "--body", "built"}
	if r := script(send...); r.code != 5 || !strings.Contains(r.stderr, "--remote") {
		t.Errorf("to the relay: %d %s%s", r.code, r.stdout, r.stderr)
	}
	if r := script(append(send, "--remote", "https://"+s.cable.Addr().String())...); r.code != 0 {
		t.Errorf("to the post office: %d %s%s", r.code, r.stdout, r.stderr)
	}
}
