package appserver

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// served returns the client side of a connection on which a server sends said and then closes.
func served(t *testing.T, said []byte) *webSocket {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	go func() { // ends with the pipe
		_, _ = theirs.Write(said)
		theirs.Close()
	}()
	return &webSocket{Conn: ours, from: bufio.NewReader(ours), stop: func() bool { return true }}
}

// Frames that a server must not send end the connection, and use no memory.
func TestReceiveRefuses(t *testing.T) {
	for name, said := range map[string]string{
		"masked":                   "\x81\x81\x00\x00\x00\x00a",
		"reserved bits":            "\xf1\x01a",
		"unknown opcode":           "\x83\x01a",
		"a ping in parts":          "\x09\x01a",
		"a long ping":              "\x89\x7e\x00\x7e" + strings.Repeat("a", 126),
		"continues nothing":        "\x80\x01a",
		"another before the end":   "\x01\x01a\x81\x01b",
		"more than a file can be":  "\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff",
		"less than it says":        "\x81\x7f\x00\x00\x00\x00\x00\x10\x00\x00a",
		"less than it says, large": "\x81\x7f\x00\x00\x7f\xff\xff\xff\xff\xffa",
		"end of the connection":    "\x81",
		"closed":                   "\x88\x00",
	} {
		if text, err := served(t, []byte(said)).receive(); err == nil {
			t.Errorf("%s: received %q", name, text)
		}
	}
}

// A message that is too long is skipped as a whole, and the next one is received.
func TestReceivePassesOver(t *testing.T) {
	long := append([]byte("\x01\x7f\x00\x00\x00\x00\x00\x50\x00\x00"), bytes.Repeat([]byte("a"), 0x50_0000)...)
	said := append(long, "\x80\x01]\x81\x0a{\"id\": 7 }"...)
	conn := &Conn{transport: served(t, said)}
	m, err := conn.Receive()
	if err != nil || string(m.ID) != "7" {
		t.Errorf("received %+v, %v", m, err)
	}
	if _, err := conn.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}
