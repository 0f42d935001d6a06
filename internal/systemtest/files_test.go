package systemtest

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fewFiles puts a program of the same name ahead of ours in the path: a post office that may have n open files.
func (o *office) fewFiles(t *testing.T, n int) {
	t.Helper()
	script := "#!/bin/sh\nulimit -n " + strconv.Itoa(n) + "\nexec " + binary + ` "$@"` + "\n"
	if err := os.WriteFile(filepath.Join(o.root, "few"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
}

// flood opens connections to an address until there are n, or no more succeed.
func flood(t *testing.T, network, address string, n int) (conns []net.Conn) {
	t.Helper()
	for range n {
		c, err := net.DialTimeout(network, address, time.Second)
		if err != nil {
			break
		}
		conns = append(conns, c)
	}
	return conns
}

func hangUp(conns []net.Conn) {
	for _, c := range conns {
		c.Close()
	}
}

// A post office that runs out of file descriptors sheds connections and says so; existing connections and journals
// are not affected.
func TestOutOfFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such limit")
	}
	t.Parallel()
	o := newOffice(t)
	o.fewFiles(t, 96)
	d := o.mustServeBy(t, filepath.Join(o.root, "few"), loopback)
	o.must(t, "agents", "register", "ann")
	watch := o.watch(t)

	tcp := flood(t, "tcp", strings.TrimPrefix(d.HTTP, "http://"), 300)
	defer hangUp(tcp)
	for i := range 10 { // the owner's socket is not the strangers' port
		o.must(t, "send", "--to", "ann", "--body", fmt.Sprint("tcp ", i))
	}
	unix := flood(t, "unix", d.Socket, 300)
	defer hangUp(unix)
	until(t, "the watch sees what was sent", func() bool { return countMessages(watch) == 10 })
	if r := o.run("send", "--to", "ann", "--body", "shed"); r.code != 6 {
		t.Errorf("a send to a full house: exit %d, want 6\n%s%s", r.code, r.stdout, r.stderr)
	}
	hangUp(tcp)
	hangUp(unix)
	until(t, "the house has emptied", func() bool {
		return o.run("send", "--to", "ann", "--body", fmt.Sprint("after ", time.Now().UnixNano())).code == 0
	})
	until(t, "the watch goes on", func() bool { return countMessages(watch) >= 11 })
	if n := strings.Count(d.log.String(), "shedding new connections"); n < 1 || n > 2 { // one for each listener
		t.Errorf("the log says %d times that connections are shed\n%s", n, d.log)
	}
	var found struct{ Problems []any }
	if err := json.Unmarshal([]byte(o.must(t, "verify", "--json")), &found); err != nil || len(found.Problems) > 0 {
		t.Errorf("verify: %v, %v", found, err)
	}
	if err := d.terminate(); err != nil {
		t.Error(err)
	}
}

func countMessages(w *watcher) (n int) {
	for _, e := range w.events() {
		if e.Message != nil {
			n++
		}
	}
	return n
}

// until waits for a condition.
func until(t *testing.T, what string, true func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !true(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not met within %v: %s", patience, what)
		}
	}
}
