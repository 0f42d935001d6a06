package remote

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/office/wake"
)

// A link is the connection between a post office and a machine without one, over which agents there are rung. Each end
// sends one JSON object per line, or an empty line as a sign of life.

const (
	// linkSign is how often each end sends a sign of life, and linkSilence how long without one until the link counts
	// as dead: a sleeping laptop or a lost network does not close a connection.
	linkSign    = 8 * time.Second
	linkSilence = 25 * time.Second
	// maxLine is in bytes. A list of offers is the longest line.
	maxLine = 4 << 20
)

// Offer lists the doors of an agent on another machine.
type Offer struct {
	Room  mail.RoomName `json:"room"`
	Agent mail.Name     `json:"agent"`
	Doors []string      `json:"doors"` // in the order in which to try them
	// Process is the program of the agent's session on that machine, as package process names it; "": not known.
	Process string `json:"process,omitempty"`
}

func (o *Offer) equal(other *Offer) bool {
	return o.Room == other.Room && o.Agent == other.Agent && o.Process == other.Process &&
		slices.Equal(o.Doors, other.Doors)
}

// said is a line of either end.
type said struct {
	Offers *[]Offer `json:"offers,omitempty"` // to the post office: the complete list from now on
	Order  *order   `json:"order,omitempty"`  // to the machine
	Rung   *rung    `json:"rung,omitempty"`   // to the post office, once for each order
	Moved  *moved   `json:"moved,omitempty"`  // to the machine
}

// order asks the machine to ring a door.
type order struct {
	ID    uint64     `json:"id"`
	Door  string     `json:"door"`
	State mail.State `json:"state,omitempty"` // Ring.State, which is not in the JSON of a Ring
	Ring  wake.Ring  `json:"ring"`
}

// rung is the result of an order.
type rung struct {
	ID  uint64 `json:"id"`
	Err string `json:"err,omitempty"` // "": the door was rung
	Off bool   `json:"off,omitzero"`  // wake.ErrOff
}

// moved says that an agent has a new name.
type moved struct {
	Room mail.RoomName `json:"room"`
	From mail.Name     `json:"from"`
	To   mail.Name     `json:"to"`
}

// link is one end of a connection.
type link struct {
	conn io.ReadWriteCloser

	writing sync.Mutex // held for I/O, and nothing else
}

// say writes one line. After an error it closes the connection, which ends hear.
func (l *link) say(s *said) error {
	var text []byte
	if s != nil {
		var err error
		if text, err = jsonx.Marshal(s); err != nil {
			return err
		}
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	_, err := l.conn.Write(append(text, '\n'))
	if err != nil {
		l.conn.Close()
	}
	return err
}

// hear calls each with the lines of the other end, one after another, until the connection breaks or ctx ends. It
// closes the connection.
func (l *link) hear(ctx context.Context, each func(*said)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { l.conn.Close() })
	defer stop()
	dead := time.AfterFunc(linkSilence, func() { l.conn.Close() })
	defer dead.Stop()
	var signs sync.WaitGroup
	defer signs.Wait()
	defer cancel()
	signs.Go(func() { l.live(ctx) })
	lines := bufio.NewScanner(l.conn)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		dead.Reset(linkSilence)
		if len(lines.Bytes()) == 0 {
			continue
		}
		var s said
		if err := jsonx.Unmarshal(lines.Bytes(), &s); err != nil {
			return fmt.Errorf("invalid message from the other end: %w", err)
		}
		each(&s)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}

// live sends signs of life until ctx ends.
func (l *link) live(ctx context.Context) {
	for pause.For(ctx, linkSign) && l.say(nil) == nil {
	}
}
