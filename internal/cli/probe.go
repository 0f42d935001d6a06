package cli

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/daemon"
)

// probe tries a program in the ways in which clients start it. It gets a data directory, and so a post office, of its own: mail, agents
// and sessions of the real one are not touched.
func (d *doctor) probe(ctx context.Context, binary string) {
	v, err := versionOf(ctx, binary)
	if err != nil {
		d.say("probe", problem, binary+" version", "%s cannot be run: %s", binary, err.Error())
		return
	}
	if v != version() {
		d.say("probe", problem, "pennypost doctor", "%s is version %s, and this program is %s: install them alike", binary, v, version())
	}
	dir, err := os.MkdirTemp("", "pennypost-doctor-")
	if err != nil {
		d.say("probe", problem, "df -h "+os.TempDir(), "%s", err.Error())
		return
	}
	defer os.RemoveAll(dir)
	t := trial{binary: binary, dir: dir}
	t.env = append(daemon.WithoutAgent(d.app.env.Environ), "PENNYPOST_HOME="+filepath.Join(dir, "h"), "PENNYPOST_LISTEN=none",
		"PENNYPOST_ROOM=doctor", "PENNYPOST_AUTOSTART=1", "PENNYPOST_AGENT_CHECK=process")
	defer t.end()
	d.probeMCP(ctx, &t)
	d.probeHook(ctx, &t)
}

// trial is a program that is tried.
type trial struct {
	binary, dir string
	env         []string
}

func (t *trial) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.binary, args...)
	cmd.Env, cmd.Dir = t.env, t.dir
	return cmd
}

// end stops the post office that was started for the trial.
func (t *trial) end() {
	ctx, cancel := context.WithTimeout(context.Background(), probePatience)
	defer cancel()
	_ = t.command(ctx, "stop").Run() // one that is left leaves by itself when it finds its directory gone, or after an hour
}

// probeMCP does what a client does at its start: initialize, and ask for the tools.
func (d *doctor) probeMCP(ctx context.Context, t *trial) {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	var stderr bytes.Buffer
	cmd := t.command(ctx, "mcp", "--as", "doctor")
	cmd.Stderr = &stderr
	c := mcp.NewClient(&mcp.Implementation{Name: "pennypost-doctor", Version: version()}, nil)
	session, err := c.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		d.say("mcp", problem, t.binary+" mcp --as doctor", "%s does not serve MCP: %s", t.binary, firstLine(stderr.String(), err))
		return
	}
	defer session.Close()
	list, err := session.ListTools(ctx, nil)
	if err != nil || len(list.Tools) == 0 {
		d.say("mcp", problem, t.binary+" mcp --as doctor", "%s serves no tools: %s", t.binary, firstLine(stderr.String(), err))
		return
	}
	d.say("mcp", well, "", "%s serves %s", t.binary, plural(len(list.Tools), "tool"))
}

// firstLine returns the first line of what a program said, else what err says.
func firstLine(said string, err error) string {
	if line, _, _ := strings.Cut(strings.TrimSpace(said), "\n"); line != "" {
		return line
	}
	if err != nil {
		return err.Error()
	}
	return "the list is empty"
}

// sampleHook is what Claude Code gives to a hook when a session starts.
const sampleHook = `{"session_id":"00000000-0000-4000-8000-000000000000","transcript_path":"","cwd":"/","hook_event_name":"SessionStart","source":"startup"}`

// probeHook runs a hook. A client takes a hook that fails for one that has nothing to say, so nobody would notice.
func (d *doctor) probeHook(ctx context.Context, t *trial) {
	if !slices.ContainsFunc(verbs(), func(v verb) bool { return v.name == "hook" }) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	var stderr bytes.Buffer
	cmd := t.command(ctx, "hook", "claude", "SessionStart")
	cmd.Stdin, cmd.Stderr = strings.NewReader(sampleHook), &stderr
	if err := cmd.Run(); err != nil {
		d.say("hook", problem, "echo '{}' | "+t.binary+" hook claude SessionStart", "the hook of %s fails: %s", t.binary, firstLine(stderr.String(), err))
		return
	}
	d.say("hook", well, "", "the hook of %s answers", t.binary)
}
