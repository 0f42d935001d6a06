package door

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// inForeground reports whether a process is in the foreground group of the terminal tty, and whether that is known.
func inForeground(pid int, tty string) (yes, known bool) {
	yes, known = onTerminal(pid, tty)
	f := statOf(pid)
	return yes && len(f) > 5 && bytes.Equal(f[2], f[5]), known
}

// onTerminal reports whether tty is the terminal of a process, and whether that is known.
func onTerminal(pid int, tty string) (yes, known bool) {
	if pid <= 0 {
		return false, false
	}
	f := statOf(pid)
	var st unix.Stat_t
	if len(f) < 6 || unix.Stat(tty, &st) != nil {
		return false, true
	}
	major, minor := unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev))
	device := minor&0xff | major<<8 | minor&^0xff<<12
	number, err := strconv.ParseInt(string(f[4]), 10, 64)
	return err == nil && uint32(number) == device, true
}

// hasNoTerminal reports whether a program is known to have no terminal of its own.
func hasNoTerminal(pid int) bool {
	f := statOf(pid)
	return len(f) > 4 && string(f[4]) == "0"
}

// statOf returns the fields after a program's name, which may contain anything, in proc_pid_stat(5): state, parent,
// group, session, terminal, the terminal's foreground group, …
func statOf(pid int) [][]byte {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
}
