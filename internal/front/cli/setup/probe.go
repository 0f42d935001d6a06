package setup

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pennypost/internal/front/cli"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/config"
)

// probe tries a program as clients start it. The program gets a data directory, and so a post office, of its own: the
// mail, agents and sessions of the real one are not touched.
func (d *doctor) probe(ctx context.Context, binary string) {
	v, err := versionOf(ctx, binary)
	if err != nil {
		d.say("probe", cli.Problem, binary+" version", "%s cannot be run: %s", binary, err.Error())
		return
	}
	if v != cli.Version() {
		d.say("probe", cli.Problem, "pennypost doctor", "%s is version %s, and this program is %s: install the "+
			"same version",
			binary, v, cli.Version())
	}
	dir, err := os.MkdirTemp("", "pennypost-doctor-")
	if err != nil {
		d.say("probe", cli.Problem, "df -h "+os.TempDir(), "%s", err.Error())
		return
	}
	defer os.RemoveAll(dir)
	t := trial{binary: binary, dir: dir}
	t.env = append(config.WithoutAgent(d.app.Env.Environ), "PENNYPOST_HOME="+filepath.Join(dir, "h"),
		"PENNYPOST_LISTEN=none",
		"PENNYPOST_ROOM=doctor", "PENNYPOST_AUTOSTART=1")
	defer t.end()
	d.probeMCP(ctx, &t)
	d.probeHook(ctx, &t)
}

// trial is a program under trial.
type trial struct {
	binary, dir string
	env         []string
}

func (t *trial) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.binary, args...)
	cmd.Env, cmd.Dir = t.env, t.dir
	return cmd
}

// end stops the post office that was started for the trial. It sends a signal: the trial's hook has made this process
// an agent's client there, and no agent may stop a post office.
func (t *trial) end() {
	ctx, cancel := context.WithTimeout(context.Background(), probePatience)
	defer cancel()
	home := config.Home(filepath.Join(t.dir, "h"))
	lock, err := durable.TryLock(home.Lock())
	if held, ok := errors.AsType[*durable.LockedError](err); ok && held.PID > 0 {
		if p, err := os.FindProcess(held.PID); err == nil && p.Signal(os.Interrupt) != nil {
			_ = p.Kill() // Windows has no such signal
		}
	} else if err == nil {
		_ = lock.Unlock()
	}
	// one that is left ends by itself when its directory is gone, or after an hour
	_ = cli.AwaitEnd(ctx, home)
}

// sampleMCP is a client's input at its start.
const sampleMCP = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"pennypost-doctor","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`

// probeMCP does the same as a client at its start: initialize, and ask for the tools.
func (d *doctor) probeMCP(ctx context.Context, t *trial) {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	tools, said, err := t.tools(ctx)
	if err != nil || tools == 0 {
		d.say("mcp", cli.Problem, t.binary+" mcp --as doctor", "%s serves no tools over MCP: %s", t.binary,
			firstLine(said, err))
		return
	}
	d.say("mcp", cli.Well, "", "%s serves %s", t.binary, wording.Plural(tools, "tool"))
}

// tools returns the number of tools that the program serves, and its output on standard error.
func (t *trial) tools(ctx context.Context) (n int, said string, err error) {
	var stderr bytes.Buffer
	cmd := t.command(ctx, "mcp", "--as", "doctor")
	cmd.Stderr, cmd.WaitDelay = &stderr, time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, "", err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, "", err
	}
	if err := cmd.Start(); err != nil {
		return 0, "", err
	}
	defer func() {
		in.Close()
		err = errors.Join(err, cmd.Wait())
		said = stderr.String()
	}()
	if _, err := io.WriteString(in, sampleMCP); err != nil {
		return 0, "", err
	}
	for answers := bufio.NewReader(out); ; {
		line, err := answers.ReadBytes('\n')
		if err != nil {
			return 0, "", err
		}
		var answer struct {
			ID     int `json:"id"`
			Result struct {
				Tools []any `json:"tools"`
			} `json:"result"`
		}
		if err := jsonx.Unmarshal(line, &answer); err != nil {
			return 0, "", err
		}
		if answer.ID == 2 {
			return len(answer.Result.Tools), "", nil
		}
	}
}

// firstLine returns the first line of a program's output, else the text of err.
func firstLine(said string, err error) string {
	if line, _, _ := strings.Cut(strings.TrimSpace(said), "\n"); line != "" {
		return line
	}
	if err != nil {
		return err.Error()
	}
	return "the list is empty"
}

// sampleHook is Claude Code's input to a hook at the start of a session.
const sampleHook = `{"session_id":"00000000-0000-4000-8000-000000000000","transcript_path":"","cwd":"/",` +
	`"hook_event_name":"SessionStart","source":"startup"}`

// probeHook runs a hook. A client takes a failed hook for one with nothing to say, so no one would notice.
func (d *doctor) probeHook(ctx context.Context, t *trial) {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	var stderr bytes.Buffer
	cmd := t.command(ctx, "hook", "claude", "SessionStart")
	cmd.Stdin, cmd.Stderr = strings.NewReader(sampleHook), &stderr
	if err := cmd.Run(); err != nil {
		d.say("hook", cli.Problem, "echo '{}' | "+t.binary+" hook claude SessionStart", "the hook of %s fails: %s",
			t.binary, firstLine(stderr.String(), err))
		return
	}
	d.say("hook", cli.Well, "", "the hook of %s answers", t.binary)
}

// doors makes the post office's program try the doors by which agents are woken.
func (d *doctor) doors(ctx context.Context) {
	program, err := d.app.OfficeProgram()
	if err != nil {
		d.say("doors", cli.Problem, d.app.NextStep(err), "%s", err.Error())
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 6*probePatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "doors")
	cmd.Env, cmd.WaitDelay = d.app.Env.Environ, time.Second
	out, err := cmd.Output()
	var found []cli.Finding
	if err == nil {
		err = jsonx.Unmarshal(out, &found)
	}
	if err != nil {
		d.say("doors", cli.Problem, program+" doors", "%s cannot check the doors: %s", program, err.Error())
		return
	}
	d.findings = append(d.findings, found...)
}
