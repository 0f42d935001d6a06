package daemon

import (
	"bytes"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"pennypost/internal/config"
)

// peerOf asks the kernel who is at the far end (unix(7), SO_PEERCRED).
func peerOf(conn *net.UnixConn) (*peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *syscall.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err != nil {
		return nil, err
	}
	if credErr != nil {
		return nil, os.NewSyscallError("getsockopt", credErr)
	}
	return &peer{uid: int(cred.Uid), pid: int(cred.Pid)}, nil
}

// maxAncestors ends the walk up a tree that is changing under us.
const maxAncestors = 64

// searchProcess looks for the variable of an agent client in the environment of a process and, with tree, of its
// ancestors, but not for the one called except. /proc shows the environment that a program was started with. What it
// does not let us read (processes of others, or that forbid it) is passed over.
func searchProcess(pid int, tree bool, except string) string {
	for range maxAncestors {
		if pid <= 1 {
			return ""
		}
		environ := slices.DeleteFunc(environOf(pid), func(v string) bool {
			return except != "" && strings.HasPrefix(v, except+"=")
		})
		if v, found := config.AgentClient(environ); found {
			return v
		}
		if !tree {
			return ""
		}
		pid = parentOf(pid)
	}
	return ""
}

func environOf(pid int) []string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil
	}
	return strings.Split(string(text), "\x00")
}

// parentOf reads the fourth field of /proc/pid/stat (proc_pid_stat(5)). The second, the program's name, stands in
// parentheses and may contain anything.
func parentOf(pid int) int {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return parent
}
