//go:build linux

package systemtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var clusterJoins = regexp.MustCompile(`(?m)^pennypost cluster (join (\S+) (\S{48}))$`)

// clusterPort returns a port of loopback where a server of a cluster can listen, with the one for other servers.
func clusterPort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 12000 + rand.IntN(16000)
		free := true
		for _, p := range []int{port, port + 2000} {
			l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", p))
			if err == nil {
				l.Close()
			}
			free = free && err == nil
		}
		if free {
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// joined makes a cluster of machines, which are data directories, with the commands that a person types.
func joined(t *testing.T, names ...string) map[string]*office {
	t.Helper()
	all := make(map[string]*office)
	for i, name := range names {
		o := newOffice(t)
		all[name] = o
		if i == 0 {
			o.must(t, "cluster", "init", "--name", name, "--address", fmt.Sprint("127.0.0.1:", clusterPort(t)))
			o.must(t, "rooms") // its post office runs when the others join
			continue
		}
		lets(t, all[names[0]], o, name)
	}
	return all
}

// lets makes a machine of a cluster let another one in, and returns the output.
func lets(t *testing.T, in, o *office, name string, more ...string) string {
	t.Helper()
	m := clusterJoins.FindStringSubmatch(in.must(t, "cluster", "invite"))
	if m == nil {
		t.Fatal("no line to type")
	}
	return o.must(t, append([]string{"cluster", "join", m[2], m[3], "--name", name, "--address",
		fmt.Sprint("127.0.0.1:", clusterPort(t))}, more...)...)
}

// lose kills everything that runs on a machine, so that nothing restarts by itself.
func (o *office) lose(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(patience); len(o.processes()) > 0; time.Sleep(5 * time.Millisecond) {
		for _, p := range o.processes() {
			p.kill()
		}
		if time.Now().After(deadline) {
			t.Fatal("it cannot be killed")
		}
	}
}

// says repeats a command until its output matches.
func says(t *testing.T, o *office, pattern string, args ...string) {
	t.Helper()
	want := regexp.MustCompile(pattern)
	var r result
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if r = o.run(args...); want.MatchString(r.stdout + r.stderr) {
			return
		}
	}
	t.Fatalf("pennypost %q does not say %q: exit %d\n%s%s", args, pattern, r.code, r.stdout, r.stderr)
}

// TestOwnCluster makes a cluster with three commands, loses one machine, replaces it by a new one, and loses
// another: mail continues. The replaced machine is refused when it comes back.
func TestOwnCluster(t *testing.T) {
	t.Parallel()
	all := joined(t, "desk", "laptop", "tower")
	desk, laptop, tower := all["desk"], all["laptop"], all["tower"]
	says(t, tower, `One more of them may fail`, "cluster", "status")
	desk.must(t, "agents", "register", "builder-1", "--room", "lab")
	desk.must(t, "send", "--as", "builder-1", "--room", "lab", "--to", "user", "--body", "All three are here.")
	says(t, laptop, "All three are here", "inbox", "--room", "lab")
	says(t, tower, "All three are here", "inbox", "--room", "lab")
	says(t, desk, `(?s)desk +up +syncs each write.*laptop +up +syncs.*tower +up +syncs.*One more of them may fail`,
		"machines")

	// The post office next to a killed server starts the server again.
	for _, p := range laptop.processes() {
		if strings.HasSuffix(p.args[0], "pennypost-nats") {
			p.kill()
		}
	}
	says(t, laptop, "One more of them may fail", "cluster", "status")

	tower.lose(t)
	says(t, desk, `(?s)tower +away.*No more of them may fail`, "cluster", "status")
	says(t, desk, "msg_", "send", "--as", "builder-1", "--room", "lab", "--to", "user", "--body", "Without the tower.")
	says(t, laptop, "Without the tower", "inbox", "--room", "lab")
	if r := desk.run("cluster", "remove", "tower"); r.code == 0 || !strings.Contains(r.stderr, "was not removed: "+
		"fewer than three") {
		t.Errorf("removing one of three: exit %d %s%s", r.code, r.stdout, r.stderr)
	}

	box := newOffice(t)
	all["box"] = box
	lets(t, laptop, box, "box")
	says(t, desk, `tower has left the cluster`, "cluster", "remove", "tower")
	says(t, box, `(?s)box +up.*One more of them may fail`, "cluster", "status")
	laptop.lose(t)
	says(t, desk, "msg_", "send", "--as", "builder-1", "--room", "lab", "--to", "user", "--body", "Without the "+
		"laptop.")
	says(t, box, `(?s)All three are here.*Without the tower.*Without the laptop|Without the laptop.*Without the tower`,
		"inbox", "--room", "lab")

	// A machine that was removed while it was away does not know that, and is in no cluster any more.
	says(t, tower, "as of .* refuse this machine", "inbox", "--room", "lab")
	if r := desk.run("cluster", "status"); strings.Contains(r.stdout, "tower") {
		t.Errorf("tower is back: %s", r.stdout)
	}
}

