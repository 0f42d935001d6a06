package door

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"time"

	"pennypost/internal/base/child"
	"pennypost/internal/base/jsonx"
)

// appServer is a connection to an app-server of Codex: JSON-RPC without its version, as "codex app-server generate-ts"
// describes it (0.169.0). One call is made at a time.
type appServer struct {
	transport
	calls int
}

// transport carries whole messages.
type transport interface {
	send(text []byte) error
	receive() ([]byte, error)
	Close() error
}

// rpcError is what the app-server answers to what it will not do.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return child.Plain(e.Message) }

// open introduces us.
func (a *appServer) open() error {
	err := a.call("initialize", map[string]any{
		"clientInfo":   map[string]string{"name": "pennypost", "title": "Pennypost", "version": "1"},
		"capabilities": map[string]bool{"experimentalApi": true},
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

// call calls a method. What else the server says meanwhile is passed over.
func (a *appServer) call(method string, params, result any) error {
	a.calls++
	text, err := jsonx.Marshal(map[string]any{"id": a.calls, "method": method, "params": params})
	if err != nil {
		return err
	}
	if err := a.send(text); err != nil {
		return err
	}
	for {
		text, err := a.receive()
		if err != nil {
			return err
		}
		var answer struct {
			ID     int         `json:"id"`
			Method string      `json:"method"`
			Error  *rpcError   `json:"error"`
			Result jsonx.Value `json:"result"`
		}
		switch err := jsonx.UnmarshalLenient(text, &answer); {
		case err != nil || answer.ID != a.calls || answer.Method != "":
			continue
		case answer.Error != nil:
			return answer.Error
		case result == nil:
			return nil
		}
		return jsonx.UnmarshalLenient(answer.Result, result)
	}
}

// controlSocket returns where the app-server listens that the sessions of a home share. In the home is a link to where
// the path is short enough for a socket.
func controlSocket(home string) (string, error) {
	if home == "" {
		return "", fs.ErrNotExist
	}
	return filepath.EvalSymlinks(filepath.Join(home, "app-server-control", "app-server-control.sock"))
}

// dialAppServer connects to the app-server that the sessions of a home share, if one runs.
func dialAppServer(ctx context.Context, home string) (*appServer, error) {
	path, err := controlSocket(home)
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
	a := &appServer{transport: w}
	if err := a.open(); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// maxAppMessage bounds, in bytes, what an app-server may say at a time.
const maxAppMessage = 4 << 20

// webSocket is the client's side of RFC 6455, over a connection on which nobody is in between.
type webSocket struct {
	net.Conn
	from *bufio.Reader
	stop func() bool
}

func (w *webSocket) Close() error {
	w.stop()
	return w.Conn.Close()
}

func (w *webSocket) shake() error {
	var key [16]byte
	_, _ = rand.Read(key[:]) // it never fails
	req, err := http.NewRequest(http.MethodGet, "http://localhost/", nil)
	if err != nil {
		return err
	}
	req.Header = http.Header{"Upgrade": {"websocket"}, "Connection": {"Upgrade"}, "Sec-Websocket-Version": {"13"},
		"Sec-Websocket-Key": {base64.StdEncoding.EncodeToString(key[:])}}
	if err := req.Write(w.Conn); err != nil {
		return err
	}
	res, err := http.ReadResponse(w.from, req)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("it answers %s, and does not speak WebSocket", res.Status)
	}
	return nil
}

// Opcodes of RFC 6455, 5.2.
const (
	opText  = 1
	opClose = 8
	opPing  = 9
	opPong  = 10
)

func (w *webSocket) send(text []byte) error { return w.frame(opText, text) }

// frame writes one whole frame. Its mask, which protects those in between, is zero.
func (w *webSocket) frame(op byte, text []byte) error {
	head := []byte{0x80 | op}
	switch n := len(text); {
	case n < 126:
		head = append(head, 0x80|byte(n))
	case n <= 0xffff:
		head = binary.BigEndian.AppendUint16(append(head, 0x80|126), uint16(n))
	default:
		head = binary.BigEndian.AppendUint64(append(head, 0x80|127), uint64(n))
	}
	_, err := w.Conn.Write(append(append(head, 0, 0, 0, 0), text...))
	return err
}

func (w *webSocket) receive() ([]byte, error) {
	var whole []byte
	for {
		var head [2]byte
		if _, err := io.ReadFull(w.from, head[:]); err != nil {
			return nil, err
		}
		n := uint64(head[1] & 0x7f)
		if size := map[uint64]int{126: 2, 127: 8}[n]; size > 0 {
			var long [8]byte
			if _, err := io.ReadFull(w.from, long[8-size:]); err != nil {
				return nil, err
			}
			n = binary.BigEndian.Uint64(long[:])
		}
		if n+uint64(len(whole)) > maxAppMessage {
			return nil, fmt.Errorf("a message of more than %d bytes", maxAppMessage)
		}
		part := make([]byte, n)
		if _, err := io.ReadFull(w.from, part); err != nil {
			return nil, err
		}
		switch op := head[0] & 0x0f; {
		case op == opPing:
			if err := w.frame(opPong, part); err != nil {
				return nil, err
			}
		case op == opClose:
			return nil, io.EOF
		case op < opClose:
			if whole = append(whole, part...); head[0]&0x80 != 0 {
				return whole, nil
			}
		}
	}
}

// startAppServer starts an app-server of our own, which ends with Close. It knows what all sessions of a home have
// queued, and loads none.
func startAppServer(cmd *exec.Cmd) (*appServer, error) {
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
	from.Buffer(nil, maxAppMessage)
	a := &appServer{transport: &jsonLines{cmd, in, from}}
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
