package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/wire/client"
)

// place is the post office under load: a process of its own, on loopback, in a directory of its own.
type place struct {
	cmd    *exec.Cmd
	office *client.Office // for agents
	admin  *client.Office // for the user
	http   string
	token  string
}

// open builds the program, starts a post office and ends it with the test.
func open(t *testing.T) *place {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "ppl") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	binary := os.Getenv("PENNYPOST_BIN")
	if binary == "" {
		binary = filepath.Join(root, "pennypost")
		if out, err := exec.Command("go", "build", "-o", binary, "../../..").CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
	}
	home := filepath.Join(root, "home")
	cmd := exec.Command(binary, "serve", "--json", "--listen", "127.0.0.1:0")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "PENNYPOST_HOME=" + home,
		"PENNYPOST_LOG=warn"}
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, cmd) })
	var at struct{ Socket, HTTP string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &at)
	}
	if err != nil {
		t.Fatalf("the post office says %q: %v", line, err)
	}
	token, err := os.ReadFile(filepath.Join(home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	p := &place{cmd: cmd, http: at.HTTP, token: strings.TrimSpace(string(token))}
	if p.office, err = client.New(client.Options{Socket: at.Socket}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.office.Close)
	if p.admin, err = client.New(client.Options{Socket: at.Socket, Token: p.token}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.admin.Close)
	return p
}

// stop ends the post office, by force after half a minute.
func stop(t *testing.T, cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	force := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer force.Stop()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the post office ended with %v", err)
	}
}

func (p *place) user(t *testing.T) mail.Service {
	t.Helper()
	svc, err := p.admin.Room(t.Context(), "load", mail.User)
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

// roster registers the senders, with tokens, and the sink.
func (p *place) roster(t *testing.T, n int) []agent {
	t.Helper()
	user := p.user(t)
	if _, err := user.Register(t.Context(), mail.Presence{Name: "sink"}); err != nil {
		t.Fatal(err)
	}
	all := make([]agent, n)
	for i := range all {
		all[i].name = mail.Name(fmt.Sprint("sender", i))
		_, err := user.Register(t.Context(), mail.Presence{Name: all[i].name})
		if err == nil {
			all[i].token, err = user.Token(t.Context(), all[i].name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// seed imports as many messages as a room keeps.
func (p *place) seed(t *testing.T) {
	t.Helper()
	items := make([]mail.Item, seeded)
	now := time.Now()
	for i := range items {
		items[i].Message = mail.Message{
			ID: mail.ID(fmt.Sprint("msg_seed", i)), Type: mail.Status, From: "user", To: []mail.Address{"agent:sink"},
			Body: fmt.Sprint("seed ", i),
			Sent: mail.TimeOf(now.Add(-time.Hour + time.Duration(i)*time.Millisecond)),
		}
	}
	if done, err := p.user(t).Import(t.Context(), items); err != nil || done.Added != seeded {
		t.Fatalf("Import = %+v, %v", done, err)
	}
}

func (p *place) archive(t *testing.T) {
	t.Helper()
	if _, err := p.user(t).Archive(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (p *place) last(t *testing.T) mail.Seq {
	t.Helper()
	st, err := p.user(t).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return st.Seq
}

// holds checks that the room has every acknowledged message, once.
func (p *place) holds(t *testing.T, acked map[mail.ID]bool) {
	t.Helper()
	seen := make(map[mail.ID]int)
	for it, err := range p.user(t).Export(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		seen[it.ID]++
	}
	for id := range acked {
		if seen[id] != 1 {
			t.Errorf("the acknowledged message %s is there %d times", id, seen[id])
		}
	}
}

func (p *place) verify(t *testing.T) {
	t.Helper()
	if v, err := p.user(t).Verify(t.Context()); err != nil || len(v.Problems) > 0 {
		t.Errorf("Verify = %+v, %v", v, err)
	}
}

// figures are measurements of the process.
type figures struct {
	goroutines, files, connections int
	memory                         int // resident, in kB
	heap                           int // in kB
}

func (f figures) String() string {
	return fmt.Sprintf("%d goroutines, %d file descriptors, %d connections, %d kB resident, %d kB of heap",
		f.goroutines, f.files, f.connections, f.memory, f.heap)
}

// figures measures through the process and the system. Without /proc, files and memory are 0.
func (p *place) figures(t *testing.T) (f figures) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.http+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	f.goroutines, f.connections = number(string(text), `go_goroutines (\d+)`), number(string(text),
		`pennypost_connections (\d+)`)
	f.heap = number(string(text), `go_memstats_heap_alloc_bytes (\d+)`) / 1000
	proc := fmt.Sprint("/proc/", p.cmd.Process.Pid)
	if open, err := os.ReadDir(proc + "/fd"); err == nil {
		f.files = len(open)
	}
	status, _ := os.ReadFile(proc + "/status")
	f.memory = number(string(status), `VmRSS:\s*(\d+) kB`)
	return f
}

func number(text, pattern string) int {
	found := regexp.MustCompile(`(?m)^` + pattern).FindStringSubmatch(text)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

// quiet returns the figures of a post office after its clients have gone.
func (p *place) quiet(t *testing.T) figures {
	t.Helper()
	var f figures
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); sleep(t.Context(),
		200*time.Millisecond) {
		p.office.Close()
		p.admin.Close()
		if f = p.figures(t); f.connections <= 2 {
			break
		}
	}
	return f
}

// settle waits until the figures are within their bounds, and returns the last ones.
func (p *place) settle(t *testing.T, before figures, long bool) figures {
	t.Helper()
	for deadline := time.Now().Add(settling); ; sleep(t.Context(), time.Second) {
		p.office.Close()
		p.admin.Close()
		f := p.figures(t)
		well := f.goroutines <= before.goroutines+moreGoroutines && f.files <= before.files+moreFiles &&
			(!long || float64(f.memory) <= moreMemory*float64(before.memory))
		if well || time.Now().After(deadline) || errors.Is(t.Context().Err(), context.Canceled) {
			return f
		}
	}
}
