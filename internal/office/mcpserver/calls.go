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

// maxBeside is how many calls of one connection are run or answered at a time. More are not served.
const maxBeside = 64

// ServeCalls answers the calls of an agent's tools that come as lines, each behind a key and a space, as
// wire.CallsProtocol has it. It returns when in has ended and no call runs any more. Calls go on to their end only if
// in ended because its deadline passed, and if they do not wait for something to happen.
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
			d.answer(key, nil) // here: who does not read its answers is not read from either
		}
	}
}

// A desk is where the calls of one connection are run.
type desk struct {
	server  *Server
	running sync.WaitGroup

	writing sync.Mutex
	out     io.Writer // guarded by writing, which is held for I/O and nothing else

	mu     sync.Mutex
	calls  map[string]context.CancelFunc // that are run, by key
	beside int                           // how many are run or answered
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
		if !a.failed || ctx.Err() == nil { // what was cut short is nobody's answer
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
	_, _ = d.out.Write(line) // one that left needs no answer
}
