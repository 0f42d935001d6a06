package systemtest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// rawConn is a keep-alive connection with HTTP/1.1 requests and answers by hand: the load generator runs on the same
// machine as the post office, and net/http's client would use more of it than the post office does.
type rawConn struct {
	net.Conn
	in   *bufio.Reader
	body []byte // of the last answer
}

func dialRaw(b *testing.B, network, addr string) *rawConn {
	b.Helper()
	conn, err := net.Dial(network, addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return &rawConn{Conn: conn, in: bufio.NewReader(conn)}
}

// rawRequest returns a request as sent.
func rawRequest(method, path, header, body string) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", method, path, header, len(body), body)
}

// do makes a request and returns the status of the answer, which must have a length or be chunked.
func (c *rawConn) do(request []byte) (status int, err error) {
	if _, err := c.Write(request); err != nil {
		return 0, err
	}
	length := -1
	for i := 0; ; i++ {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if i == 0 {
			if status, err = strconv.Atoi(string(line[len("HTTP/1.1 "):][:3])); err != nil {
				return 0, err
			}
		}
		if n, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(n)); err != nil {
				return 0, err
			}
		}
		if len(line) == 0 {
			break
		}
	}
	if length < 0 {
		return status, c.chunks()
	}
	c.body = slices.Grow(c.body[:0], length)[:length]
	_, err = io.ReadFull(c.in, c.body)
	return status, err
}

// chunks reads a body in chunks.
func (c *rawConn) chunks() error {
	c.body = c.body[:0]
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(bytes.TrimRight(line, "\r\n")), 16, 32)
		if err != nil {
			return err
		}
		at := len(c.body)
		c.body = slices.Grow(c.body, int(n)+2)[:at+int(n)+2]
		if _, err := io.ReadFull(c.in, c.body[at:]); err != nil {
			return err
		}
		c.body = c.body[:at+int(n)]
		if n == 0 {
			return nil
		}
	}
}

// cpuOf returns the processor time that a process has used, in ticks of 10 ms (proc_pid_stat(5)); 0 where that is
// unknown.
func cpuOf(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprint("/proc/", pid, "/stat"))
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if err != nil || len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(string(fields[11]))
	system, _ := strconv.Atoi(string(fields[12]))
	return time.Duration(user+system) * 10 * time.Millisecond
}

