package gate

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"pennypost/internal/base/process"
	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// standing is a process's position among the processes, as far as the system tells.
type standing struct {
	untold bool             // this system does not tell
	ours   bool             // the post office started it
	agent  string           // the evidence of an agent above it: a variable, or a program; "": none
	client *process.Process // above it, an agent's client with a known name; nil: none
	away   string           // why no person is known to be at its terminal; "": a person is
	// below are the programs from the process up to, but excluding, the program that the person uses. Only these can
	// be sessions: a terminal program, an editor or a multiplexer is not.
	below []string
	// through are the standings of the clients with which a multiplexer shows the terminal to a person. Nil: there is
	// no multiplexer.
	through []*standing
}

// session returns the agent of the session in which the process runs, or in which all clients of its multiplexer run;
// "": none. known returns the agent of programs.
func (s *standing) session(known func(programs []string) mail.Name) mail.Name {
	name := known(s.below)
	if name != "" {
		return name
	}
	for _, client := range s.through {
		if name = client.session(known); name == "" {
			return ""
		}
	}
	return name
}

// stand returns the standing of a process, given it and the processes above it.
func stand(pid int, tree []process.Process, terminals []string) standing {
	if len(tree) == 0 {
		switch {
		case !process.Tells:
			return standing{untold: true}
		case pid == 0:
			return standing{away: "it runs where this post office cannot see it, such as in another container"}
		}
		return standing{away: "it has ended already"}
	}
	var s standing
	seat := -1
	for i := range tree {
		p := &tree[i]
		if p.PID == os.Getpid() {
			s.away, s.ours = "the post office itself started it", true
			break
		}
		if seat < 0 && i > 0 && isSeat(tree, i, terminals) {
			seat = i
		}
		if p.PID == 1 {
			break // every orphan is below it
		}
		if seat < 0 {
			s.below = append(s.below, p.Key)
		}
		if v, found := config.AgentClient(process.Environ(p.PID)); found && s.agent == "" {
			s.agent = v + " is set in its environment"
		}
		if name := config.AgentProgram(p.Names()); name != "" {
			s.client = cmp.Or(s.client, p)
			s.agent = cmp.Or(s.agent, "it runs below "+name)
		}
	}
	if s.away == "" {
		s.through, s.away = awayAt(tree, seat, terminals)
	}
	return s
}

// awayAt returns why no person is known to be at the terminal of a process, "" if one is; seat is the index in its
// tree of the program that a person would use, or negative. For a multiplexer it returns the standings of its clients.
func awayAt(tree []process.Process, seat int, terminals []string) (through []*standing, why string) {
	me := tree[0]
	switch {
	case me.TTY == 0:
		return nil, "it has no terminal, as after setsid, or from cron, a service or ssh without -t"
	case seat < 0:
		top := tree[len(tree)-1]
		if len(tree) > 1 && top.PID == 1 {
			top = tree[len(tree)-2]
		}
		return nil, fmt.Sprintf("no known login or terminal program is above it, only %q", top.Names()[0])
	case seat == 0 || !leads(&tree[seat-1], &tree[seat]):
		return nil, "it has left the terminal that it was started from"
	}
	if m := multiplexer(&tree[seat]); m != nil {
		if through, why = m(&tree[seat], &tree[seat-1], terminals); len(through) == 0 {
			return nil, why
		}
	}
	return through, ""
}

// leads reports whether a process started by a terminal program has a terminal of its own: it leads its session, or
// the program does, as login(1). An orphan that was reparented to the terminal program does not.
func leads(child, seat *process.Process) bool {
	return child.TTY != 0 && (child.Session == child.PID || child.Session == seat.PID)
}

// isSeat reports whether the i-th process of a tree is one that a person uses: a login, a terminal program, the
// terminal of an editor, or a multiplexer.
func isSeat(tree []process.Process, i int, terminals []string) bool {
	p := &tree[i]
	names, exe := p.Names(), p.Exe()
	named := func(list []string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return is(list, n) })
	}
	switch {
	case p.PID == 1: // the parent of orphans
		return false
	case named(logins()):
		// a logged-in user also has a process of that name, below root's
		return p.UID() == 0 || i+1 < len(tree) && tree[i+1].UID() == 0 && tree[i+1].PID != 1 &&
			slices.ContainsFunc(tree[i+1].Names(), func(n string) bool { return is(logins(), n) })
	case exe == "/init" && p.UID() == 0: // of the Windows Subsystem for Linux
		return true
	case slices.ContainsFunc(servers(), func(dir string) bool { return strings.Contains(exe, dir) }):
		return true
	}
	return named(terminalPrograms()) || named(terminals) || multiplexer(p) != nil
}

// is reports whether a list has a program's name, which systems cut after 15 bytes. An entry that ends in * matches
// all names with that prefix.
func is(list []string, name string) bool {
	return slices.ContainsFunc(list, func(l string) bool {
		start, any := strings.CutSuffix(l, "*")
		return l == name || any && strings.HasPrefix(name, start) || len(name) == 15 && strings.HasPrefix(l, name)
	})
}

// logins are programs that let a person in from outside, and run as root.
func logins() []string {
	return []string{"login", "sshd", "sshd-session", "dropbear", "in.telnetd", "tailscaled", "vshd"}
}

// servers are directories in which editors keep the remote programs of a connection, and JetBrains its Java.
func servers() []string {
	return []string{"/.vscode-server", "/.vscode-remote", "/.cursor-server", "/.windsurf-server", "/jbr/bin/"}
}

// terminalPrograms show a terminal to a person: terminal windows, and editors with terminals. [user] terminals adds
// more.
func terminalPrograms() []string {
	return []string{
		"xterm", "uxterm", "gnome-terminal-server", "kgx", "ptyxis*", "konsole", "yakuake", "kitty", "alacritty",
		"wezterm-gui", "wezterm-mux-server", "foot", "ghostty", "tilix", "terminator", "xfce4-terminal", "lxterminal",
		"mate-terminal*", "qterminal", "urxvt", "urxvtd", "rxvt", "st", "terminology", "guake", "tilda", "sakura",
		"cool-retro-term", "rio", "contour", "hyper", "tabby", "warp", "warp-terminal", "blackbox", "deepin-terminal",
		"io.elementary.terminal", "termite", "waveterm", "mosh-server", "etterminal", "cockpit-bridge",
		"flatpak-session-helper", "com.termux",
		"Terminal", "iTerm2", "iTermServer*", "stable", // Warp on macOS
		"code", "code-insiders", "code-oss", "codium", "cursor", "Cursor*", "windsurf", "Code*", "zed", "zed-editor",
		"idea", "pycharm", "goland", "webstorm", "clion", "rider", "rubymine", "phpstorm", "rustrover", "fleet",
		"emacs*", "Emacs*", "gvim", "neovide", "kate",
	}
}
