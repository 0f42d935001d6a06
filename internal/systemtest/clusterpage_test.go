package systemtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"pennypost/internal/room/journal/jetstream/natstest"
)

// pageMachines are the machines in the third part of the page, in the order of their addresses.
var pageMachines = []string{"desk", "laptop", "tower"}

// pageErased is the id of the message that the page erases.
const pageErased = "msg_V1StGXR8_Z5jdHi6B-myT"

// pageKeys are the keys of the machines on the page.
var pageKeys = map[string]string{
	"laptop": "O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik",
	"tower":  "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
}

// clusterPage is the third part of docs/machines.md, tried on one machine: loopback addresses replace those of the
// page.
type clusterPage struct {
	text    string
	offices map[string]*office
	addrs   []map[string]string // for each machine: the page's port, and the address that replaces it
}

// TestClusterPage types the commands of the third part of docs/machines.md on three machines, with the configurations
// of the page.
func TestClusterPage(t *testing.T) {
	t.Parallel()
	server, err := natstest.Program()
	if err != nil {
		t.Skip(err)
	}
	p := newClusterPage(t, server)
	p.offices["desk"].must(t, "send", "--room", "old", "--to", "user", "--body", "From before.")
	for i, name := range pageMachines {
		p.configure(t, i, p.offices[name])
		p.offices[name].must(t, "stop")
	}
	erased := pageErased
	keys := make(map[string]string) // of the machines, by the keys on the page
	admits := regexp.MustCompile(`(?m)^pennypost machines admit (\S+) (\S{43})$`)
	for _, step := range machineSteps(p.text) {
		o := p.offices[step.machine]
		if step.command == "nats-server -c nats.conf" {
			startServer(t, o, server)
			continue
		}
		// Changes of servers are noticed after some seconds, so every command is repeated until its output is that
		// of the page.
		var r result
		for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
			page := func() *strings.Replacer {
				here := []string{pageErased, erased}
				for name, key := range keys {
					here = append(here, pageKeys[name], key)
				}
				return strings.NewReplacer(here...)
			}
			r = typed(t, o, page().Replace(step.command))
			if m := admits.FindStringSubmatch(r.stdout); m != nil {
				keys[m[1]] = m[2]
			}
			if id := regexp.MustCompile(`^msg_\S+`).FindString(r.stdout); id != "" {
				erased = id
			}
			if step.is(r, page()) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal(step.not(r))
			}
		}
	}
	if len(p.offices["laptop"].processes()) == 0 {
		t.Error("nothing runs on the laptop")
	}
}

// newClusterPage makes three machines, with a nats-server on their paths.
func newClusterPage(t *testing.T, server string) *clusterPage {
	t.Helper()
	programs := t.TempDir()
	if err := os.Symlink(server, filepath.Join(programs, "nats-server")); err != nil {
		t.Fatal(err)
	}
	p := &clusterPage{text: machinesPart(t, yourServers), offices: make(map[string]*office)}
	for _, name := range pageMachines {
		o := newOffice(t)
		o.env = append(o.env, "PATH="+strings.Join([]string{filepath.Dir(person), programs, os.Getenv("PATH")},
			string(os.PathListSeparator)))
		addrs := make(map[string]string)
		for _, port := range []string{"4222", "6222", "8222"} {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			addrs[port] = l.Addr().String()
		}
		p.offices[name], p.addrs = o, append(p.addrs, addrs)
	}
	return p
}

// configure writes the two files of the page for a machine. Post offices ask servers at port 8222 for their
// settings, and here must be told the other ports.
func (p *clusterPage) configure(t *testing.T, i int, o *office) {
	t.Helper()
	here := []string{`"desk"`, fmt.Sprintf("%q", pageMachines[i])}
	var monitor []string
	for j, addrs := range p.addrs {
		for port, addr := range addrs {
			here = append(here, fmt.Sprintf("10.0.0.%d:%s", j+1, port), addr)
			if i == j {
				here = append(here, "0.0.0.0:"+port, addr)
			}
		}
		monitor = append(monitor, fmt.Sprintf(`"http://%s"`, addrs["8222"]))
	}
	page := strings.NewReplacer(here...)
	conf := []byte(page.Replace(pageBlocks(p.text, "conf")[0]))
	if err := os.WriteFile(filepath.Join(o.dir, "nats.conf"), conf, 0o600); err != nil {
		t.Fatal(err)
	}
	writeConfig(t, o, page.Replace(pageBlocks(p.text, "toml")[0])+"monitor = ["+strings.Join(monitor, ", ")+"]\n")
}

// startServer starts the NATS server of a machine, which ends with a command of the page or with the test.
func startServer(t *testing.T, o *office, server string) {
	t.Helper()
	cmd := exec.Command(server, "-c", "nats.conf")
	cmd.Dir, cmd.Env = o.dir, o.environ()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
}