// load makes b.N requests over one connection for each of the given requests, and reports the rate, and the
// processor time that a send costs the process and the generator. The machine may be busy with other work.
func load(b *testing.B, network, addr string, pid int, requests [][]byte) {
	conns := make([]*rawConn, len(requests))
	for i := range conns {
		conns[i] = dialRaw(b, network, addr)
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	server, own := cpuOf(pid), cpuOf(os.Getpid())
	b.ResetTimer()
	var wg sync.WaitGroup
	for i, c := range conns {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if status, err := c.do(requests[i]); err != nil || status != http.StatusCreated {
					b.Errorf("%d %v: %s", status, err, c.body)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sends/s")
	b.ReportMetric(float64((cpuOf(pid)-server).Microseconds())/float64(b.N), "office-µs/send")
	b.ReportMetric(float64((cpuOf(os.Getpid())-own).Microseconds())/float64(b.N), "generator-µs/send")
}

// unlimited removes all limits on sends, and keeps all mail.
var unlimited = []string{
	"[room.limits]", "per_minute = -1", "exchanges = -1", "repeat_window = \"forever\"",
	"[room.retention]", "age = \"forever\"", "count = -1",
}

// hello is the baseline of a post office.
const hello = `package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"strings"
)

func main() {
	l, err := net.Listen(os.Args[1], os.Args[2])
	if err != nil {
		panic(err)
	}
	answer := strings.Repeat("x", 250)
	panic(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, answer)
	})))
}
`

// startHello starts a handler of net/http that reads a request and writes an answer.
func startHello(b *testing.B, network, addr string) (pid int) {
	b.Helper()
	dir := b.TempDir()
	source := filepath.Join(dir, "hello.go")
	if err := os.WriteFile(source, []byte(hello), 0o600); err != nil {
		b.Fatal(err)
	}
	serve := exec.Command(buildFor(b, dir, "hello", source), network, addr)
	if err := serve.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		serve.Process.Kill()
		serve.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial(network, addr); err == nil {
			conn.Close()
			return serve.Process.Pid
		}
		if time.Now().After(deadline) {
			b.Fatal("hello did not open")
		}
	}
}

// BenchmarkSendHTTP measures durable sends over HTTP by one and by 64 concurrent senders, on the Unix socket and
// over TCP; the generator runs on the same machine. "hello" sends the same requests to a handler of net/http, also
// in its own process, that reads the body and answers as much: the difference is the most that the post office could
// save.
func BenchmarkSendHTTP(b *testing.B) {
	o := startOffice(b, unlimited...)
	socket, tcp := filepath.Join(o.home, "pennypost.sock"), strings.TrimPrefix(o.url, "http://")
	body := fmt.Sprintf(`{"to":"bob","body":%q}`, strings.Repeat(benchBody, 4))
	helloSocket := filepath.Join(o.home, "hello.sock")
	helloPID := startHello(b, "unix", helloSocket)
	for _, senders := range []int{1, 64} {
		overSocket, overTCP := make([][]byte, senders), make([][]byte, senders)
		for i := range senders {
			name := fmt.Sprint("s", i)
			o.output(b, "agents", "register", name)
			overSocket[i] = rawRequest(http.MethodPost, "/api/v1/rooms/bench/messages", "Pennypost-Agent: "+name, body)
			overTCP[i] = rawRequest(http.MethodPost, "/api/v1/rooms/bench/messages",
				"Authorization: Bearer "+o.token(b, name), body)
		}
		b.Run(fmt.Sprint("hello/senders=", senders), func(b *testing.B) {
			load(b, "unix", helloSocket, helloPID, overSocket)
		})
		b.Run(fmt.Sprint("unix/senders=", senders), func(b *testing.B) {
			load(b, "unix", socket, o.pid, overSocket)
		})
		b.Run(fmt.Sprint("tcp/senders=", senders), func(b *testing.B) {
			load(b, "tcp", tcp, o.pid, overTCP)
		})
	}
}

// BenchmarkHandOver measures the time from the beginning of a send over TCP until a client that waits for mail over
// TCP has it.
func BenchmarkHandOver(b *testing.B) {
	o := startOffice(b, unlimited...)
	tcp := strings.TrimPrefix(o.url, "http://")
	from, to := dialRaw(b, "tcp", tcp), dialRaw(b, "tcp", tcp)
	send := rawRequest(http.MethodPost, "/api/v1/rooms/bench/messages",
		"Authorization: Bearer "+o.token(b, "ann"), fmt.Sprintf(`{"to":"bob","body":%q}`, benchBody))
	asBob := "Authorization: Bearer " + o.token(b, "bob")
	var took []time.Duration
	after := 0
	for b.Loop() {
		got := make(chan time.Time)
		go func() {
			status, err := to.do(rawRequest(http.MethodGet, fmt.Sprint("/api/v1/rooms/bench/wait?after=", after),
				asBob, ""))
			if err != nil || status != http.StatusOK {
				b.Errorf("%d %v: %s", status, err, to.body)
			}
			got <- time.Now()
		}()
		time.Sleep(3 * time.Millisecond) // it waits by then
		began := time.Now()
		if status, err := from.do(send); err != nil || status != http.StatusCreated {
			b.Fatalf("%d %v: %s", status, err, from.body)
		}
		took = append(took, (<-got).Sub(began))
		_, seq, _ := bytes.Cut(from.body, []byte(`"seq":`))
		after, _ = strconv.Atoi(string(seq[:bytes.IndexByte(seq, ',')]))
	}
	report(b, took)
}

// BenchmarkHandOverCLI measures the time from the start of pennypost send until a pennypost wait that runs already
// prints the message.
func BenchmarkHandOverCLI(b *testing.B) {
	o := startOffice(b, unlimited...)
	front := binary
	if os.Getenv("PENNYPOST_BIN") == "" {
		front = buildFor(b, b.TempDir(), "pennypost", "../../cmd/pennypost")
	}
	start := func(args ...string) (*exec.Cmd, io.Reader) {
		cmd := o.command(args...)
		cmd.Path = front
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			b.Fatal(err)
		}
		return cmd, out
	}
	end := func(cmd *exec.Cmd, out io.Reader) {
		text, _ := io.ReadAll(out)
		if err := cmd.Wait(); err != nil {
			b.Fatalf("%v: %v\n%s", cmd.Args, err, text)
		}
	}
	var took []time.Duration
	for b.Loop() {
		wait, arrived := start("wait", "--as", "bob", "--timeout", "1m")
		time.Sleep(50 * time.Millisecond) // it waits by then
		began := time.Now()
		send, sent := start("send", "--as", "ann", "--to", "bob", "--body", fmt.Sprint(benchBody, len(took)))
		if _, err := arrived.Read(make([]byte, 1)); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
		end(send, sent)
		end(wait, arrived)
		end(start("mark", "--all", "--read", "--as", "bob"))
	}
	report(b, took)
}

// report reports the median and the 99th percentile.
func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(0, "ns/op")
}
