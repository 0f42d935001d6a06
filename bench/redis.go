package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pennypost/bench/drive"
)

// startRedis starts a server that syncs its log before each answer. A mailbox is a stream.
func startRedis(_ *bench, dir string) (worker, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("redis-server %w (Debian: apt-get install redis-server)", errAbsent)
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, "--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "", "--appendonly", "yes",
		"--appendfsync", "always", "--logfile", filepath.Join(dir, "log"))
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	open := func(name string) (drive.Client, error) { return dialRedis("127.0.0.1:"+port, name) }
	for patience := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		c, err := open("first")
		if err == nil {
			_ = c.Close()
			return inProcess{open, stop}, nil
		}
		if time.Now().After(patience) {
			stop()
			return nil, err
		}
	}
}

// freePort returns a free port of the loopback.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// redisClient speaks RESP2, https://redis.io/docs/latest/develop/reference/protocol-spec/.
type redisClient struct {
	name string
	last string // last message returned by Receive
	conn net.Conn
	in   *bufio.Reader
}

func dialRedis(addr, name string) (*redisClient, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &redisClient{name: name, last: "$", conn: conn, in: bufio.NewReader(conn)}, nil
}

func (c *redisClient) Send(to, body string) error {
	_, err := c.call("XADD", to, "*", "from", c.name, "to", to, "body", body)
	return err
}

func (c *redisClient) Receive() error {
	answer, err := c.call("XREAD", "BLOCK", "0", "STREAMS", c.name, c.last)
	if err != nil {
		return err
	}
	entries := answer.([]any)[0].([]any)[1].([]any)
	c.last = entries[len(entries)-1].([]any)[0].(string)
	return nil
}

func (c *redisClient) Look() (int, error) {
	answer, err := c.call("XREAD", "COUNT", "50", "STREAMS", c.name, "0")
	if err != nil || answer == nil {
		return 0, err
	}
	return len(answer.([]any)[0].([]any)[1].([]any)), nil
}

func (c *redisClient) Close() error { return c.conn.Close() }

func (c *redisClient) call(args ...string) (any, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(len(a)))
		b.WriteString("\r\n")
		b.WriteString(a)
		b.WriteString("\r\n")
	}
	if _, err := io.WriteString(c.conn, b.String()); err != nil {
		return nil, err
	}
	return c.answer()
}

// answer reads a string, a number as a string, a list or nil.
func (c *redisClient) answer() (any, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	kind, rest := line[0], strings.TrimSpace(line[1:])
	switch kind {
	case '-':
		return nil, fmt.Errorf("redis says %s", rest)
	case '$', '*':
		n, err := strconv.Atoi(rest)
		if err != nil || n < 0 {
			return nil, err
		}
		if kind == '$' {
			text := make([]byte, n+2)
			_, err := io.ReadFull(c.in, text)
			return string(text[:n]), err
		}
		list := make([]any, n)
		for i := range list {
			if list[i], err = c.answer(); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return rest, nil
}
