package systemtest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAction sends mail as a step of a workflow does (action.yml), whatever its inputs contain, and reports wrong
// inputs.
func TestAction(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(err)
	}
	script, err := filepath.Abs("../../packaging/action/send.js")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	o := newOffice(t)
	o.mustServe(t, "--listen", addr)
	o.must(t, "agents", "register", "ci")
	token := ""
	for word := range strings.FieldsSeq(o.must(t, "agents", "token", "ci")) {
		if strings.HasPrefix(word, "pp.") {
			token = word
		}
	}
	output := filepath.Join(t.TempDir(), "output")
	step := func(change map[string]string) (string, error) {
		t.Helper()
		in := map[string]string{"URL": "http://" + addr, "TOKEN": token, "ROOM": "default", "TO": "user",
			"TEXT": "It is green.", "KEY": t.Name()}
		cmd := exec.Command(node, script)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GITHUB_OUTPUT=" + output}
		for name, value := range change {
			in[name] = value
		}
		for name, value := range in {
			cmd.Env = append(cmd.Env, "INPUT_"+name+"="+value)
		}
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), token) {
			t.Error("the token is in the log")
		}
		return string(out), err
	}
	hostile := "`touch x`; $(id) ${{ secrets.A }} \"'\\ \n::error::no"
	for key, text := range map[string]string{"one": "It is green.", "two": hostile} {
		out, err := step(map[string]string{"TEXT": text, "SUBJECT": "Build 17", "KEY": key})
		if err != nil || !strings.Contains(out, "user: ") {
			t.Errorf("%q: %v\n%s", text, err, out)
		}
	}
	if out, err := step(map[string]string{"TEXT": "It is green.", "SUBJECT": "Build 17",
		"KEY": "one"}); err != nil {
		t.Errorf("the same once more: %v\n%s", err, out)
	}
	said := o.must(t, "history", "--from", "ci", "--json")
	if n := strings.Count(said, "It is green."); n != 1 || !strings.Contains(said, "secrets.A") {
		t.Errorf("it is there %d times:\n%s", n, said)
	}
	if ids, err := os.ReadFile(output); err != nil || !strings.HasPrefix(string(ids), "id=msg_") {
		t.Errorf("the output is %q, %v", ids, err)
	}
	for what, change := range map[string]map[string]string{
		"the input to is missing": {"TO": " "},
		"is no https address":     {"URL": "http://post.example.org"},
		"Invalid URL":             {"URL": "post office"},
		"token not valid":         {"TOKEN": "two words"},
		"nosuch":                  {"TO": "nosuch"},
		"is not a room name":      {"ROOM": "../.."},
	} {
		if out, err := step(change); err == nil || !strings.Contains(out, "::error::") ||
			!strings.Contains(out, what) {
			t.Errorf("%q: want %q; it says %v, %s", change, what, err, out)
		}
	}
}
