package cli

import (
	"bytes"
	"context"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/config"
	"pennypost/internal/office/daemon"
	"pennypost/internal/office/wake"
)

// probe tries a program in the ways in which clients start it. It gets a data directory, and so a post office, of its
// own: mail, agents and sessions of the real one are not touched.
func (d *doctor) probe(ctx context.Context, binary string) {
	v, err := versionOf(ctx, binary)
	if err != nil {
		d.say("probe", problem, binary+" version", "%s cannot be run: %s", binary, err.Error())
		return
	}
	if v != version() {
		d.say("probe", problem, "pennypost doctor", "%s is version %s, and this program is %s: install them alike",
			binary, v, version())
	}
	dir, err := os.MkdirTemp("", "pennypost-doctor-")
	if err != nil {
		d.say("probe", problem, "df -h "+os.TempDir(), "%s", err.Error())
		return
	}
	defer os.RemoveAll(dir)
	t := trial{binary: binary, dir: dir}
	t.env = append(daemon.WithoutAgent(d.app.env.Environ), "PENNYPOST_HOME="+filepath.Join(dir, "h"),
		"PENNYPOST_LISTEN=none",
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
	// one that is left leaves by itself when it finds its directory gone, or after an hour
	_ = t.command(ctx, "stop").Run()
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
		d.say("mcp", problem, t.binary+" mcp --as doctor", "%s does not serve MCP: %s", t.binary,
			firstLine(stderr.String(), err))
		return
	}
	defer session.Close()
	list, err := session.ListTools(ctx, nil)
	if err != nil || len(list.Tools) == 0 {
		d.say("mcp", problem, t.binary+" mcp --as doctor", "%s serves no tools: %s", t.binary,
			firstLine(stderr.String(), err))
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
		d.say("hook", problem, "echo '{}' | "+t.binary+" hook claude SessionStart", "the hook of %s fails: %s",
			t.binary, firstLine(stderr.String(), err))
		return
	}
	d.say("hook", well, "", "the hook of %s answers", t.binary)
}

// doors tries the doors by which agents are woken, as far as that wakes nobody: those that the configuration names,
// and what clients bring with them.
func (d *doctor) doors(ctx context.Context) {
	sections := map[string]map[string]config.Wake{"room": d.cfg.Room.Wake}
	for name, r := range d.cfg.Rooms {
		sections["rooms."+string(name)] = r.Wake
	}
	for _, section := range slices.Sorted(maps.Keys(sections)) {
		for _, who := range slices.Sorted(maps.Keys(sections[section])) {
			w := sections[section][who]
			d.configured(ctx, "["+section+".wake."+who+"]", &w)
		}
	}
	edit := "$EDITOR " + d.cfg.Home.File()
	if text, err := said(ctx, "claude", "--version"); err == nil {
		socket := wake.ClaudeSocket{Below: d.cfg.ClaudeBelow}
		if err := socket.Understood(text); err != nil {
			d.say("door", note, edit+"   # claude_below = \"VERSION\"", "Claude Code: %s; other doors are tried",
				err.Error())
		} else {
			d.say("door", well, "", "Claude Code %s has an inbox socket that is understood", text)
		}
	}
	if _, err := exec.LookPath("codex"); err == nil {
		if _, err := said(ctx, "codex", "queue", "--help"); err != nil {
			d.say("door", note, "npm install -g @openai/codex",
				"codex has no queue by which it could be woken; it came with 0.149")
		} else {
			d.say("door", well, "", "codex has a queue")
		}
	}
}

// configured tries what an entry of the configuration names. All of it may be well when an agent runs, and look wrong
// while none does.
func (d *doctor) configured(ctx context.Context, entry string, w *config.Wake) {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	edit := "$EDITOR " + d.cfg.Home.File()
	if w.OpenCode != "" {
		door := wake.OpenCode{Server: w.OpenCode, Password: wake.NewSecret(string(w.Password)), Timeout: probePatience}
		if s, err := door.Newest(ctx); err != nil {
			d.say("door", problem, "opencode --port "+port(w.OpenCode), "%s opencode: %s", entry, err.Error())
		} else {
			d.say("door", well, "", "%s opencode: its session is %q", entry, s.Title)
		}
	}
	if len(w.Exec) > 0 {
		if _, err := exec.LookPath(w.Exec[0]); err != nil {
			d.say("door", problem, edit, "%s exec: %s cannot be started", entry, w.Exec[0])
		} else {
			d.say("door", well, "", "%s exec: %s is there; it was not run", entry, w.Exec[0])
		}
	}
	if w.Webhook != "" {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", hostPort(w.Webhook))
		if err != nil {
			d.say("door", problem, edit, "%s webhook: nobody can be reached there", entry)
		} else {
			conn.Close()
			d.say("door", well, "", "%s webhook: somebody listens; nothing was sent", entry)
		}
	}
	if w.Tmux {
		if text, err := said(ctx, "tmux", "-V"); err != nil {
			d.say("door", problem, edit, "%s tmux: it cannot be started", entry)
		} else {
			d.say("door", well, "", "%s tmux: %s", entry, text)
		}
	}
}

// said runs a program and returns the first line of what it said.
func said(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line, err
}

// hostPort returns where the server of an address listens.
func hostPort(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), port(address))
}

func port(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return ""
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