// TestOwnClusterPage types the commands of the second part of docs/machines.md on four machines, which here are data
// directories with loopback addresses.
func TestOwnClusterPage(t *testing.T) {
	t.Parallel()
	all := make(map[string]*office)
	here := make(map[string]string) // additions to a command, by machine
	for _, name := range []string{"desk", "laptop", "tower", "box"} {
		o := newOffice(t)
		o.env = append(o.env, "PATH="+filepath.Dir(person)+string(os.PathListSeparator)+os.Getenv("PATH"))
		all[name], here[name] = o, fmt.Sprintf(" --name %s --address 127.0.0.1:%d", name, clusterPort(t))
		writeConfig(t, o, "machine.name = \""+name+"\"\n")
	}
	page := machinesPart(t, ownCluster)
	typedOn := regexp.MustCompile(`pennypost cluster join 10\.0\.0\.1:4222 (\S{48})`)
	var said []string // the printed lines, and those of the page that they replace
	for _, step := range machineSteps(page) {
		o := all[step.machine]
		command := strings.NewReplacer(said...).Replace(step.command)
		if strings.HasPrefix(command, "pennypost cluster init") || strings.HasPrefix(command, "pennypost cluster "+
			"join") {
			command += here[step.machine]
		}
		var r result
		gone := "" // the first line of a removal
		for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
			r = typed(t, o, command)
			lines := clusterJoins.FindAllString(r.stdout, -1)
			for i, of := range typedOn.FindAllString(strings.Join(step.prints, "\n"), -1) {
				if i < len(lines) {
					said = append(said, of, lines[i])
				}
			}
			r.stdout = gone + r.stdout
			if step.is(r, strings.NewReplacer(said...)) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal(step.not(r))
			}
			if first, _, _ := strings.Cut(r.stdout, "\n"); gone == "" && strings.HasSuffix(first, "its key is void.") {
				command, gone = "pennypost cluster status", first+"\n" // it cannot be done again
			}
		}
	}
}

// TestOwnClusterRevokes removes a present machine: its open streams and waits end, and so does its server.
func TestOwnClusterRevokes(t *testing.T) {
	t.Parallel()
	all := joined(t, "desk", "laptop", "tower", "box")
	desk, box := all["desk"], all["box"]
	eventually(t, "the servers take the first room", func() bool {
		return desk.run("agents", "register", "builder-1", "--room", "lab").code == 0
	})
	desk.must(t, "send", "--as", "builder-1", "--room", "lab", "--to", "user", "--body", "Four.")
	says(t, box, "Four", "inbox", "--room", "lab")
	began := time.Now()
	desk.must(t, "cluster", "remove", "box")
	t.Logf("removed in %v", time.Since(began).Round(time.Millisecond))
	eventually(t, "its server has ended", func() bool {
		return !slices.ContainsFunc(box.processes(), func(p process) bool {
			return strings.HasSuffix(p.args[0], "pennypost-nats")
		})
	})
	says(t, box, "was removed from its cluster", "cluster", "status")
	says(t, box, "refuse this machine", "inbox", "--room", "lab")
	box.must(t, "cluster", "leave")
	if _, err := os.Stat(filepath.Join(box.home, "cluster.json")); err == nil {
		t.Error("it has left, and its list is still there")
	}
}

// TestOwnClusterRefuses holds that the commands refuse wrong uses, and leave nothing behind.
func TestOwnClusterRefuses(t *testing.T) {
	t.Parallel()
	desk := joined(t, "desk")["desk"]
	m := clusterJoins.FindStringSubmatch(desk.must(t, "cluster", "invite"))
	o := newOffice(t)
	at := fmt.Sprint("127.0.0.1:", clusterPort(t))
	refused := func(o *office, says string, args ...string) {
		t.Helper()
		if r := o.run(args...); r.code == 0 || !strings.Contains(r.stderr, says) {
			t.Errorf("%q: exit %d, %s%s, want %q", args, r.code, r.stdout, r.stderr, says)
		}
	}
	refused(o, "is not in a cluster", "cluster", "status")
	refused(o, "is not in a cluster", "cluster", "leave")
	refused(o, "is not in a cluster", "cluster", "invite")
	refused(o, "needs an address and a code", "cluster", "join", m[2])
	refused(o, "acts on this machine", "cluster", "status", "--remote", "https://127.0.0.1:1")
	agent := *o
	agent.env = append(agent.env, "CLAUDECODE=1")
	refused(&agent, "agent", "cluster", "init", "--address", at)

	o.must(t, "send", "--room", "old", "--to", "user", "--body", "In a file.")
	refused(o, "would hide the cluster's rooms of the same names: old", "cluster", "join", m[2], m[3], "--address", at)
	o.must(t, "cluster", "join", m[2], m[3], "--address", at, "--name", "laptop", "--keep-rooms")
	says(t, o, "In a file", "inbox", "--room", "old")
	says(t, desk, "mail was sent|msg_", "send", "--room", "new", "--to", "user", "--body", "On two servers.")
	refused(o, "fewer than three machines would be left", "cluster", "leave")

	full := newOffice(t)
	if err := os.Mkdir(full.home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := mountSmall(full.home, "size=16m"); err != nil {
		t.Skip("this system mounts no disk that is full soon: ", err)
	}
	t.Cleanup(func() { _ = unmount(full.home) })
	refused(full, "has only", "cluster", "init", "--address", fmt.Sprint("127.0.0.1:", clusterPort(t)))
	if _, err := os.Stat(filepath.Join(full.home, "cluster.json")); err == nil {
		t.Error("a cluster was begun on a full disk")
	}
}
