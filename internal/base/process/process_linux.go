package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// one is what /proc/pid/stat says of a process (proc_pid_stat(5)).
type one struct {
	pid, parent int
	session     int    // its first process
	comm, start string // start is in clock ticks since the system started
}

func parent() int { return os.Getppid() }

// look returns what is known of a process; the zero value if it is gone.
func look(pid int) one {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// The second field, the program's name, stands in parentheses and may contain anything.
	open, shut := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if err != nil || open < 0 || shut < open {
		return one{}
	}
	fields := bytes.Fields(text[shut+1:])
	if len(fields) < 20 || fields[0][0] == 'Z' {
		return one{}
	}
	up, _ := strconv.Atoi(string(fields[1]))
	session, _ := strconv.Atoi(string(fields[3]))
	return one{pid: pid, parent: up, session: session, comm: string(text[open+1 : shut]), start: string(fields[19])}
}

// Session names the session that this process belongs to: a terminal window, with the shell and what was started from
// it.
func Session() string {
	number := look(os.Getpid()).session
	first := look(number)
	first.pid = number // it may have ended
	return first.key()
}

// SetterDir returns where the nearest program above this one runs that has not got a variable in its environment, and
// so has given it to those below; "" if it cannot be known.
func SetterDir(variable string) string {
	pid := parent()
	for range maxAncestors {
		environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err != nil || pid <= 1 {
			return ""
		}
		if !bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+variable+"=")) {
			dir, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
			return dir
		}
		pid = look(pid).parent
	}
	return ""
}

// maxAbove bounds Above. It is longer than any honest tree, so that nobody leaves one by growing it.
const maxAbove = 512

// Above returns the names of a process and of those above it, the nearest first, as Program spells them. It ends
// below this process, whoever started that. Nil: nobody can tell.
func Above(pid int) []string {
	var names []string
	start := boot()
	for at := look(pid); at.pid > 1 && at.pid != os.Getpid() && len(names) < maxAbove; at = look(at.parent) {
		names = append(names, at.name(start))
	}
	return names
}

// Apart reports whether a process counts processes otherwise than this one does, as in a container or a sandbox: what
// it says Program is, is no name here.
func Apart(pid int) bool {
	its, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
	ours, ourErr := os.Readlink("/proc/self/ns/pid")
	return err == nil && ourErr == nil && its != ours
}

// key names the process: its number, when it started, and which start of which machine that counts from.
func (p one) key() string { return p.name(boot()) }

func (p one) name(boot string) string { return strconv.Itoa(p.pid) + "." + p.start + "@" + boot }

func boot() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	id, _, _ := strings.Cut(string(text), "-")
	return id
}

// Alive reports whether a program that Program has named runs on this machine.
func Alive(key string) bool {
	number, _, _ := strings.Cut(key, ".")
	pid, err := strconv.Atoi(number)
	if err != nil {
		return false
	}
	p := look(pid)
	return p.pid != 0 && p.key() == key
}
