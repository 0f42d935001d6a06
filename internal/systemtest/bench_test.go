package systemtest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The benchmarks drive the program from outside, in the build that users get. Run them with
//
//	go test -run '^$' -bench . ./internal/systemtest
const benchBody = "The parser is done and tested, the reviewer has been asked, and what is left is in the notes. "

// benchOffice is a post office for a benchmark.
type benchOffice struct {
	bin, home, url string
	pid            int
}

func buildFor(b *testing.B, dir, name, pkg string) string {
	b.Helper()
	bin := filepath.Join(dir, name)
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
	return bin
}

// startOffice starts $PENNYPOST_BIN with "d" appended, so that two builds can be compared; without that variable it
// starts the build of this tree. The lines are its config.toml.
func startOffice(b *testing.B, config ...string) *benchOffice {
	b.Helper()
	dir, err := os.MkdirTemp("", "pp")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	o := &benchOffice{bin: binary + "d", home: filepath.Join(dir, "home")}
	if os.Getenv("PENNYPOST_BIN") == "" {
		o.bin = buildFor(b, dir, "pennypost", "../..")
	}
	if err := os.Mkdir(o.home, 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.home, "config.toml"), []byte(strings.Join(config, "\n")),
		0o600); err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	o.url = "http://" + addr
	serve := o.command("serve", "--listen", addr)
	out, err := serve.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		b.Fatal(err)
	}
	o.pid = serve.Process.Pid
	go io.Copy(io.Discard, bufio.NewReader(out))
	b.Cleanup(func() {
		serve.Process.Signal(os.Interrupt)
		serve.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); o.command("status").Run() != nil; {
		if time.Now().After(deadline) {
			b.Fatal("the post office did not open")
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, name := range []string{"ann", "bob"} {
		o.output(b, "agents", "register", name)
	}
	return o
}

func (o *benchOffice) command(args ...string) *exec.Cmd {
	cmd := exec.Command(o.bin, args...)
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); !strings.HasPrefix(name, "PENNYPOST_") &&
			!strings.HasPrefix(name, "CLAUDE") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "PENNYPOST_HOME="+o.home, "PENNYPOST_ROOM=bench")
	return cmd
}

// output returns the output of a command that the person types.
func (o *benchOffice) output(b *testing.B, args ...string) string {
	b.Helper()
	typed, err := seat.Program(o.bin)
	if err != nil {
		b.Fatal(err)
	}
	cmd := o.command(args...)
	cmd.Path = typed
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("pennypost %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// token returns the bearer token of an agent: the only word of the answer that looks like one.
func (o *benchOffice) token(b *testing.B, agent string) string {
	b.Helper()
	for word := range strings.FieldsSeq(o.output(b, "agents", "token", agent)) {
		if strings.HasPrefix(word, "pp.") {
			return word
		}
	}
	b.Fatal("no token was printed")
	return ""
}

// BenchmarkSendSocket measures one durable send after the other over HTTP on the Unix socket.
func BenchmarkSendSocket(b *testing.B) {
	o := startOffice(b, unlimited...)
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(o.home, "pennypost.sock"))
	}}}
	defer client.CloseIdleConnections()
	for b.Loop() {
		req, _ := http.NewRequest("POST", "http://pennypost/api/v1/rooms/bench/messages",
			strings.NewReader(sendArgs()))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Pennypost-Agent", "ann")
		res, err := client.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		answer, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusCreated {
			b.Fatalf("%s: %s", res.Status, answer)
		}
	}
}

// BenchmarkSendMCP measures one durable send after the other through the SDK's client, over stdio and HTTP in both
// eras.
func BenchmarkSendMCP(b *testing.B) {
	o := startOffice(b, unlimited...)
	token := o.token(b, "ann")
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		b.Run("stdio/"+version, func(b *testing.B) {
			sendMCP(b, &mcp.CommandTransport{Command: o.command("mcp", "--as", "ann")}, version)
		})
		b.Run("http/"+version, func(b *testing.B) {
			client := &http.Client{Transport: bearer{token, &http.Transport{}}}
			defer client.CloseIdleConnections()
			sendMCP(b, &mcp.StreamableClientTransport{Endpoint: o.url + "/mcp", HTTPClient: client}, version)
		})
	}
}

type bearer struct {
	token string
	next  *http.Transport
}

func (t bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+t.token)
	return t.next.RoundTrip(r)
}

func (t bearer) CloseIdleConnections() { t.next.CloseIdleConnections() }

func sendMCP(b *testing.B, transport mcp.Transport, version string) {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).
		Connect(b.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		b.Fatal(err)
	}
	defer session.Close()
	for b.Loop() {
		res, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: "send_message",
			Arguments: json.RawMessage(sendArgs())})
		if err != nil || res.IsError {
			b.Fatalf("send_message: %+v, %v", res, err)
		}
	}
}

// BenchmarkCold measures whole processes: a Go program that does nothing, and pennypost inbox with 20 unread
// messages.
func BenchmarkCold(b *testing.B) {
	o := startOffice(b)
	for range 20 {
		o.output(b, "send", "--to", "bob", "--body", benchBody)
	}
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "hello.go"),
		[]byte("package main\n\nfunc main() { println(\"hello\") }\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	hello := buildFor(b, dir, "hello", filepath.Join(dir, "hello.go"))
	run := func(b *testing.B, command func() *exec.Cmd) {
		for b.Loop() {
			if err := command().Run(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("hello", func(b *testing.B) { run(b, func() *exec.Cmd { return exec.Command(hello) }) })
	b.Run("inbox", func(b *testing.B) { run(b, func() *exec.Cmd { return o.command("inbox", "--as", "bob") }) })
	b.Run("version", func(b *testing.B) { run(b, func() *exec.Cmd { return o.command("version") }) })
}
