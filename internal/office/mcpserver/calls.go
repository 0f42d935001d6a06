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

// maxBeside is how many calls of one connection are run at a time; more wait.
const maxBeside = 64

// ServeCalls answers the calls of quick tools that come as lines, each behind a key and a space, as wire.CallsProtocol
// has it. It returns when in has ended and no call runs any more; calls go on to their end only if in ended because
// its deadline passed.
func ServeCalls(ctx context.Context, box Mailbox, in *bufio.Reader, out io.Writer) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n := &Native{box: box, ctx: ctx}
	s := &Server{quick: make(map[string]toolFunc), modern: true, signature: signature(box.implementation())}
	for _, t := range tools() {
		if !t.waits {
			s.quick[t.name] = n.running(&t)
		}
	}
	var writing sync.Mutex
	var running sync.WaitGroup
	defer running.Wait()
	beside := make(chan struct{}, maxBeside)
	for {
		line, err := readLine(in)
		if err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				cancel()
			}
			return
		}
		beside <- struct{}{}
		running.Go(func() {
			response := append(s.respond(ctx, line), '\n')
			writing.Lock()
			_, _ = out.Write(response) // one that left needs no answer
			writing.Unlock()
			<-beside
		})
	}
}

// respond returns the key of a line, a space and the response, which is empty if the call is none of a quick tool.
func (s *Server) respond(ctx context.Context, line []byte) []byte {
	key, text, _ := bytes.Cut(line, []byte(" "))
	out := append(append([]byte{}, key...), ' ')
	call := parseOrdinary(text)
	if call == nil || s.tool(call) == nil {
		return out
	}
	call.Params.key = string(key)
	return append(out, s.response(call, s.tool(call)(ctx, &call.Params))...)
}
