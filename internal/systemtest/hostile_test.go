package systemtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// huge is the size of an absurd request, in bytes.
const huge = 100 << 20

// hugeMemory bounds the memory that the post office may have used for it, in kB: it must not have kept even one of
// them.
const hugeMemory = 90 << 10

// repeated is an endless reader of one byte.
type repeated byte

func (r repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

// blankLines is an endless reader of empty lines.
type blankLines struct{}

func (blankLines) Read(p []byte) (int, error) {
	n, err := repeated(' ').Read(p)
	p[n-1] = '\n'
	return n, err
}

// hugeDraft reads a message of about 100 MB.
func hugeDraft() io.Reader {
	return io.MultiReader(strings.NewReader(`{"to":"builder","body":"`+marker), io.LimitReader(repeated('x'), huge),
		strings.NewReader(`"}`))
}

// TestHugeRequests sends 100 MB through every door. Each refuses it with an error text, and the post office neither
// stores it nor keeps it in memory.
func TestHugeRequests(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	before := p.journal(t)
	for _, path := range []string{room + "/messages", room + "/agents", room + "/marks", "/mcp"} {
		for _, chunked := range []bool{true, false} {
			status, text := p.postHuge(t, path, chunked, hugeDraft())
			if status != http.StatusRequestEntityTooLarge || !strings.Contains(text, "large") &&
				!strings.Contains(text, "exceeds") {
				t.Errorf("100 MB to %s (chunked %v): %d %s, want 413 and why", path, chunked, status, text)
			}
		}
	}
	r := finishWith(p.command(context.Background(), "send", "--to", "builder"), io.LimitReader(repeated('x'), huge))
	if r.code != 5 || !strings.Contains(r.stderr, "Nothing was sent") {
		t.Errorf("send of 100 MB from standard input: %+v, want exit 5", r)
	}
	if kb := p.peak(t); kb > hugeMemory {
		t.Errorf("the post office has needed %d kB of memory, more than %d", kb, hugeMemory)
	}
	if status, text := p.postHuge(t, room+"/import", true,
		io.LimitReader(blankLines{}, huge)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("an import of 100 MB: %d %s, want 413", status, text)
	}
	if after := p.journal(t); after != before {
		t.Errorf("the journal grew:\n%.2000s", strings.TrimPrefix(after, before))
	}
	p.unharmed(t)
}

// postHuge sends 100 MB and reads the answer meanwhile, for as long as the server accepts the body: the answer comes
// before the connection breaks.
func (p *patient) postHuge(t *testing.T, path string, chunked bool, body io.Reader) (status int, text string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, p.door.base+path, body)
	if err != nil {
		t.Fatal(err)
	}
	if !chunked {
		req.ContentLength = int64(len(`{"to":"builder","body":"`+marker)) + huge + 2
	}
	req.Header.Set("Content-Type", "application/json")
	if strings.HasSuffix(path, "/import") {
		req.Header.Set("Content-Type", "application/x-ndjson")
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+p.door.token)
	conn, err := net.Dial("tcp", req.URL.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * patience)) // a TCP connection has deadlines
	go req.Write(conn)                                 // ends with the connection
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		t.Errorf("100 MB to %s (chunked %v): %v", path, chunked, err)
		return 0, ""
	}
	answer, _ := readAll(resp.Body)
	return resp.StatusCode, string(answer)
}

// peak returns the peak memory of the post office, in kB. Where that is unknown it is 0.
func (p *patient) peak(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb
}

// TestHostileStdio writes lines to "pennypost mcp" that are no messages of MCP, one of them 100 MB long. Each is
// answered with an error, and the session continues.
func TestHostileStdio(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.mustServe(t)
	s := o.rawMCP(t)
	s.call(t, initialize)
	for _, bad := range []struct {
		name string
		line io.Reader
	}{
		{"text", strings.NewReader("hello")},
		{"torn JSON", strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/list"`)},
		{"number", strings.NewReader("7")},
		{"batch", strings.NewReader(`[{"jsonrpc":"2.0","id":7,"method":"ping"}]`)},
		{"another protocol", strings.NewReader(`{"jsonrpc":"1.0","id":7,"method":"ping"}`)},
		{"NUL", strings.NewReader("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"pi\x00ng\"}")},
		{"unknown method", strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"nothing"}`)},
		{"unknown tool", strings.NewReader(
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"rm","arguments":{}}}`)},
		{"100 MB", io.MultiReader(
			strings.NewReader(
				`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"send_message","arguments":`),
			hugeDraft(), strings.NewReader(`}}`))},
		{"not UTF-8", strings.NewReader(
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"send_message","arguments":{"to":"user","body":"` + marker + "\xff\xfe" + `"}}}`)},
	} {
		if answer := s.ask(t, bad.line); answer.Error == nil && !answer.Result.IsError {
			t.Errorf("%s: answered with %s, want an error", bad.name, answer.raw)
		}
		s.call(t, `{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	}
	if found, err := grep(o.root, marker); err != nil || len(found) > 0 {
		t.Errorf("what was refused stands in %q, %v", found, err)
	}
}

// rawMCP speaks MCP over pipes without interpreting it.
type rawMCP struct {
	in  io.Writer
	out *bufio.Reader
}

// rawMCP starts "pennypost mcp".
func (o *office) rawMCP(t *testing.T) *rawMCP {
	t.Helper()
	cmd := o.command(context.Background(), "mcp", "--as", "builder")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timeout := time.AfterFunc(2*patience, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("pennypost mcp ended with %v", err)
		}
		timeout.Stop()
	})
	return &rawMCP{in, bufio.NewReaderSize(out, 1<<20)}
}

type rawAnswer struct {
	Error  json.RawMessage `json:"error"`
	Result struct {
		IsError bool `json:"isError"`
	} `json:"result"`
	raw []byte
}

func (s *rawMCP) ask(t *testing.T, line io.Reader) (a rawAnswer) {
	t.Helper()
	// A line of 100 MB may be refused before all of it is read.
	if _, err := io.Copy(s.in, io.MultiReader(line, strings.NewReader("\n"))); err != nil {
		t.Fatal(err)
	}
	var err error
	if a.raw, err = s.out.ReadBytes('\n'); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(a.raw, &a); err != nil {
		t.Fatalf("%v in %s", err, a.raw)
	}
	return a
}

// call sends a request that must succeed.
func (s *rawMCP) call(t *testing.T, line string) {
	t.Helper()
	if a := s.ask(t, strings.NewReader(line)); a.Error != nil || !bytes.Contains(a.raw, []byte(`"result"`)) {
		t.Fatalf("%s was answered with %s", line, a.raw)
	}
}
