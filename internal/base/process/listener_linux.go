package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Listener returns the process of this user that listens on a TCP port of 127.0.0.1, if its program's name begins with
// name; "" if there is none.
func Listener(port uint16, name string) string {
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		p := look(pid)
		if strings.HasPrefix(p.comm, name) && p.owner() == os.Getuid() && Holds(pid, p.listening(port)) {
			return p.key()
		}
	}
	return ""
}

// listening returns the socket that listens on a port, from p's network table (proc_net_tcp(5)); "" if there is none.
func (p one) listening(port uint16) string {
	const listens = "0A"
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/net/tcp") // none if p has ended
	at := fmt.Sprintf("0100007F:%04X", port)
	for line := range bytes.Lines(text) {
		if f := strings.Fields(string(line)); len(f) > 9 && f[1] == at && f[3] == listens {
			return f[9]
		}
	}
	return ""
}

// Holds reports whether a process has a socket open, named by its inode, as far as the system tells.
func Holds(pid int, socket string) bool {
	if socket == "" {
		return false
	}
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	files, _ := os.ReadDir(dir) // none if it has ended, or is another user's
	for _, f := range files {
		if to, _ := os.Readlink(dir + "/" + f.Name()); to == "socket:["+socket+"]" {
			return true
		}
	}
	return false
}
