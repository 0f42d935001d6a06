package systemtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestA2ADocs types the example of docs/a2a.md, in the person's terminal, with the configuration from that page.
func TestA2ADocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/a2a.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := func(kind string) (all []string) {
		for _, m := range regexp.MustCompile("(?s)```"+kind+"\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
			all = append(all, m[1])
		}
		return all
	}
	o := newOffice(t)
	if err := os.Mkdir(o.home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.home, "config.toml"), []byte(blocks("toml")[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	d := o.mustServe(t, loopback)
	o.must(t, "agents", "register", "builder-1", "--room", "shop")
	env := []string{"BASE=" + d.HTTP}
	type task struct {
		ID        string
		Status    struct{ State string }
		Artifacts []struct{ Parts []struct{ Text string } }
	}
	typed := blocks("sh")
	if len(typed) != 4 {
		t.Fatalf("the page has %d blocks to type, want 4", len(typed))
	}
	shell := func(i int) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), personSh, "-c", typed[i])
		cmd.Dir, cmd.Env = o.dir, o.environ(env...)
		r := finishWith(cmd, strings.NewReader(""))
		if r.code != 0 {
			t.Fatalf("%s\nends with %d: %s%s", typed[i], r.code, r.stdout, r.stderr)
		}
		return r.stdout
	}
	lines := strings.Fields(shell(0))
	env = append(env, "TOKEN="+lines[len(lines)-1])
	var sent struct{ Result struct{ Task task } }
	if err := json.Unmarshal([]byte(shell(1)), &sent); err != nil ||
		sent.Result.Task.Status.State != "TASK_STATE_SUBMITTED" {
		t.Fatal(sent, err)
	}
	env = append(env, "TASK="+sent.Result.Task.ID)
	if got := o.must(t, "inbox", "--as", "builder-1", "--room", "shop"); !strings.Contains(got, "from outside") {
		t.Errorf("builder-1 is shown\n%s", got)
	}
	shell(2)
	var done struct{ Result task }
	err = json.Unmarshal([]byte(shell(3)), &done)
	if err != nil || done.Result.Status.State != "TASK_STATE_COMPLETED" ||
		done.Result.Artifacts[0].Parts[0].Text != "Version 2 is built." {
		t.Error(done, err)
	}
}
