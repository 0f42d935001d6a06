package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/pause"
)

const (
	// maxLine bounds one message on stdio, as defaultMaxBody does over HTTP.
	maxLine = 1 << 20
	// drain is how long calls already made may continue after in has ended. A script that pipes its requests gets its
	// answers; a client that closes our stdin to stop us, and kills us after 2 s, finds us gone.
	drain = 1500 * time.Millisecond
	// maxCalls limits the calls that run, or await a client that does not read their answers, at a time. A client has
	// a few under way; a faulty one would have any number, each with its memory.
	maxCalls = 256
	// codeTooMany is the error code for further calls, from the range that JSON-RPC leaves to servers.
	codeTooMany = -32000
)

// ServeStdio serves one client over in and out, one JSON-RPC message a line, in any revision from 2024-11-05 to
// 2026-07-28 (basic/transports, stdio). It writes nothing else to out. It returns nil after in has ended and the
// calls made have been answered or, after 1.5 s, cancelled, or after out was closed; and ctx's error once
// ctx is done and all calls have returned. Handlers get ctx's values.
//
// A line that is not a JSON-RPC message is answered with an error and does not end the session, as it would in the
// SDK's own transport. So is a batch, which only 2025-03-26 allowed.
//
// The caller keeps in and out. The goroutine that reads in ends only when a read returns.
func ServeStdio(ctx context.Context, server *Server, in io.Reader, out io.Writer) error {
	c := &stdioConn{
		server:   server,
		ids:      newIDs(),
		out:      out,
		stopping: ctx.Done(),
		lines:    make(chan line),
		broken:   make(chan error, 1),
		closed:   make(chan struct{}),
		answered: pause.NewNudge(),
		calls:    make(map[jsonrpc.ID]string),
		quick:    make(map[string]context.CancelFunc),
	}
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithCancel(ctx)
	defer cancel()
	go c.scan(in)
	session, err := server.Connect(ctx, c, nil)
	if err != nil {
		return fmt.Errorf("serving mcp on stdio: %w", err)
	}
	err = session.Wait()
	cancel()
	c.awaitQuick()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil, errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		return nil
	}
	return fmt.Errorf("serving mcp on stdio: %w", err)
}

// A stdioConn is both Transport and Connection of one ServeStdio. The SDK calls Read from one goroutine, Write from
// many.
type stdioConn struct {
	server   *Server
	ctx      context.Context // of quick calls
	ids      ids
	stopping <-chan struct{}
	lines    chan line     // from scan; closed at the end of in
	broken   chan error    // one slot: why a quick call could not be answered
	closed   chan struct{} // by Close
	answered pause.Nudge   // no call awaits its answer
	once     sync.Once

	writing sync.Mutex
	out     io.Writer // guarded by writing, which is held for I/O and nothing else

	mu    sync.Mutex
	calls map[jsonrpc.ID]string         // read and not yet answered by the SDK, with their methods
	quick map[string]context.CancelFunc // calls being answered without the SDK, by id
	owed  int                           // such calls whose answers have not been written
	begun bool                          // a session of the older era has begun
	ended bool                          // no further quick call may begin

	running sync.WaitGroup // quick calls; Add only with mu held and ended false
}

// A line is one line of input without its end, or the error in its stead.
type line struct {
	text []byte
	err  error
}

var errLineTooLong = fmt.Errorf("message exceeds %d bytes", maxLine)

// scan feeds lines until in ends or the connection is closed.
func (c *stdioConn) scan(in io.Reader) {
	defer close(c.lines)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		text, err := readLine(r)
		if err != nil && !errors.Is(err, errLineTooLong) {
			if !errors.Is(err, io.EOF) {
				c.feed(line{err: err})
			}
			return
		}
		if len(text) == 0 && err == nil || c.callQuick(text) || c.callMethod(text) {
			continue
		}
		if !c.feed(line{text, err}) {
			return
		}
	}
}

// callQuick starts an ordinary call of a quick tool, and reports whether text is one.
func (c *stdioConn) callQuick(text []byte) bool {
	call := parseOrdinary(text)
	if call == nil {
		return false
	}
	tool := c.server.tool(call)
	if tool.run == nil {
		return false
	}
	if c.crowded() {
		_ = c.tooMany(json.RawMessage(call.ID)) // blocks here: a client that does not read gets no further reads
		return true
	}
	id := string(call.ID)
	ctx, cancel := c.beginQuick(id, call.modern)
	if ctx == nil {
		return false // the SDK reports the error
	}
	if tool.waits {
		call.Params.notify = c.notifyProgress
	}
	answer := func(response []byte, a toolAnswer) {
		defer c.running.Done()
		wanted := ctx.Err() == nil
		cancel()
		a.settle(c.answerQuick(id, response) && wanted)
	}
	here := func() {
		a := tool.run(ctx, &call.Params)
		answer(c.server.response(call, a), a)
	}
	if c.server.forward == nil {
		go here()
		return true
	}
	call.Params.key = rand.Text()
	stop := func() {}
	if tool.waits {
		stop = call.Params.reportProgress(ctx)
	}
	c.server.forward(ctx, tool.waits, call.Params.key, text, func(response []byte, err error) {
		stop()
		if err != nil || len(response) == 0 {
			go here() // in a goroutine, because it takes long
			return
		}
		answer(response, toolAnswer{})
	})
	return true
}

// crowded reports whether the most calls are under way.
func (c *stdioConn) crowded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)+c.owed >= maxCalls
}

