package gate

import (
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"pennypost/internal/base/process"
)

// A connection belongs to the process that opened it. A child of that process, such as an agent's client, may have the
// socket too: for the moment before it runs its own program, or permanently.
func TestHolderOf(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	opener := exec.Command("bash", "-c",
		`exec 3<>/dev/tcp/127.0.0.1/`+port+`; CLAUDECODE=1 bash -c 'echo $$; read' <&0 & read`)
	stdin, err := opener.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := opener.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := opener.Start(); err != nil {
		t.Fatal(err)
	}
	defer opener.Wait()
	defer stdin.Close()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	text := make([]byte, 16)
	n, err := stdout.Read(text) // it runs its own program by now
	if err != nil {
		t.Fatal(err)
	}
	heir, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		t.Fatal(err)
	}
	inode := socketOf(addrPort(c.RemoteAddr()), addrPort(c.LocalAddr()))
	if !process.Holds(heir, inode) {
		t.Fatalf("process %d has not inherited socket %q", heir, inode)
	}
	for _, pid := range []int{holderOf(inode), openerOf(heir, inode)} {
		if pid != opener.Process.Pid {
			t.Errorf("the connection is from process %d, want %d, which opened it, and started %d", pid,
				opener.Process.Pid, heir)
		}
	}
}
