package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"pennypost/bench/drive"
	"pennypost/internal/mail"
)

// mcpVersion is the revision of today's clients.
const mcpVersion = "2025-11-25"

// mcpClient calls tools as agents do. Transports differ in how they exchange a JSON-RPC message for its answer.
type mcpClient struct {
	exchange func(request []byte) (answer []byte, err error)
	close    func() error
	id       int
}

// begin begins a session.
func (c *mcpClient) begin() error {
	if _, err := c.call("initialize", map[string]any{"protocolVersion": mcpVersion, "capabilities": struct{}{},
		"clientInfo": map[string]string{"name": "bench", "version": "1"}}); err != nil {
		return err
	}
	_, err := c.exchange([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	return err
}

func (c *mcpClient) call(method string, params any) (json.RawMessage, error) {
	c.id++
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	answer, err := c.exchange(text)
	if err != nil {
		return nil, err
	}
	var r struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(answer, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", answer, err)
	}
	if r.Error != nil {
		return nil, errors.New(string(r.Error))
	}
	return r.Result, nil
}

// tool returns the text of a tool's result.
func (c *mcpClient) tool(name string, arguments any) (string, error) {
	answer, err := c.call("tools/call", map[string]any{"name": name, "arguments": arguments})
	if err != nil {
		return "", err
	}
	var r struct {
		IsError bool
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return "", err
	}
	if r.IsError || len(r.Content) == 0 {
		return "", errors.New(string(answer))
	}
	return r.Content[0].Text, nil
}

func (c *mcpClient) Send(to, body string) error {
	_, err := c.tool("send_message", map[string]string{"to": to, "body": body})
	return err
}

func (c *mcpClient) Receive() error {
	for {
		text, err := c.tool("wait_for_messages", struct{}{})
		if err != nil || strings.Contains(text, drive.Body[:20]) {
			return err
		}
	}
}

func (c *mcpClient) Look() (int, error) {
	text, err := c.tool("read_messages", struct{}{})
	return strings.Count(text, drive.Body), err
}

func (c *mcpClient) Close() error { return c.close() }

func startMCPHTTP(b *bench, _ string) (worker, error) { return b.door(false, "mcp-http", dialMCP) }

func startSharedMCP(b *bench, _ string) (worker, error) { return b.door(true, "mcp-http", dialMCP) }

func dialMCP(o *office, _ mail.Name, token string) (drive.Client, error) {
	addr := strings.TrimPrefix(o.http, "http://")
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Authorization": {"Bearer " + token}, "Accept": {"application/json, text/event-stream"}}
	http := newConnection(conn, header)
	var session []string
	c := &mcpClient{close: http.Close, exchange: func(request []byte) ([]byte, error) {
		answer, err := http.request("POST", "/mcp", request, session...)
		if session == nil && err == nil {
			session = []string{"Mcp-Session-Id: " + http.answer.Get("Mcp-Session-Id"),
				"Mcp-Protocol-Version: " + mcpVersion}
		}
		// In an event stream, the answer to a request comes last.
		if i := bytes.LastIndex(answer, []byte("\ndata: ")); i >= 0 {
			answer = answer[i+len("\ndata: "):]
		}
		return answer, err
	}}
	return c, c.begin()
}

func startMCPStdio(b *bench, _ string) (worker, error) {
	return b.door(false, "mcp-stdio", func(o *office, name mail.Name, _ string) (drive.Client, error) {
		cmd := o.command("mcp", "--room", "mcp-stdio", "--as", string(name))
		cmd.Path = o.typed
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		lines := bufio.NewReader(out)
		c := &mcpClient{exchange: func(request []byte) ([]byte, error) {
			if _, err := in.Write(append(request, '\n')); err != nil {
				return nil, err
			}
			return nextAnswer(lines, request)
		}, close: func() error {
			_ = in.Close()
			return cmd.Wait()
		}}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return c, c.begin()
	})
}

// nextAnswer reads up to the answer of a request; a notification has none.
func nextAnswer(lines *bufio.Reader, request []byte) ([]byte, error) {
	if !bytes.Contains(request, []byte(`"id":`)) {
		return nil, nil
	}
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		if bytes.Contains(line, []byte(`"result":`)) || bytes.Contains(line, []byte(`"error":`)) {
			return line, nil
		}
	}
}
