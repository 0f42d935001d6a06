package acp

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"pennypost/internal/base/jsonx"
)

// Bounds of what a program may write.
const (
	maxLine  = 4 << 20 // bytes of one message
	maxNoise = 1000    // lines that are no messages: some programs greet on their standard output
)

// lines are the messages that an agent's program writes, one a line, as an io.Reader. What the agent says and does
// meanwhile (session/update) is counted and left out, as are lines that are no messages: a session that goes on is
// told from its beginning, faster than the library takes notifications.
type lines struct {
	ended chan struct{} // closed when nothing more comes
	ready chan struct{} // closed when the reading may begin

	// of whoever reads, until ended is closed
	from    *bufio.Reader
	rest    []byte // of the line that is being read
	noise   int
	updates int
	err     error // why nothing more is read, if the program is to blame
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

// line returns the next line that is a message for the library; nil: the next is none.
func (l *lines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := l.from.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			l.err = fmt.Errorf("wrote a line of more than %d MiB, which is no message of ACP", maxLine>>20)
			return nil, l.err
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, err // a last line without its end was torn
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
			l.err = fmt.Errorf("wrote %d lines that are no messages of ACP", l.noise)
			return nil, l.err
		}
		return nil, nil
	case m.Method == "session/update" && m.ID == nil:
		l.updates++
		return nil, nil
	}
	return line, nil
}
