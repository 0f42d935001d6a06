package systemtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// asksToLead returns the card with which a client's session asks to be the orchestrator.
func (s *theatre) asksToLead() string {
	s.t.Helper()
	hook := exec.Command(binary, "hook", "claude", "SessionStart", "--as", "orchestrator")
	hook.Dir, hook.Env = s.dir, s.environ()
	r := finishWith(hook, strings.NewReader(`{"session_id":"lead","hook_event_name":"SessionStart","source":"startup"}`))
	for _, it := range ask[mail.Page](s.t, s.office, "inbox", "--open").Messages {
		if it.From == mail.FromSystem {
			return string(it.ID)
		}
	}
	s.t.Fatalf("no card asks: %+v", r)
	return ""
}

// TestConfirm: with [user] confirm acts of weight ask for the passphrase, once per terminal; other acts do not.
func TestConfirm(t *testing.T) {
	s := newTheatre(t)
	file := filepath.Join(s.home, "config.toml")
	if err := os.WriteFile(file, []byte("[user]\nconfirm = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.must("stop")
	typed := func(keys, command string) result {
		return s.shell(personSh, `printf '`+keys+`' | script -qec '`+command+`' /dev/null`, "x")
	}
	s.must("send", "--to", "ann", "--body", "no weight")
	question := ask[mail.Sent](t, s.office, "send", "--as", "ann", "--to", "user", "--type", "question", "--body",
		"May I?").ID
	erased := ask[mail.Sent](t, s.office, "send", "--to", "ann", "--body", "erase this").ID
	if r := typed("", `"$PP" agents token ann`); r.code == 0 ||
		!strings.Contains(r.stdout, "credentials passphrase") {
		t.Errorf("without a passphrase: %d %s", r.code, r.stdout)
	}
	if r := typed(`\nlong enough\nlong enough\n`, `"$PP" credentials passphrase`); r.code != 0 {
		t.Fatalf("set: %d %s", r.code, r.stdout)
	}
	card := s.asksToLead()
	for _, words := range []string{
		"agents token ann", "open --print", "invite", "credentials add more", "credentials passphrase",
		"agents update ann --role orchestrator", "agents register boss --role orchestrator",
		"agents register orchestrator", "agents rename ann orchestrator",
		"agents grant ann --role orchestrator", "erase " + string(erased),
		"answer " + card + " Allow", "send --to system --reply-to " + card + " --type answer --body Allow",
	} {
		if r := s.run(strings.Fields(words)...); r.code != 5 || !strings.Contains(r.stderr,
			"no passphrase was typed") {
			t.Errorf("%s, where nothing is typed: %d %s%s", words, r.code, r.stdout, r.stderr)
		}
	}
	if list := s.must("agents", "--json"); strings.Count(list, `"roles":["orchestrator"]`) != 1 ||
		strings.Contains(list, "boss") {
		t.Errorf("somebody was made the orchestrator: %s", list)
	}
	if s.sent("erase this") == "" {
		t.Error("it was erased")
	}
	s.must("answer", string(question), "no weight either")
	s.must("decline", card)
	if r := typed(`wrong one\n`, `"$PP" agents token ann`); r.code == 0 || strings.Contains(r.stdout, "pp.") {
		t.Errorf("with a wrong one: %d %s", r.code, r.stdout)
	}
	r := typed(`long enough\n`, `"$PP" agents token ann && "$PP" agents token lead`) // this does not ask again
	if r.code != 0 || strings.Count(r.stdout, "pp.") != 2 || strings.Count(r.stdout, "Passphrase") != 1 {
		t.Errorf("with the right one: %d %s", r.code, r.stdout)
	}
	if r := s.run("agents", "token", "ann"); r.code == 0 {
		t.Errorf("in another terminal, where nothing is typed: %s", r.stdout)
	}
}

// TestConfirmDialog: with [user] confirm the answer to an agent's dialog asks for the passphrase, and does not count
// without it.
func TestConfirmDialog(t *testing.T) {
	s := newTheatre(t)
	file := filepath.Join(s.home, "config.toml")
	if err := os.WriteFile(file, []byte("[user]\nconfirm = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.must("stop")
	s.must("agents", "register", "ann")
	typed := func(keys, command string) result {
		return s.shell(personSh, `printf '`+keys+`' | script -qec '`+command+`' /dev/null`, "x")
	}
	if r := typed(`\nlong enough\nlong enough\n`, `"$PP" credentials passphrase`); r.code != 0 {
		t.Fatalf("set: %d %s", r.code, r.stdout)
	}
	hook := func(event, more string) result {
		cmd := exec.Command(binary, "hook", "claude", event, "--as", "ann")
		cmd.Dir, cmd.Env = s.dir, s.environ()
		return finishWith(cmd, strings.NewReader(`{"session_id":"s1","cwd":"/","hook_event_name":"`+event+`"`+more+`}`))
	}
	hook("SessionStart", `,"source":"startup"`)
	said := make(chan result, 1)
	go func() { said <- hook("PermissionRequest", `,"tool_name":"Bash","tool_input":{"command":"ls"}`) }()
	var id string
	for deadline := time.Now().Add(patience); id == ""; time.Sleep(20 * time.Millisecond) {
		for _, c := range ask[mail.Cards](t, s.office, "dialogs").Cards {
			if c.Here {
				id = string(c.ID)
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no dialog is on the desk: %+v", ask[mail.Cards](t, s.office, "dialogs"))
		}
	}
	if r := s.run("answer", id, "allow"); r.code != 5 || !strings.Contains(r.stderr, "no passphrase was typed") {
		t.Errorf("where nothing is typed: %d %s%s", r.code, r.stdout, r.stderr)
	}
	if r := typed(`wrong one\n`, `"$PP" answer `+id+` allow`); r.code == 0 {
		t.Errorf("with a wrong one: %s", r.stdout)
	}
	select {
	case r := <-said:
		t.Fatalf("without a passphrase the hook has answered: %+v", r)
	default:
	}
	if r := typed(`long enough\n`, `"$PP" answer `+id+` allow`); r.code != 0 ||
		!strings.Contains(r.stdout, "ann has your answer") {
		t.Errorf("with the right one: %d %s", r.code, r.stdout)
	}
	if r := <-said; !strings.Contains(r.stdout, `"behavior":"allow"`) {
		t.Errorf("the hook says %+v", r)
	}
}
