package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Listener returns the process of this user that listens on a TCP port of 127.0.0.1, if its program is called name or
// begins so; "" if none does.
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

// listening returns the socket that listens on a port, as the network of p has it (proc_net_tcp(5)); "" if none does.
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

// Holds reports whether a process has a socket open, which is named by its inode, as far as the system tells.
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
