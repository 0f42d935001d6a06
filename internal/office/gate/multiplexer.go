package gate

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/process"
	"pennypost/internal/config"
)

// attachment finds the clients attached to the session of a multiplexer's server in which a process has its terminal:
// it returns the standings of those with a person at their terminals or, if there are none, why not.
type attachment func(server, child *process.Process, terminals []string) (clients []*standing, why string)

// multiplexer returns the attachment function of a program. Nil: it is not a multiplexer's server.
func multiplexer(p *process.Process) attachment {
	if p.TTY != 0 {
		return nil // a client, which shows the server's terminals in its own
	}
	for _, n := range p.Names() {
		switch {
		case strings.HasPrefix(n, "tmux"):
			return tmuxAttached
		case n == "screen" || n == "SCREEN":
			return screenAttached
		case n == "zellij":
			return zellijAttached
		}
	}
	return nil
}

// askTmux limits a question to a tmux server.
const askTmux = time.Second

// tmuxAttached asks the server (tmux(1)) which clients show the session of the pane, and looks up the standing of
// each: a client that an agent attached shows the session to no person.
func tmuxAttached(server, child *process.Process, terminals []string) (clients []*standing, why string) {
	socket := tmuxSocket(server, child)
	if socket == "" {
		return nil, "the socket of its tmux is not known"
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTmux)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", "-S", socket, "list-panes", "-a", "-F", "pane #{session_id} #{pane_tty}",
		";", "list-clients", "-F", "client #{session_id} #{client_pid}")
	cmd.Env = config.WithoutAgent(os.Environ())
	out, err := cmd.Output()
	if err != nil {
		return nil, "its tmux does not list its clients"
	}
	var sessions []string
	var shown [][]string
	for line := range strings.Lines(string(out)) {
		switch f := strings.Fields(line); {
		case len(f) != 3:
		case f[0] == "pane" && process.Terminal(f[2], child.TTY):
			sessions = append(sessions, f[1])
		case f[0] == "client":
			shown = append(shown, f)
		}
	}
	for _, c := range shown {
		if pid, _ := strconv.Atoi(c[2]); slices.Contains(sessions, c[1]) {
			clients = attending(clients, pid, terminals)
		}
	}
	return clients, "no terminal is attached to its tmux session"
}

// tmuxSocket returns the socket of a server from the environment of the program in its pane, or of a process started
// by that (tmux(1): socket, process id and session, separated by commas).
func tmuxSocket(server, child *process.Process) string {
	for _, v := range process.Environ(child.PID) {
		value, ok := strings.CutPrefix(v, "TMUX=")
		if !ok {
			continue
		}
		rest, _, _ := cutLast(value, ",")
		socket, pid, ok := cutLast(rest, ",")
		if ok && pid == strconv.Itoa(server.PID) && filepath.IsAbs(socket) {
			return socket
		}
	}
	return ""
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// attending appends the standing of a process, if a person is at its terminal.
func attending(clients []*standing, pid int, terminals []string) []*standing {
	s := stand(pid, process.Tree(pid), terminals)
	if !s.untold && s.agent == "" && s.away == "" {
		clients = append(clients, &s)
	}
	return clients
}

// screenAttached looks up which terminals the server has open (screen(1): it writes to those of attached clients), and
// whether a person is at one of them.
func screenAttached(server, child *process.Process, terminals []string) (clients []*standing, why string) {
	links, _ := filepath.Glob("/proc/" + strconv.Itoa(server.PID) + "/fd/*")
	for _, l := range links {
		device, err := os.Readlink(l)
		if err != nil || !strings.HasPrefix(device, "/dev/pts/") && !strings.HasPrefix(device, "/dev/tty") {
			continue
		}
		for _, pid := range processes() {
			if t := process.Tree(pid); len(t) > 0 && t[0].Session == pid && process.Terminal(device, t[0].TTY) &&
				!process.Terminal(device, child.TTY) {
				clients = attending(clients, pid, terminals)
			}
		}
	}
	return clients, "no terminal is attached to its screen session"
}

// zellijAttached looks for a client of zellij with a person at its terminal. zellij does not reveal to which session
// it is attached.
func zellijAttached(server, _ *process.Process, terminals []string) (clients []*standing, why string) {
	for _, pid := range processes() {
		if t := process.Tree(pid); len(t) > 1 && pid != server.PID && t[0].TTY != 0 &&
			slices.Contains(t[0].Names(), "zellij") {
			clients = attending(clients, t[1].PID, terminals)
		}
	}
	return clients, "no terminal is attached to its zellij session"
}

// processes returns all process ids of this machine, if it has /proc.
func processes() []int {
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
