package appserver

import (
	"bufio"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
	"time"
)

// webSocket is the client side of RFC 6455 over a direct connection, without intermediaries.
type webSocket struct {
	net.Conn
	from *bufio.Reader
	stop func() bool

	mu sync.Mutex // for writing: the reading goroutine writes pongs
}

// writeTime is how long the server may take to read a frame, so that it does not delay senders for long.
const writeTime = 2 * time.Second

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
		return fmt.Errorf("the server answered %s instead of switching to WebSocket", res.Status)
	}
	return nil
}

// Opcodes of RFC 6455, 5.2.
const (
	opMore   = 0
	opText   = 1
	opBinary = 2
	opClose  = 8
	opPing   = 9
	opPong   = 10
)

func (w *webSocket) send(text []byte) error { return w.frame(opText, text) }

// frame writes one whole frame. Its mask, which protects intermediaries, is zero.
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
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.Conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	_, err := w.Conn.Write(append(append(head, 0, 0, 0, 0), text...))
	return err
}

// receive returns the next whole message, or nil if it is longer than maxMessage.
func (w *webSocket) receive() ([]byte, error) {
	var whole []byte
	begun, long := false, false
	for {
		h, err := w.head()
		switch {
		case err != nil:
			return nil, err
		case h.op >= opClose:
			if err := w.control(h); err != nil {
				return nil, err
			}
			continue
		case begun != (h.op == opMore):
			return nil, errors.New("a continuation frame without a message, or a new message inside another")
		}
		if begun, long = true, long || h.size+uint64(len(whole)) > maxMessage; long {
			whole = nil
			if _, err := io.CopyN(io.Discard, w.from, int64(h.size)); err != nil {
				return nil, err
			}
		} else if whole, err = w.part(whole, h.size); err != nil {
			return nil, err
		}
		if h.last {
			return whole, nil
		}
	}
}

// frameHead is a frame's header.
type frameHead struct {
	op   byte
	last bool
	size uint64
}

// head reads a header. A frame that a server must not send ends the connection: RFC 6455, 5.1, 5.2 and 5.5.
func (w *webSocket) head() (h frameHead, err error) {
	var head [2]byte
	if _, err := io.ReadFull(w.from, head[:]); err != nil {
		return h, err
	}
	h = frameHead{head[0] & 0x0f, head[0]&0x80 != 0, uint64(head[1] & 0x7f)}
	if size := map[uint64]int{126: 2, 127: 8}[h.size]; size > 0 {
		var long [8]byte
		if _, err := io.ReadFull(w.from, long[8-size:]); err != nil {
			return h, err
		}
		h.size = binary.BigEndian.Uint64(long[:])
	}
	if head[0]&0x70 != 0 || head[1]&0x80 != 0 || h.size > math.MaxInt64 || !h.known() {
		return h, fmt.Errorf("invalid server frame header % x", head)
	}
	return h, nil
}

// known reports whether the header is valid: 5.2, and 5.5 for control frames.
func (h *frameHead) known() bool {
	switch h.op {
	case opMore, opText, opBinary:
		return true
	case opClose, opPing, opPong:
		return h.last && h.size <= 125
	}
	return false
}

// part appends a payload to a message.
func (w *webSocket) part(whole []byte, size uint64) ([]byte, error) {
	n := len(whole)
	whole = append(whole, make([]byte, size)...)
	_, err := io.ReadFull(w.from, whole[n:])
	return whole, err
}

// control handles a control frame.
func (w *webSocket) control(h frameHead) error {
	text, err := w.part(nil, h.size)
	switch {
	case err != nil:
		return err
	case h.op == opClose:
		return io.EOF
	case h.op == opPing:
		return w.frame(opPong, text)
	}
	return nil
}
