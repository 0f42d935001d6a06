package process

import (
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// one is the kernel's description of a process (sysctl(3), kern.proc.pid).
type one struct {
	pid, parent int
	session     int // its first process
	tty         int // device number of its controlling terminal; 0: none
	comm, start string
	uid         int
}

// zombie is the p_stat of a process that has ended (sys/proc.h, SZOMB).
const zombie = 5

// look returns the description of a process; the zero value if it is gone.
func look(pid int) one {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || k == nil || k.Proc.P_stat == zombie {
		return one{}
	}
	p := one{pid: int(k.Proc.P_pid), parent: int(k.Eproc.Ppid), comm: unix.ByteSliceToString(k.Proc.P_comm[:]),
		start: strconv.FormatInt(k.Proc.P_starttime.Sec, 10) + "-" + strconv.Itoa(int(k.Proc.P_starttime.Usec)),
		uid:   int(k.Eproc.Pcred.P_ruid)}
	if k.Eproc.Tdev != -1 { // NODEV
		p.tty = int(k.Eproc.Tdev)
	}
	p.session, _ = unix.Getsid(pid)
	return p
}

// Tells says whether this system reveals a process's ancestors.
const Tells = true

func (p one) name(string) string { return strconv.Itoa(p.pid) + "." + p.start + "@" + host() }

func (p one) exe() string { return "" }

func (p one) args() []string { return nil }

func (p one) owner() int { return p.uid }

// Boot returns an id of this boot of the machine, "" if there is none.
func Boot() string { return "" }

func host() string {
	name, _ := os.Hostname()
	return name
}

// Environ returns nothing: macOS does not show a process the environment of another.
func Environ(int) []string { return nil }

// Terminal reports whether a device file, such as /dev/ttys003, is the terminal with a device number as in
// Process.TTY.
func Terminal(path string, tty int) bool {
	var st unix.Stat_t
	return tty != 0 && unix.Stat(path, &st) == nil && int(st.Rdev) == tty
}

// LastInput returns when input was last typed into the terminal of a program, as the system records it. Zero: unknown.
func LastInput(program string) time.Time {
	tty := look(Number(program)).tty
	paths, _ := filepath.Glob("/dev/ttys*") // the pattern is valid
	for _, path := range paths {
		var st unix.Stat_t
		if tty != 0 && unix.Stat(path, &st) == nil && int(st.Rdev) == tty {
			return time.Unix(st.Atim.Unix())
		}
	}
	return time.Time{}
}

// Session names the session that this process belongs to: a terminal window, with its shell and everything started
// from it.
func Session() string {
	number := look(os.Getpid()).session
	first := look(number)
	first.pid = number // it may have ended
	return first.key()
}

// SetterDir returns "": not supported on this system.
func SetterDir(string) string { return "" }

// Apart returns false: macOS has no process namespaces.
func Apart(int) bool { return false }

// Alive reports whether a program named by Program runs on this machine.
func Alive(key string) bool {
	pid := Number(key)
	if pid == 0 {
		return false
	}
	p := look(pid)
	return p.pid != 0 && p.key() == key
}
