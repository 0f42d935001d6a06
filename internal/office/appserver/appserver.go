// Package appserver is a client for Codex's app-server: the one shared by a home's sessions, or one of our own.
// Start at Dial.
package appserver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"pennypost/internal/base/child"
	"pennypost/internal/base/jsonx"
)

// Conn is a connection to a Codex app-server: JSON-RPC without its version, as "codex app-server generate-ts"
// describes it (0.169.0). It is for one goroutine, which either makes one call at a time or listens; another may
// receive meanwhile.
type Conn struct {
	transport
	calls int
}

// transport carries whole messages.
type transport interface {
	send(text []byte) error
	receive() ([]byte, error)
	Close() error
}

// Refusal is the app-server's error answer.
type Refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *Refusal) Error() string { return child.Plain(e.Message) }

// open introduces us, and opts out of the named notifications.
func (a *Conn) open(without ...string) error {
	capabilities := map[string]any{"experimentalApi": true}
	if len(without) > 0 {
		capabilities["optOutNotificationMethods"] = without
	}
	err := a.Call("initialize", map[string]any{
		"clientInfo":   map[string]string{"name": "pennypost", "title": "Pennypost", "version": "1"},
		"capabilities": capabilities,
	}, nil)
	if err != nil {
		return err
	}
	text, err := jsonx.Marshal(map[string]string{"method": "initialized"})
	if err != nil {
		return err
	}
	return a.send(text)
}

// Message is a message from the server: the answer to a call (ID), a request (Method and ID) or a notification
// (Method).
type Message struct {
	ID     jsonx.Value `json:"id"`
	Method string      `json:"method"`
	Params jsonx.Value `json:"params"`
	Error  *Refusal    `json:"error"`
	Result jsonx.Value `json:"result"`
}

// Call calls a method. It drops the server's other messages meanwhile.
func (a *Conn) Call(method string, params, result any) error {
	id, err := a.Post(method, params)
	if err != nil {
		return err
	}
	for {
		m, err := a.Receive()
		switch {
		case err != nil:
			return err
		case string(m.ID) != id || m.Method != "":
			continue
		case m.Error != nil:
			return m.Error
		case result == nil:
			return nil
		}
		return jsonx.UnmarshalLenient(m.Result, result)
	}
}

// Post calls a method, and returns the ID of its answer.
func (a *Conn) Post(method string, params any) (id string, err error) {
	a.calls++
	text, err := jsonx.Marshal(map[string]any{"id": a.calls, "method": method, "params": params})
	if err != nil {
		return "", err
	}
	return strconv.Itoa(a.calls), a.send(text)
}

// Reply answers a request.
func (a *Conn) Reply(id jsonx.Value, result any) error {
	text, err := jsonx.Marshal(map[string]any{"id": id, "result": result})
	if err != nil {
		return err
	}
	return a.send(text)
}

// Receive returns the server's next message. It skips invalid ones and those longer than maxMessage.
func (a *Conn) Receive() (m Message, err error) {
	for {
		text, err := a.receive()
		if err != nil {
			return Message{}, err
		}
		m = Message{}
		if err := jsonx.UnmarshalLenient(text, &m); err == nil {
			return m, nil
		}
	}
}

// Socket returns the socket of the app-server that a home's sessions share. The home has a link to a path short
// enough for a socket.
func Socket(home string) (string, error) {
	if home == "" {
		return "", fs.ErrNotExist
	}
	return filepath.EvalSymlinks(filepath.Join(home, "app-server-control", "app-server-control.sock"))
}

// Dial connects to the app-server that a home's sessions share, if it runs. The connection ends with ctx and opts
// out of the named notifications.
func Dial(ctx context.Context, home string, without ...string) (*Conn, error) {
	path, err := Socket(home)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	w := &webSocket{Conn: conn, from: bufio.NewReader(conn), stop: stop}
	if err := w.shake(); err != nil {
		w.Close()
		return nil, err
	}
	a := &Conn{transport: w}
	if err := a.open(without...); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// maxMessage is the limit for a message from an app-server, in bytes.
const maxMessage = 4 << 20

// Start starts an app-server of our own, which ends with Close. It has the queues of all sessions of a home, and
// loads no session.
func Start(cmd *exec.Cmd) (*Conn, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	from := bufio.NewScanner(out)
	from.Buffer(nil, maxMessage)
	a := &Conn{transport: &jsonLines{cmd, in, from}}
	if err := a.open(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// jsonLines is a transport over a process's standard input and output.
type jsonLines struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	from *bufio.Scanner
}

func (l *jsonLines) send(text []byte) error {
	_, err := l.in.Write(append(text, '\n'))
	return err
}

func (l *jsonLines) receive() ([]byte, error) {
	if !l.from.Scan() {
		return nil, errors.Join(l.from.Err(), io.ErrUnexpectedEOF)
	}
	return l.from.Bytes(), nil
}

// Close ends the process by closing its input. Its context kills it.
func (l *jsonLines) Close() error {
	_ = l.in.Close()
	return l.cmd.Wait()
}
