package process

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxAbove bounds Tree. It exceeds any honest tree, so that no process escapes one by growing it.
const maxAbove = 512

// Process describes one process. Its methods ask the system again, which tells nothing about a process that has ended
// since.
type Process struct {
	PID     int
	Session int    // its first process; 0: unknown
	TTY     int    // device number of its controlling terminal; 0: none
	Key     string // in the form of Program

	at one
}

// Names returns the possible names of the program: its own, that of its file, and, if that file is an interpreter,
// that of the script it runs. There is at least one.
func (p *Process) Names() []string { return names(p.at.exe(), p.at.comm, p.at.args) }

// Exe returns the file that the process runs, "" if it is unknown.
func (p *Process) Exe() string { return p.at.exe() }

// Args returns the command line with which the process was started; nil if it is unknown.
func (p *Process) Args() []string { return p.at.args() }

// UID returns the real user id of the process, -1 if it is unknown.
func (p *Process) UID() int { return p.at.owner() }

// Above reports whether the process has the number pid, or is above that process.
func (p *Process) Above(pid int) bool {
	return slices.ContainsFunc(Tree(pid), func(o Process) bool { return o.Key == p.Key })
}

// Tree returns a process and those above it, the nearest first, up to the first of the system or of its container. It
// returns nil if the process has ended, or on systems that do not reveal ancestors.
func Tree(pid int) []Process {
	var tree []Process
	start := Boot()
	for at := look(pid); Tells && at.pid > 0 && len(tree) < maxAbove; at = look(at.parent) {
		tree = append(tree, Process{PID: at.pid, Session: at.session, TTY: at.tty, Key: at.name(start), at: at})
	}
	return tree
}

// Args returns the command line of a program named by Program; nil if it is unknown.
func Args(program string) []string { return look(Number(program)).args() }

// unseen begins the name of a program of this machine that is out of sight, as in a container: its number is that of
// another process here.
const unseen = "unseen-"

// Seen returns the name of a program that claims to be running. If it is out of sight, Ended knows nothing of that
// name.
func Seen(program string) string {
	if !Ended(program) {
		return program
	}
	return unseen + program
}

// IsUnseen reports whether Seen has found a program to be out of sight.
func IsUnseen(program string) bool { return strings.HasPrefix(program, unseen) }

// Ended reports whether a program named by Program is known to have ended: it started on this machine since its boot,
// and its number is free or belongs to another. Nothing is known of programs of other machines.
func Ended(program string) bool {
	return Tells && Number(program) > 0 && !Alive(program) && local(program)
}

// local reports whether a program belongs to this boot of this machine.
func local(program string) bool {
	me := look(os.Getpid())
	_, here, _ := strings.Cut(me.key(), "@")
	_, there, found := strings.Cut(program, "@")
	return me.pid != 0 && found && there == here
}

// names returns the possible names of a program.
func names(exe, comm string, args func() []string) []string {
	out := []string{comm}
	if exe == "" {
		return out
	}
	base := filepath.Base(exe)
	if base != comm {
		out = append(out, base)
	}
	if !isInterpreter(base) {
		return out
	}
	for i, a := range args() {
		if i > 0 && a != "" && !strings.HasPrefix(a, "-") {
			script := strings.TrimSuffix(filepath.Base(a), filepath.Ext(a))
			return append(out, script)
		}
	}
	return out
}

func isInterpreter(base string) bool {
	return strings.HasPrefix(base, "python") ||
		slices.Contains([]string{"node", "nodejs", "bun", "deno", "ruby"}, base)
}

func parent() int { return os.Getppid() }

// key names the process: its number, its start time, and the boot of the machine on which that is counted.
func (p one) key() string { return p.name(Boot()) }

// Self returns the name of this process, "" if it is unknown.
func Self() string {
	me := look(os.Getpid())
	if !Tells || me.pid == 0 {
		return ""
	}
	return me.key()
}

// Number returns the process id in the name of a program; 0 if there is none, or if the program runs many sessions.
func Number(key string) int {
	if end := strings.IndexAny(key, ".@"); end >= 0 {
		key = key[:end]
	}
	pid, _ := strconv.Atoi(key)
	return max(0, pid)
}
