package systemtest

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A scriptedClient speaks MCP by hand, so that a figure measures the post office and not a client's library.
type scriptedClient interface {
	// call calls a tool and returns the response, which must be a result.
	call(b *testing.B, tool, args string) string
}

const modernClient = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

func toolCall(version, tool, args string) string {
	meta := ""
	if version == "2026-07-28" {
		meta = modernClient
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, tool,
		args, meta)
}

const initializeCall = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`

// checkResult fails the benchmark if a response is not the result of a successful tool call.
func checkResult(b *testing.B, response string) string {
	if !strings.Contains(response, `"result":`) || strings.Contains(response, `"isError":true`) {
		b.Fatalf("response: %.500s", response)
	}
	return response
}

// stdioClient is a client of pennypost mcp.
type stdioClient struct {
	version string
	pid     int
	in      io.Writer
	out     *bufio.Reader
}

func newStdioClient(b *testing.B, o *benchOffice, version, agent string) *stdioClient {
	cmd := o.command("mcp", "--as", agent)
	// by its token: one process that runs two agents needs it
	cmd.Env = append(cmd.Env, "PENNYPOST_TOKEN="+o.token(b, agent))
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	c := &stdioClient{version: version, pid: cmd.Process.Pid, in: in, out: bufio.NewReader(out)}
	if version != "2026-07-28" {
		c.say(b, initializeCall)
		c.hear(b)
		c.say(b, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return c
}

func (c *stdioClient) say(b *testing.B, line string) {
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		b.Fatal(err)
	}
}

func (c *stdioClient) hear(b *testing.B) string {
	line, err := c.out.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return line
}

func (c *stdioClient) call(b *testing.B, tool, args string) string {
	c.say(b, toolCall(c.version, tool, args))
	return checkResult(b, c.hear(b))
}

// httpClient is a client of /mcp with its own session, or with none in the era without sessions.
type httpClient struct {
	version, url, token, session string
	client                       *http.Client
}

func newHTTPClient(b *testing.B, o *benchOffice, version, token string) *httpClient {
	transport := &http.Transport{}
	b.Cleanup(transport.CloseIdleConnections)
	c := &httpClient{version: version, url: o.url + "/mcp", token: token, client: &http.Client{Transport: transport}}
	if version != "2026-07-28" {
		_, header := c.post(b, initializeCall, "")
		c.session = header.Get("Mcp-Session-Id")
		c.post(b, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "")
	}
	return c
}

func (c *httpClient) post(b *testing.B, body, tool string) (string, http.Header) {
	r, err := http.NewRequest("POST", c.url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", c.version)
	if c.version == "2026-07-28" {
		r.Header.Set("Mcp-Method", "tools/call")
		r.Header.Set("Mcp-Name", tool)
	} else if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	res, err := c.client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 300 {
		b.Fatalf("%s: %s (%v)", res.Status, answer, err)
	}
	return string(answer), res.Header
}

func (c *httpClient) call(b *testing.B, tool, args string) string {
	response, _ := c.post(b, toolCall(c.version, tool, args), tool)
	return checkResult(b, response)
}

var benchSends atomic.Int64

// sendArgs returns a message of some 400 bytes that differs from the previous one.
func sendArgs() string {
	return fmt.Sprintf(`{"to":"bob","body":"%d %s"}`, benchSends.Add(1), strings.Repeat(benchBody, 4))
}

// eachScripted runs a benchmark with a client over each transport in each era, and reports its costs other than
// time.
func eachScripted(b *testing.B, agent string, prepare func(*benchOffice), run func(*testing.B, scriptedClient)) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		b.Run("stdio/"+version, func(b *testing.B) {
			o := startOffice(b, unlimited...)
			prepare(o)
			c := newStdioClient(b, o, version, agent)
			defer o.report(b, c.pid)()
			run(b, c)
		})
		b.Run("http/"+version, func(b *testing.B) {
			o := startOffice(b, unlimited...)
			prepare(o)
			c := newHTTPClient(b, o, version, o.token(b, agent))
			defer o.report(b, 0)()
			run(b, c)
		})
	}
}

// BenchmarkScriptedSend measures one durable send after the other over MCP.
func BenchmarkScriptedSend(b *testing.B) {
	eachScripted(b, "ann", func(*benchOffice) {}, func(b *testing.B, c scriptedClient) {
		for b.Loop() {
			c.call(b, "send_message", sendArgs())
		}
	})
}

// BenchmarkScriptedIdle measures a call that reads nothing from disk and writes nothing.
func BenchmarkScriptedIdle(b *testing.B) {
	eachScripted(b, "ann", func(*benchOffice) {}, func(b *testing.B, c scriptedClient) {
		for b.Loop() {
			c.call(b, "list_agents", `{"limit":1}`)
		}
	})
}

// BenchmarkScriptedRead measures read_messages of 20 unread messages over MCP.
func BenchmarkScriptedRead(b *testing.B) {
	unread := func(o *benchOffice) {
		for range 20 {
			o.output(b, "send", "--as", "ann", "--to", "bob", "--body", fmt.Sprint(benchSends.Add(1), " ",
				strings.Repeat(benchBody, 4)))
		}
	}
	eachScripted(b, "bob", unread, func(b *testing.B, c scriptedClient) {
		for b.Loop() {
			if got := c.call(b, "read_messages", `{}`); !strings.Contains(got, "20 unread in all") {
				b.Fatalf("read_messages: %.500s", got)
			}
		}
	})
}

// BenchmarkScriptedWait measures the time from the beginning of a send over MCP until a client that waits for mail
// over MCP has it.
func BenchmarkScriptedWait(b *testing.B) {
	handOver := func(b *testing.B, ann, bob scriptedClient) {
		var took []time.Duration
		after := `{}`
		for b.Loop() {
			woken := make(chan string)
			go func() { woken <- bob.call(b, "wait_for_messages", after) }()
			time.Sleep(3 * time.Millisecond) // it waits by then
			began := time.Now()
			sent := make(chan string)
			go func() { sent <- ann.call(b, "send_message", sendArgs()) }()
			got := <-woken
			took = append(took, time.Since(began))
			_, got, _ = strings.Cut(got, "with after ")
			after = `{"after":` + got[:strings.IndexByte(got, '.')] + `}`
			<-sent
		}
		report(b, took)
	}
	const version = "2025-11-25"
	b.Run("stdio", func(b *testing.B) {
		o := startOffice(b, unlimited...)
		handOver(b, newStdioClient(b, o, version, "ann"), newStdioClient(b, o, version, "bob"))
	})
	b.Run("http", func(b *testing.B) {
		o := startOffice(b, unlimited...)
		handOver(b, newHTTPClient(b, o, version, o.token(b, "ann")), newHTTPClient(b, o, version, o.token(b, "bob")))
	})
}

// BenchmarkScriptedSenders measures 64 agents that send concurrently over MCP HTTP.
func BenchmarkScriptedSenders(b *testing.B) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		b.Run(version, func(b *testing.B) {
			o := startOffice(b, unlimited...)
			const senders = 64
			clients := make(chan *httpClient, senders)
			for i := range senders {
				name := fmt.Sprint("sender-", i)
				o.output(b, "agents", "register", name)
				clients <- newHTTPClient(b, o, version, o.token(b, name))
			}
			b.SetParallelism(senders / 2)
			defer o.report(b, 0)()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				c := <-clients
				for pb.Next() {
					c.call(b, "send_message", sendArgs())
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sends/s")
		})
	}
}

// report returns a function that adds the processor time that an operation costs in each process to the figures of a
// benchmark.
func (o *benchOffice) report(b *testing.B, front int) func() {
	pids := map[string]int{"client": os.Getpid(), "office": o.pid}
	if front != 0 {
		pids["front"] = front
	}
	before := make(map[string]time.Duration)
	for who, pid := range pids {
		before[who] = cpuOf(pid)
	}
	return func() {
		for who, pid := range pids {
			b.ReportMetric(float64((cpuOf(pid)-before[who]).Microseconds())/float64(b.N), who+"-µs/op")
		}
	}
}