// tooMany refuses a call over maxCalls.
func (c *stdioConn) tooMany(id json.RawMessage) error {
	return c.reject(newRPCError(id, codeTooMany, fmt.Sprintf("too many calls at a time (%d). Nothing was done. "+
		"Wait for some to finish", maxCalls)))
}

// notifyProgress reports a call's progress to the client.
func (c *stdioConn) notifyProgress(p *mcp.ProgressNotificationParams) error {
	params, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encoding progress: %w", err)
	}
	return c.writeLine(append(append([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":`),
		params...),
		'}'))
}

// beginQuick records a quick call, and returns nil if a call of that id is under way, or none may begin.
func (c *stdioConn) beginQuick(id string, modern bool) (context.Context, context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.quick[id] != nil || c.ended || !c.begun && !modern {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.quick[id] = cancel
	c.owed++
	c.running.Add(1)
	return ctx, cancel
}

// answerQuick writes the response to a quick call, and reports whether it could.
func (c *stdioConn) answerQuick(id string, response []byte) bool {
	c.mu.Lock()
	delete(c.quick, id) // a client may reuse an id as soon as it is answered
	c.mu.Unlock()
	err := c.writeLine(response)
	if err != nil {
		select {
		case c.broken <- err:
		default:
		}
	}
	c.settle(func() { c.owed-- })
	return err == nil
}

// cancelQuick cancels the quick call that a notification names.
func (c *stdioConn) cancelQuick(notification []byte) {
	from, to := jsonx.Place(notification, "params")
	params := notification[from:to]
	from, to = jsonx.Place(params, "requestId")
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.quick[string(params[from:to])]; cancel != nil {
		cancel()
	}
}

// awaitQuick waits for the quick calls, which have been cancelled.
func (c *stdioConn) awaitQuick() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.running.Wait()
}

func (c *stdioConn) feed(l line) bool {
	select {
	case c.lines <- l:
		return true
	case <-c.closed:
		return false
	}
}

// readLine returns the next line, trimmed of white space, or errLineTooLong after skipping one. A last line without
// its end is returned before the error that cut it off.
func readLine(r *bufio.Reader) ([]byte, error) {
	var text []byte
	tooLong := false
	for {
		part, err := r.ReadSlice('\n')
		if tooLong = tooLong || len(text)+len(part) > maxLine; tooLong {
			text = nil
		} else {
			text = append(text, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if tooLong {
			return nil, errLineTooLong
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			return text, nil // the next read returns the error again
		}
		return nil, err
	}
}

// Connect implements mcp.Transport.
func (c *stdioConn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements mcp.Connection.
func (c *stdioConn) SessionID() string { return "" }

// Close implements mcp.Connection.
func (c *stdioConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// Read implements mcp.Connection. It delays the EOF when in has ended, because an EOF makes the SDK cancel every
// call and refuse to write the answers.
func (c *stdioConn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-c.stopping:
			return nil, io.EOF
		case <-c.closed:
			return nil, io.EOF
		case err := <-c.broken:
			return nil, err
		case l, ok := <-c.lines:
			if !ok {
				c.awaitAnswers()
				return nil, io.EOF
			}
			msg, err := c.decode(l)
			if msg != nil || err != nil {
				return msg, err
			}
		}
	}
}

// decode returns the message of a line, or nil after answering a line that is not one.
func (c *stdioConn) decode(l line) (jsonrpc.Message, error) {
	if l.err != nil && !errors.Is(l.err, errLineTooLong) {
		return nil, l.err
	}
	if l.err != nil {
		return nil, c.reject(newRPCError(nil, jsonrpc.CodeInvalidRequest, l.err.Error()))
	}
	seen, ref := parseMessage(l.text, c.ids)
	if ref != nil {
		return nil, c.reject(ref.body)
	}
	if seen.batch {
		return nil, c.reject(newRPCError(nil, jsonrpc.CodeInvalidRequest,
			"batches are not supported: send one message per line"))
	}
	if seen.method == "notifications/cancelled" {
		c.cancelQuick(l.text)
	}
	msg, err := jsonrpc.DecodeMessage(seen.body)
	if err != nil {
		return nil, fmt.Errorf("decoding a message again: %w", err)
	}
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() && req.Method != "subscriptions/listen" {
		if c.crowded() {
			return nil, c.tooMany(seen.id)
		}
		c.mu.Lock()
		c.calls[req.ID] = req.Method
		c.mu.Unlock()
	}
	return msg, nil
}

// awaitAnswers waits until every call has been answered, for at most drain. It does not wait for a subscription,
// which is never answered.
func (c *stdioConn) awaitAnswers() {
	timeout := time.After(drain)
	for c.owing() {
		select {
		case <-c.answered:
		case <-timeout:
			return
		case <-c.stopping:
			return
		case <-c.closed:
			return
		}
	}
}

func (c *stdioConn) owing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)+c.owed > 0
}

// Write implements mcp.Connection.
func (c *stdioConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encoding message: %w", err)
	}
	err = c.writeLine(c.ids.outside(data))
	if resp, ok := msg.(*jsonrpc.Response); ok {
		c.settle(func() {
			c.begun = c.begun || c.calls[resp.ID] == "initialize" && resp.Error == nil
			delete(c.calls, resp.ID)
		})
	}
	return err
}

// settle applies take, which removes a call from those under way.
func (c *stdioConn) settle(take func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	take()
	if len(c.calls)+c.owed > 0 {
		return
	}
	c.answered.Give()
}

func (c *stdioConn) reject(e rpcError) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encoding message: %w", err)
	}
	return c.writeLine(data)
}

func (c *stdioConn) writeLine(data []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := c.out.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("writing message: %w", err)
	}
	return nil
}
