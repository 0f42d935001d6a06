// Package appserver speaks with an app-server of Codex: the one that the sessions of a home share, or one of our own.
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

// Conn is a connection to an app-server of Codex: JSON-RPC without its version, as "codex app-server generate-ts"
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

// Refusal is what the app-server answers to what it will not do.
type Refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *Refusal) Error() string { return child.Plain(e.Message) }

// open introduces us. We hear of none of the notifications that are named.
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

// Message is what the server says: the answer to a call (ID), a request (Method and ID) or a notification (Method).
type Message struct {
	ID     jsonx.Value `json:"id"`
	Method string      `json:"method"`
	Params jsonx.Value `json:"params"`
	Error  *Refusal    `json:"error"`
	Result jsonx.Value `json:"result"`
}

// Call calls a method. What else the server says meanwhile is passed over.
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

// Post calls a method, and returns the ID that the answer will bear.
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

// Receive returns the next message of the server. What is none, or is longer than maxMessage, is passed over.
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

// Socket returns where the app-server listens that the sessions of a home share. In the home is a link to where
// the path is short enough for a socket.
func Socket(home string) (string, error) {
	if home == "" {
		return "", fs.ErrNotExist
	}
	return filepath.EvalSymlinks(filepath.Join(home, "app-server-control", "app-server-control.sock"))
}

// Dial connects to the app-server that the sessions of a home share, if one runs. The connection ends with ctx. Of the
// notifications that are named nothing is heard.
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

// maxMessage bounds, in bytes, what an app-server may say at a time.
const maxMessage = 4 << 20

// Start starts an app-server of our own, which ends with Close. It knows what all sessions of a home have
// queued, and loads none.
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

// jsonLines are the standard input and output of a process.
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

// Close ends the process, which ends with its input. It is killed with the context that it was made with.
func (l *jsonLines) Close() error {
	_ = l.in.Close()
	return l.cmd.Wait()
}
