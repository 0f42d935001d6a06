package acp

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"pennypost/internal/base/jsonx"
)

// Limits on a program's output.
const (
	maxLine  = 4 << 20 // bytes of one message
	maxNoise = 1000    // lines that are not messages: some programs print a greeting on their standard output
)

// lines is an io.Reader of the messages that an agent's program writes, one per line. Reports of the agent's progress
// (session/update) are counted and left out, and so are lines that are not messages: a resumed session is replayed
// from its beginning, faster than the library takes notifications.
type lines struct {
	ended chan struct{} // closed at the end of the output
	ready chan struct{} // closed when reading may begin

	// owned by the reader, until ended is closed
	from    *bufio.Reader
	rest    []byte // of the current line
	noise   int
	updates int
	err     error // why reading has stopped, if the program is at fault
}

func newLines(out io.Reader) *lines {
	return &lines{ended: make(chan struct{}), ready: make(chan struct{}), from: bufio.NewReaderSize(out, 64<<10)}
}

// Read implements io.Reader.
func (l *lines) Read(b []byte) (int, error) {
	<-l.ready
	for len(l.rest) == 0 {
		line, err := l.line()
		if err != nil {
			close(l.ended)
			return 0, err
		}
		l.rest = line
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// line returns the next line if it is a message for the library; nil: it is not.
func (l *lines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := l.from.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			l.err = fmt.Errorf("wrote a line of more than %d MiB, which is not an ACP message", maxLine>>20)
			return nil, l.err
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, err // a last line without a line feed is torn
		}
		return l.wanted(line)
	}
}

// wanted returns the line if it is a message for the library.
func (l *lines) wanted(line []byte) ([]byte, error) {
	var m struct {
		ID     jsonx.Value `json:"id"`
		Method string      `json:"method"`
	}
	switch err := jsonx.UnmarshalLenient(line, &m); {
	case err != nil:
		if l.noise++; l.noise > maxNoise {
			l.err = fmt.Errorf("wrote %d lines that are not ACP messages", l.noise)
			return nil, l.err
		}
		return nil, nil
	case m.Method == "session/update" && m.ID == nil:
		l.updates++
		return nil, nil
	}
	return line, nil
}
