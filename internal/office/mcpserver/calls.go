package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
)

// maxBeside limits the calls of one connection that run or are answered at a time. Further calls are refused.
const maxBeside = 64

// ServeCalls answers calls of an agent's tools that arrive as lines, each after a key and a space (see
// wire.CallsProtocol). It returns when in has ended and no call is running. When in ends because its deadline
// passed, calls that do not wait for an event run to completion; otherwise all are cancelled.
func ServeCalls(ctx context.Context, box Mailbox, in *bufio.Reader, out io.Writer) {
	server := &Server{modern: true, signature: signature(box.implementation()), tools: make(map[string]served)}
	for _, t := range tools() {
		server.tools[t.Name] = box.serve(t)
	}
	d := &desk{out: out, calls: make(map[string]context.CancelFunc), server: server}
	quick, cancel := context.WithCancel(ctx)
	defer cancel()
	defer d.running.Wait()
	waiting, stop := context.WithCancel(quick)
	defer stop()
	for {
		line, err := readLine(in)
		if err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				cancel()
			}
			return
		}
		if key, ok := d.serve(quick, waiting, line); !ok {
			d.answer(key, nil) // blocks here: a client that does not read its answers gets no further reads
		}
	}
}

// A desk runs the calls of one connection.
type desk struct {
	server  *Server
	running sync.WaitGroup

	writing sync.Mutex
	out     io.Writer // guarded by writing, which is held for I/O and nothing else

	mu     sync.Mutex
	calls  map[string]context.CancelFunc // running calls, by key
	beside int                           // number of calls running or being answered
}

// serve begins the call of a key, or cancels one. ok is false if the call is not served.
func (d *desk) serve(quick, waiting context.Context, line []byte) (key string, ok bool) {
	k, text, _ := bytes.Cut(line, []byte(" "))
	key = string(k)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(text) == 0 {
		if cancel := d.calls[key]; cancel != nil {
			cancel()
		}
		return key, true
	}
	call := parseOrdinary(text)
	var tool served
	if call != nil {
		tool = d.server.tool(call)
	}
	ctx := quick
	if tool.waits {
		ctx = waiting
	}
	if tool.run == nil || d.beside >= maxBeside || d.calls[key] != nil {
		return key, false
	}
	ctx, cancel := context.WithCancel(ctx)
	d.calls[key] = cancel
	d.beside++
	call.Params.key = key
	d.running.Go(func() {
		defer cancel()
		a := tool.run(ctx, &call.Params)
		d.mu.Lock()
		delete(d.calls, key)
		d.mu.Unlock()
		if !a.failed || ctx.Err() == nil { // a cancelled call's error is for no one
			d.answer(key, d.server.response(call, a))
		}
		d.mu.Lock()
		d.beside--
		d.mu.Unlock()
	})
	return key, true
}

func (d *desk) answer(key string, response []byte) {
	line := append(append([]byte(key+" "), response...), '\n')
	d.writing.Lock()
	defer d.writing.Unlock()
	_, _ = d.out.Write(line) // a client that left needs no answer
}
