//go:build unix

package systemtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// process is a process of an office that this test did not start itself.
type process struct {
	pid  int
	args []string
}

// kill ends the process immediately. It may have ended already.
func (p process) kill() { _ = killProcess(p.pid) }

func killProcess(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

// processes finds the processes of the office by the data directory in their environment, which is the only trace of
// a post office that a command started. It finds none on systems other than Linux.
func (o *office) processes() []process {
	var found []process
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile("/proc/" + d.Name() + "/environ")
		if err != nil || !bytes.Contains(env, []byte("PENNYPOST_HOME="+o.root+"/")) {
			continue
		}
		args, _ := os.ReadFile("/proc/" + d.Name() + "/cmdline")
		found = append(found, process{pid, strings.Split(strings.TrimSuffix(string(args), "\x00"), "\x00")})
	}
	return found
}

// daemons returns the post offices among the processes.
func (o *office) daemons() []process {
	var found []process
	for _, p := range o.processes() {
		if len(p.args) > 1 && p.args[1] == "serve" {
			found = append(found, p)
		}
	}
	return found
}

// locked reports whether some process holds the office's lock. That shows whether a killed post office is gone: its
// first thread may be a zombie while others still have its files.
func (o *office) locked() bool {
	f, err := os.Open(filepath.Join(o.home, "pennypost.lock"))
	if err != nil {
		return false
	}
	defer f.Close() // this unlocks
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

// asNobody makes a command run as the user who owns nothing; only root may.
func asNobody(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}

// gone reports whether a process has ended, even if its parent has not waited for it.
func gone(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(stat), ") Z ")
}
