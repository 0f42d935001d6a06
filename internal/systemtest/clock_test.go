package systemtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// clockFile is the variable that names the file of a jumping clock: the seconds by which it is wrong.
const clockFile = "PENNYPOST_TEST_CLOCK"

// jump is a file of package time whose clock is as wrong as a file says, and looks there every few milliseconds.
const jump = `package time

import (
	"sync/atomic"
	"syscall"
)

var jumped atomic.Int64

func init() {
	if path, ok := syscall.Getenv("` + clockFile + `"); ok {
		look(path)
		go func() {
			for {
				Sleep(5 * Millisecond)
				look(path)
			}
		}()
	}
}

func look(path string) {
	fd, err := syscall.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	var b [20]byte
	n, _ := syscall.Read(fd, b[:])
	seconds := int64(0)
	for _, c := range b[:max(n, 0)] {
		if c >= '0' && c <= '9' {
			seconds = 10*seconds + int64(c-'0')
		}
	}
	if b[0] == '-' {
		seconds = -seconds
	}
	if n > 0 {
		jumped.Store(seconds)
	}
}
`

// buildJumping builds a post office whose clock jumps, with a package time of its own.
func buildJumping(t *testing.T) (program string) {
	t.Helper()
	dir := t.TempDir()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	std := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	text, err := os.ReadFile(filepath.Join(std, "time.go"))
	if err != nil {
		t.Skip(err)
	}
	const now = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if !bytes.Contains(text, []byte(now)) {
		t.Skip("time.Now is not as this test knows it")
	}
	text = bytes.Replace(text, []byte(now), []byte(now+"\tsec += jumped.Load()\n"), 1)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(std, "time.go"): filepath.Join(dir, "time.go"),
		filepath.Join(std, "jump.go"): filepath.Join(dir, "jump.go")}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"time.go": text, "jump.go": []byte(jump), "overlay.json": overlay} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program = filepath.Join(dir, "pennypostd")
	cmd := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "../..")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// TestJumpingClock sets the clock of a running post office forward and back, by the hours of a sleep, by years, and
// to before 1970, and starts it anew at each of these times. Who waits and who watches is told, the files verify, and
// what was sent is there, each once.
func TestJumpingClock(t *testing.T) {
	if !*attack {
		t.Skip("compiles package time anew; ./test attack runs it")
	}
	program := buildJumping(t)
	o := newOffice(t)
	clock := filepath.Join(o.root, "clock")
	o.env = []string{clockFile + "=" + clock}
	set := func(by time.Duration) {
		t.Helper()
		if err := os.WriteFile(clock, fmt.Append(nil, int64(by/time.Second)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set(0)
	d := o.mustServeBy(t, program, loopback)
	// shows reports whether the post office has the time that was set.
	shows := func(by time.Duration) bool {
		answer, err := http.Get(d.HTTP + "/healthz")
		if err != nil {
			return false
		}
		answer.Body.Close()
		at, err := http.ParseTime(answer.Header.Get("Date"))
		return err == nil && at.Sub(time.Now().Add(by)).Abs() < time.Minute
	}
	o.must(t, "agents", "register", "ann")
	o.must(t, "agents", "register", "bob")
	watch := o.watch(t)
	const day = 24 * time.Hour
	var sent []string
	defer func() {
		if t.Failed() {
			t.Log(d.log)
		}
	}()
	for i, by := range []time.Duration{0, 9 * time.Hour, -30 * day, 400 * day, 0, -60 * 366 * day, time.Minute,
		200 * 365 * day, 0} {
		set(by)
		eventually(t, "the clock has jumped", func() bool { return shows(by) })
		for _, restarted := range []bool{false, true} {
			if restarted {
				if err := d.terminate(); err != nil {
					t.Errorf("at %v: %v", by, err)
				}
				d = o.mustServeBy(t, program, loopback)
				watch = o.watch(t)
			}
			began := len(sent)
			for _, to := range []string{"ann", "bob", "user"} {
				body := fmt.Sprint("step ", i, " to ", to, restarted)
				sent = append(sent, body)
				o.must(t, "send", "--to", to, "--type", "status", "--body", body)
			}
			if got := o.must(t, "inbox", "--as", "ann", "--json"); !strings.Contains(got, sent[began]) {
				t.Errorf("at %v, restarted %v: ann does not see what came", by, restarted)
			}
			o.must(t, "wait", "--as", "bob", "--timeout", "10s")
			eventually(t, "the watch shows it", func() bool {
				return slices.ContainsFunc(watch.events(), func(e event) bool {
					return e.Message != nil && e.Message.Body == sent[len(sent)-1]
				})
			})
			o.must(t, "status")
			o.must(t, "archive")
			o.must(t, "verify")
		}
	}
	var got []string
	for line := range strings.Lines(o.must(t, "export")) {
		if it := decode[mail.Item](t, line); it.From != mail.FromSystem {
			got = append(got, it.Body)
		}
	}
	slices.Sort(got) // what is archived comes first
	slices.Sort(sent)
	if !slices.Equal(got, sent) {
		t.Errorf("an export has\n%q\nwant\n%q", got, sent)
	}
	if err := d.terminate(); err != nil {
		t.Error(err)
	}
}
