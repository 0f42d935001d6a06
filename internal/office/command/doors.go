package command

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/office/wake/door"
	"pennypost/internal/office/wake/sessions"
)

// newDoors returns the command with which doctor checks the doors: it prints findings in JSON.
func newDoors(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "doors", Short: "try the doors by which agents are woken",
		Long:    "Part of pennypost doctor, which runs it.",
		Example: "pennypost doctor", Hidden: true, Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.LoadConfig()
			if err != nil {
				return err
			}
			d := &doors{cfg: cfg, found: []cli.Finding{}}
			d.look(cmd.Context())
			a.Out.Value(d.found)
			return nil
		},
	}
}

// doorPatience limits the check of one door.
const doorPatience = 10 * time.Second

// doors collects findings.
type doors struct {
	cfg   config.Config
	found []cli.Finding
}

func (d *doors) say(check string, state cli.Verdict, fix, format string, args ...any) {
	d.found = append(d.found, cli.Finding{Check: check, State: state, Text: fmt.Sprintf(format, args...), Fix: fix})
}

// tried reports the check of a door: the fault and its repair, or that it works.
func (d *doors) tried(err error, fix, wrong, well string) {
	if err != nil {
		d.say("door", cli.Problem, fix, "%s", wrong)
		return
	}
	d.say("door", cli.Well, "", "%s", well)
}

// look checks the doors without waking an agent: those in the configuration, and those that clients provide.
func (d *doors) look(ctx context.Context) {
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
		socket := door.ClaudeSocket{Below: d.cfg.ClaudeBelow}
		if err := socket.Understood(text); err != nil {
			d.say("door", cli.Note, edit+"   # claude_below = \"VERSION\"", "Claude Code: %s; other doors are tried",
				err.Error())
		} else {
			d.say("door", cli.Well, "", "Claude Code %s has a supported inbox socket", text)
		}
	}
	if _, err := exec.LookPath("codex"); err == nil {
		if _, err := said(ctx, "codex", "queue", "--help"); err != nil {
			d.say("door", cli.Note, "npm install -g @openai/codex",
				"codex has no queue to wake it; 0.149 is the first version with one")
		} else {
			d.say("door", cli.Well, "", "codex has a queue")
		}
	}
}

// configured checks an entry of the configuration. Doors may work when an agent runs, and look broken while none does.
func (d *doors) configured(ctx context.Context, entry string, w *config.Wake) {
	ctx, cancel := context.WithTimeout(ctx, doorPatience)
	defer cancel()
	edit := "$EDITOR " + d.cfg.Home.File()
	if w.OpenCode != "" {
		door := door.OpenCode{Server: w.OpenCode, Password: sessions.NewSecret(string(w.Password)),
			Timeout: doorPatience}
		s, err := door.Newest(ctx)
		d.tried(err, "opencode --port "+port(w.OpenCode), fmt.Sprintf("%s opencode: %v", entry, err),
			fmt.Sprintf("%s opencode: its session is %q", entry, s.Title))
	}
	if len(w.Exec) > 0 {
		_, err := exec.LookPath(w.Exec[0])
		d.tried(err, edit, entry+" exec: "+w.Exec[0]+" cannot be started",
			entry+" exec: "+w.Exec[0]+" exists; it was not run")
	}
	if w.Webhook != "" {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", hostPort(w.Webhook))
		if err == nil {
			conn.Close()
		}
		d.tried(err, edit, entry+" webhook: the address does not answer",
			entry+" webhook: the address answers; nothing was sent")
	}
	if w.Tmux {
		text, err := said(ctx, "tmux", "-V")
		d.tried(err, edit, entry+" tmux: it cannot be started", entry+" tmux: "+text)
	}
}

// said runs a program and returns the first line of its output.
func said(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, doorPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line, err
}

// hostPort returns the host and port of an address.
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
