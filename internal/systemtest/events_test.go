package systemtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEventsDocs types the examples of docs/events.md, with the configuration from that page.
func TestEventsDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/events.md")
	check(t, err)
	o := newOffice(t)
	check(t, os.MkdirAll(o.home, 0o700))
	check(t, os.WriteFile(filepath.Join(o.home, "config.toml"), []byte(pageBlocks(string(page), "toml")[0]), 0o600))
	d := o.mustServe(t, loopback)
	o.must(t, "agents", "register", "builder", "--room", "shop")
	made := strings.Fields(o.must(t, "agents", "token", "builder", "--room", "shop"))
	env := []string{"MCP=" + d.HTTP + "/mcp", "TOKEN=" + made[len(made)-1]}
	type polled struct {
		Result struct {
			Events []struct{ Data struct{ ID, From string } }
			Cursor string
		}
	}
	poll := func(typed string) (p polled) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), personSh, "-c", typed)
		cmd.Dir, cmd.Env = o.dir, o.environ(env...)
		r := finishWith(cmd, strings.NewReader(""))
		if r.code != 0 || json.Unmarshal([]byte(r.stdout), &p) != nil || p.Result.Cursor == "" {
			t.Fatalf("%s\nends with %d: %s%s", typed, r.code, r.stdout, r.stderr)
		}
		return p
	}
	typed := pageBlocks(string(page), "sh")
	if p := poll(typed[0]); len(p.Result.Events) > 0 {
		t.Errorf("at first there is %+v", p)
	} else {
		env = append(env, "CURSOR="+p.Result.Cursor)
	}
	o.must(t, "send", "--room", "shop", "--to", "builder", "--body", "Build version 2.")
	if p := poll(typed[1]); len(p.Result.Events) != 1 || p.Result.Events[0].Data.From != "user" {
		t.Errorf("then there is %+v, want one message of the user", p)
	}
}
