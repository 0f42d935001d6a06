package codextest

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Opcodes of RFC 6455, 5.2.
const (
	opText = 1
	opPing = 9
)

// Serve listens where the app-server of a home does. reply returns its answers to one message, and is called by
// several goroutines.
func Serve(t testing.TB, home string, reply func(text []byte) [][]byte) {
	t.Helper()
	dir := filepath.Join(home, "app-server-control")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("", "cx") // a socket's path must be short, so the home has a link to it
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(short, "s"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(short, "s"), filepath.Join(dir, "app-server-control.sock")); err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { webSocket(conn, reply) })
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait(); os.RemoveAll(short) })
}

// Reply answers one message as the app-server does, with the result of answer; notifications get no answer. An
// unrelated notification precedes the answer.
func Reply(text []byte, answer func(method string, params map[string]any) (any, error)) [][]byte {
	var call struct {
		ID     *int           `json:"id"`
		Method string         `json:"method"`
		Params map[string]any `json:"params"`
	}
	if json.Unmarshal(text, &call) != nil || call.ID == nil {
		return nil
	}
	said := map[string]any{"id": *call.ID}
	if result, err := answer(call.Method, call.Params); err != nil {
		said["error"] = map[string]any{"code": -32600, "message": err.Error()}
	} else {
		said["result"] = result
	}
	out, _ := json.Marshal(said)
	return [][]byte{[]byte(`{"method":"thread/queue/changed","params":{}}`), out}
}

// webSocket speaks RFC 6455: it pings first, does not mask, and disconnects a client that does not mask.
func webSocket(conn net.Conn, reply func([]byte) [][]byte) {
	defer conn.Close()
	from := bufio.NewReader(conn)
	req, err := http.ReadRequest(from)
	if err != nil {
		return
	}
	sum := sha1.Sum([]byte(req.Header.Get("Sec-Websocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]))
	frame := func(op byte, text []byte) {
		head := []byte{op, byte(len(text))}
		if len(text) > 125 {
			head = []byte{op, 126, byte(len(text) >> 8), byte(len(text))}
		}
		_, _ = conn.Write(append(head, text...))
	}
	frame(0x80|opPing, []byte("?"))
	for {
		op, text, ok := receive(from)
		if !ok {
			return
		}
		if op != opText {
			continue
		}
		for _, out := range reply(text) {
			half := len(out) / 2
			frame(opText, out[:half]) // in two fragments
			frame(0x80, out[half:])
		}
	}
}

// receive reads a frame, whose mask is zero.
func receive(from io.Reader) (op byte, text []byte, ok bool) {
	var head [2]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return 0, nil, false
	}
	n := int(head[1] & 0x7f)
	if n == 126 {
		var long [2]byte
		if _, err := io.ReadFull(from, long[:]); err != nil {
			return 0, nil, false
		}
		n = int(long[0])<<8 | int(long[1])
	}
	text = make([]byte, n+4)
	if _, err := io.ReadFull(from, text); err != nil || head[1]&0x80 == 0 {
		return 0, nil, false
	}
	return head[0] & 0x0f, text[4:], true
}
