//go:build linux

package proof

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// typist types commands on a host, as an agent of it.
type typist struct {
	t       *testing.T
	within  []string
	program string
	root    string
}

func (h *typist) command(args ...string) *exec.Cmd {
	words := append(append(h.within[:len(h.within):len(h.within)], h.program), args...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.WaitDelay = h.root, 5*time.Second
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.root, "TMPDIR=/tmp", "PENNYPOST_LISTEN=none",
		"PENNYPOST_HOME=" + filepath.Join(h.root, "home")}
	return cmd
}

// says runs a command until its output matches, and returns the match.
func (h *typist) says(pattern string, args ...string) string {
	h.t.Helper()
	want := regexp.MustCompile(pattern)
	var out []byte
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		out, _ = h.command(args...).CombinedOutput()
		if want.Match(out) {
			return string(out)
		}
	}
	h.t.Fatalf("%s: pennypost %q does not say %q:\n%s", h.root, args, pattern, out)
	return ""
}

// kill ends everything that runs on the host, as a power failure does.
func (h *typist) kill() {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		found := false
		for _, file := range []string{"pennypost.lock", "nats.lock"} {
			text, err := os.ReadFile(filepath.Join(h.root, "home", file))
			pid := strings.TrimSpace(string(text))
			exe, _ := os.Readlink("/proc/" + pid + "/exe")
			if err == nil && pid != "" && strings.HasPrefix(exe, filepath.Dir(h.program)) {
				found = exec.Command("kill", "-9", pid).Run() == nil
			}
		}
		if !found {
			return
		}
	}
}

// TestThreeCommands makes a cluster of three hosts with networks of their own, by three commands that name no address.
// Then one host is cut off, and another is killed.
func TestThreeCommands(t *testing.T) {
	if *minutes <= 0 {
		t.Skip("run it by: ./test proof --machines")
	}
	network, err := newNetwork(fmt.Sprintf("ppc%d-", os.Getpid()), machines)
	if err != nil {
		t.Skip("this machine has no hosts in namespaces: ", err)
	}
	bin, err := os.MkdirTemp("/tmp", "ppb")
	for name, pkg := range map[string]string{"pennypost": "../../cmd/pennypost", "pennypostd": "../..",
		"pennypost-nats": "../../cmd/pennypost-nats"} {
		out, bad := exec.Command("go", "build", "-o", filepath.Join(bin, name), pkg).CombinedOutput()
		if bad != nil {
			t.Fatalf("go build: %v\n%s", bad, out)
		}
	}
	hosts := make([]*typist, machines)
	t.Cleanup(func() {
		for _, h := range hosts {
			if h != nil {
				h.kill()
				os.RemoveAll(h.root)
			}
		}
		network.close()
		os.RemoveAll(bin)
	})
	for i := range hosts {
		root, bad := os.MkdirTemp("/tmp", "pph")
		err = errors.Join(err, bad)
		hosts[i] = &typist{t: t, within: network.command(i), program: filepath.Join(bin, "pennypost"), root: root}
	}
	if err != nil {
		t.Fatal(err)
	}
	one, two, three := hosts[0], hosts[1], hosts[2]
	said := one.says("Created a cluster", "cluster", "init", "--name", "one")
	printed := regexp.MustCompile(`(?m)^pennypost (cluster join 10\.97\.0\.1:4222 \S{48})$`)
	lines := printed.FindAllStringSubmatch(said, -1)
	if len(lines) != 2 {
		t.Fatalf("init says:\n%s", said)
	}
	began := time.Now()
	two.says("(?s)now in the cluster, as two.*10.97.0.2:4222", append(strings.Fields(lines[0][1]), "--name", "two")...)
	t.Logf("the second is in after %v", time.Since(began).Round(time.Millisecond))
	began = time.Now()
	three.says("(?s)10.97.0.3:4222.*One more of them may "+
		"fail", append(strings.Fields(lines[1][1]), "--name", "three")...)
	t.Logf("the third is in, and any one may fail, after %v", time.Since(began).Round(time.Millisecond))

	send := func(h *typist, as, body string) {
		t.Helper()
		h.says("msg_", "send", "--as", as, "--room", "lab", "--to", "all", "--body", body)
	}
	three.says("", "send", "--as", "ann-3", "--room", "lab", "--to", "user", "--body", "I am here.")
	two.says("", "send", "--as", "ann-2", "--room", "lab", "--to", "user", "--body", "I am here.")
	send(one, "ann-1", "All three are here.")
	two.says("All three are here", "inbox", "--as", "ann-2", "--room", "lab")
	three.says("All three are here", "inbox", "--as", "ann-3", "--room", "lab")

	network.around(2, path{cut: true})
	one.says(`three +away`, "cluster", "status")
	send(one, "ann-1", "Without the third.")
	two.says("Without the third", "inbox", "--as", "ann-2", "--room", "lab")
	network.everywhere(path{})
	three.says("Without the third", "inbox", "--as", "ann-3", "--room", "lab")
	three.says("One more of them may fail", "cluster", "status")

	one.kill()
	send(three, "ann-3", "Without the first.")
	two.says("Without the first", "inbox", "--as", "ann-2", "--room", "lab")
}
