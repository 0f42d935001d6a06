package wake

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// inForeground reports whether a process is among those that have the terminal tty now, and whether that is known.
func inForeground(pid int, tty string) (yes, known bool) {
	if pid <= 0 {
		return false, false
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false, true
	}
	// proc_pid_stat(5): behind the name, which may contain anything, stand state, parent, group, session, terminal,
	// and the terminal's foreground group.
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	var st unix.Stat_t
	if len(f) < 6 || unix.Stat(tty, &st) != nil {
		return false, true
	}
	major, minor := unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev))
	device := minor&0xff | major<<8 | minor&^0xff<<12
	number, err := strconv.ParseInt(string(f[4]), 10, 64)
	return err == nil && uint32(number) == device && bytes.Equal(f[2], f[5]), true
}
