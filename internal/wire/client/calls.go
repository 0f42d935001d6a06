package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Calls is a connection that is kept open for an agent's tool calls, which it transports in the form of MCP. The
// first call opens it, and the next one reopens it after it broke. Its methods may be called concurrently.
type Calls struct {
	caller *caller
	query  string

	dialing sync.Mutex // held while connecting

	mu   sync.Mutex
	line *callLine // the last one; nil: none yet
	dead bool      // closed
}

// Calls returns a connection for an agent's tool calls. client is the agents' client if it names the calling agent in
// each call, else "". Only a Unix socket has such connections; over a URL each call fails.
func (o *Office) Calls(room mail.RoomName, as mail.Name, client string) *Calls {
	return &Calls{caller: &caller{office: o, room: room, name: as}, query: url.Values{"client": {client}}.Encode()}
}

// Close closes the connection; later calls fail.
func (c *Calls) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
	if c.line != nil {
		c.line.conn.Close()
	}
}

// Call sends a call, which is one line, to the post office. It calls answered once: with the response, which is one
// line without its line end, or with an error, after which it is unknown whether the call was carried out; an empty
// response means that it was not. It waits until ctx ends, while the post office lives. answered may be called before
// Call returns, and delays other answers until it returns.
func (c *Calls) Call(ctx context.Context, key string, call []byte, answered func([]byte, error)) {
	c.mu.Lock()
	l := c.line
	c.mu.Unlock()
	if l != nil && l.call(ctx, key, call, answered) {
		return
	}
	go func() { // connecting may take long
		l, err := c.connect(l)
		if err == nil && !l.call(ctx, key, call, answered) {
			err = errBroken
		}
		if err != nil {
			answered(nil, err)
		}
	}()
}

// Wait is Call for a call that waits for an event: it survives a restart of the post office, as Client.Wait does.
func (c *Calls) Wait(ctx context.Context, key string, call []byte, answered func([]byte, error)) {
	c.wait(ctx, key, call, backoff{}, answered)
}

func (c *Calls) wait(ctx context.Context, key string, call []byte, back backoff, answered func([]byte, error)) {
	c.Call(ctx, key, call, func(response []byte, err error) {
		back.connected = back.connected || errors.Is(err, errBroken)
		if err == nil || ctx.Err() != nil || !back.connected || errors.Is(err, errSilent) {
			answered(response, err)
			return
		}
		go func() {
			back.wait(ctx)
			c.wait(ctx, key, call, back, answered)
		}()
	})
}

// connect returns a working connection, given the last one, which is broken.
func (c *Calls) connect(last *callLine) (*callLine, error) {
	c.dialing.Lock()
	defer c.dialing.Unlock()
	c.mu.Lock()
	l, dead := c.line, c.dead
	c.mu.Unlock()
	if l != last && !dead {
		return l, nil
	}
	l, err := c.dial()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		l.conn.Close()
		return nil, errBroken
	}
	c.line = l
	return l, nil
}

func (c *Calls) dial() (*callLine, error) {
	o := c.caller.office
	if o.socket == "" {
		return nil, errors.New("calls go through Unix sockets only")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := o.transport.DialContext(ctx, "unix", o.socket)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	r := &http.Request{Method: http.MethodGet, Host: "pennypost", URL: &url.URL{
		Path: wire.CallsPath + string(c.caller.room), RawQuery: c.query,
	}, Header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {wire.CallsProtocol}}}
	c.caller.sign(r.Header)
	in := bufio.NewReaderSize(conn, 64<<10)
	if err := r.Write(conn); err != nil {
		conn.Close()
		return nil, err
	}
	resp, err := http.ReadResponse(in, r)
	if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
		err = fmt.Errorf("calls are not served: %s", resp.Status)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	l := &callLine{office: o, conn: conn, waiting: make(map[string]func([]byte, error))}
	go l.listen(in)
	return l, nil
}

// A callLine is one connection of Calls.
type callLine struct {
	office *Office

	writing sync.Mutex // held only during I/O
	conn    net.Conn

	mu      sync.Mutex
	broken  bool
	waiting map[string]func([]byte, error) // by key
}

// call is Calls.Call, unless the connection broke earlier: then it calls nothing, and returns false.
func (l *callLine) call(ctx context.Context, key string, call []byte, answered func([]byte, error)) bool {
	v := l.office.vigil(ctx)
	l.mu.Lock()
	if l.broken {
		l.mu.Unlock()
		v.end()
		return false
	}
	written := make(chan struct{})
	stop := context.AfterFunc(v.ctx, func() {
		<-written
		l.write(key, nil) // cancels the call
		l.settle(key, nil, v.why(context.Cause(v.ctx)))
	})
	l.waiting[key] = func(response []byte, err error) {
		stop()
		v.end()
		answered(response, err)
	}
	l.mu.Unlock()
	l.write(key, call)
	close(written)
	return true
}

func (l *callLine) write(key string, call []byte) {
	text := make([]byte, 0, len(key)+len(call)+2)
	text = append(append(append(append(text, key...), ' '), call...), '\n')
	l.writing.Lock()
	_, err := l.conn.Write(text)
	l.writing.Unlock()
	if err != nil {
		l.conn.Close() // listen tells the waiting callers
	}
}

// listen distributes responses until the connection ends.
func (l *callLine) listen(in *bufio.Reader) {
	for {
		text, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		key, response, _ := bytes.Cut(text[:len(text)-1], []byte(" "))
		l.settle(string(key), response, nil)
	}
	l.conn.Close()
	l.mu.Lock()
	l.broken = true
	left := l.waiting
	l.waiting = nil
	l.mu.Unlock()
	for _, answered := range left {
		answered(nil, errBroken)
	}
}

// settle answers the call of a key if it still waits.
func (l *callLine) settle(key string, response []byte, err error) {
	l.mu.Lock()
	answered := l.waiting[key]
	delete(l.waiting, key)
	l.mu.Unlock()
	if answered != nil {
		answered(response, err)
	}
}
