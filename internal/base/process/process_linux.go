package process

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// one is the content of /proc/pid/stat for a process (proc_pid_stat(5)).
type one struct {
	pid, parent int
	session     int    // its first process
	tty         int    // device number of its controlling terminal; 0: none
	comm, start string // start is in clock ticks since the system started
}

// ours reports whether /proc numbers processes as this one does. In a process namespace without its own /proc, a
// number leads to another process there.
var ours = sync.OnceValue(func() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
})

// look returns the description of a process; the zero value if it is gone or unknown.
func look(pid int) one {
	if !ours() {
		return one{}
	}
	text, err := read(pid, "stat")
	// The second field, the program's name, is in parentheses and may contain anything.
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
	tty, _ := strconv.Atoi(string(fields[4]))
	return one{
		pid:     pid,
		parent:  up,
		session: session,
		tty:     tty,
		comm:    string(text[open+1 : shut]),
		start:   string(fields[19]),
	}
}

// read returns the content of a file of a process below /proc. os.ReadFile makes twice as many system calls, which
// every hook would wait for.
func read(pid int, name string) (text []byte, err error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for {
		text = slices.Grow(text, 2048)
		switch n, err := unix.Read(fd, text[len(text):cap(text)]); {
		case err == unix.EINTR:
		case err != nil:
			return nil, err
		case n == 0:
			return text, nil
		default:
			text = text[:len(text)+n]
		}
	}
}

// SetterDir returns the working directory of the nearest program above this one that lacks a variable in its
// environment, and so has set it for those below; "" if it is unknown.
func SetterDir(variable string) string {
	pid := parent()
	for range maxAncestors {
		environ, err := read(pid, "environ")
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

// Apart reports whether a process numbers processes differently from this one, as in a container or a sandbox: its
// result of Program is not a name here.
func Apart(pid int) bool {
	its, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
	ours, ourErr := os.Readlink("/proc/self/ns/pid")
	return err == nil && ourErr == nil && its != ours
}

// Boot returns an id of this boot of the machine, "" if there is none.
func Boot() string { return boot() }

var boot = sync.OnceValue(func() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	id, _, _ := strings.Cut(string(text), "-")
	return id
})

// exe returns the file that a process runs, "" if it is unknown.
func (p one) exe() string {
	path, _ := os.Readlink("/proc/" + strconv.Itoa(p.pid) + "/exe")
	return strings.TrimSuffix(path, " (deleted)")
}

// args returns the command line with which a process was started; nil if it is unknown.
func (p one) args() []string {
	text, err := read(p.pid, "cmdline")
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// Environ returns the environment ("NAME=value") with which a process was started; nil if it is unknown.
func Environ(pid int) []string {
	text, err := read(pid, "environ")
	if err != nil {
		return nil
	}
	return strings.Split(string(text), "\x00")
}

// owner returns the real user id of a process, -1 if it is unknown. The owner of /proc/PID may differ: a process can
// make it look like root's (prctl(2), PR_SET_DUMPABLE).
func (p one) owner() int {
	text, _ := read(p.pid, "status")
	_, after, found := bytes.Cut(text, []byte("\nUid:"))
	fields := bytes.Fields(after[:min(len(after), 80)])
	if !found || len(fields) == 0 {
		return -1
	}
	uid, err := strconv.Atoi(string(fields[0]))
	if err != nil {
		return -1
	}
	return uid
}

// Terminal reports whether a device file, such as /dev/pts/3, is the terminal with a device number as in Process.TTY.
func Terminal(path string, tty int) bool {
	var st unix.Stat_t
	if tty == 0 || unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return false
	}
	// tty_nr of /proc/PID/stat has the minor number in bits 31 to 20 and 7 to 0, and the major in 15 to 8.
	major, minor := uint32(tty)>>8&0xff, uint32(tty)&0xff|uint32(tty)>>12&0xfff00
	return unix.Major(st.Rdev) == major && unix.Minor(st.Rdev) == minor
}

// LastInput returns when input was last typed into the terminal that a program reads, as the system records it: up to
// eight seconds too early. Zero: unknown.
func LastInput(program string) time.Time {
	var st unix.Stat_t
	pid := Number(program)
	if pid == 0 || unix.Stat("/proc/"+strconv.Itoa(pid)+"/fd/0", &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return time.Time{}
	}
	return time.Unix(st.Atim.Unix())
}

// Tells says whether this system reveals a process's ancestors.
const Tells = true

func (p one) name(boot string) string { return strconv.Itoa(p.pid) + "." + p.start + "@" + boot }

// Session names the session that this process belongs to: a terminal window, with its shell and everything started
// from it.
func Session() string {
	number := look(os.Getpid()).session
	first := look(number)
	first.pid = number // it may have ended
	return first.key()
}

// Alive reports whether a program named by Program runs on this machine.
func Alive(key string) bool {
	pid := Number(key)
	if pid == 0 {
		return false
	}
	p := look(pid)
	return p.pid != 0 && p.key() == key
}
