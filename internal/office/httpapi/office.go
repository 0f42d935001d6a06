package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

func status(c *call) (any, error) {
	s, err := c.api.opts.Status(c.r.Context())
	s.You, s.Room = c.caller.Name, c.caller.Room
	if c.needUser() != nil || c.caller.Pass != nil {
		s.Home, s.Listen, s.Failing, s.Fingerprint, s.Joined, s.Cluster = "", nil, nil, "", nil, nil
	}
	return s, err
}

func stop(c *call) (any, error) {
	if c.api.opts.Stop == nil {
		return nil, mail.Errorf(mail.Unavailable, "this post office cannot be stopped from here; end its process")
	}
	c.api.opts.Stop()
	return nil, nil
}

// backup streams the whole post office. The file has the operator's token in it, which is not told to other machines.
func backup(c *call) (any, error) {
	if c.api.opts.Backup == nil || c.api.opts.Local == nil || !c.api.opts.Local(c.r) {
		return nil, mail.Errorf(mail.Denied, "a backup can be had over the Unix socket only")
	}
	s := c.stream()
	raw, err := c.api.opts.Backup(c.r.Context(), s)
	if err != nil {
		return nil, err
	}
	if len(raw) > 0 {
		c.w.Header().Set(http.TrailerPrefix+wire.RawTrailer, someOf(raw))
	}
	return nil, s.flush()
}

// maxTrailer is in bytes. Go's client takes no trailer that is longer than its buffer of 4 KB.
const maxTrailer = 3 << 10

// someOf joins as many names as fit into a trailer, and says how many do not.
func someOf(rooms []mail.RoomName) string {
	var b strings.Builder
	for i, room := range rooms {
		if b.Len()+len(room) > maxTrailer {
			fmt.Fprintf(&b, ", and %d more", len(rooms)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(room))
	}
	return b.String()
}

func login(c *call) (any, error) {
	ask, err := body[wire.Login](c)
	if err != nil {
		return nil, err
	}
	if p := c.caller.Pass; p != nil {
		if len(p.Rooms) > 0 {
			return nil, mail.Errorf(mail.Denied,
				"the pages show every room, and the machine %s was let into some only: no link was made", p.Machine)
		}
		ask.Phone, ask.Pass = true, p
	}
	pages, err := c.pages()
	if err != nil {
		return nil, err
	}
	url, err := pages.Link(ask)
	return wire.Link{URL: url}, err
}

func sessions(c *call) (any, error) {
	pages, err := c.pages()
	if err != nil {
		return nil, err
	}
	return wire.Sessions{Sessions: pages.Sessions()}, nil
}

func endSession(c *call) (any, error) {
	pages, err := c.pages()
	if err != nil {
		return nil, err
	}
	id, err := c.path("session")
	if err != nil {
		return nil, err
	}
	return nil, pages.EndSession(id)
}

func endSessions(c *call) (any, error) {
	pages, err := c.pages()
	if err != nil {
		return nil, err
	}
	return nil, pages.EndSession("")
}

// pages returns the pages, if the post office has any.
func (c *call) pages() (Pages, error) {
	if c.api.opts.Pages == nil {
		return nil, mail.Errorf(mail.Unavailable, "this post office has no pages, since it listens on no TCP "+
			"address; start it with: pennypost serve --listen 127.0.0.1:8765")
	}
	return c.api.opts.Pages, nil
}

func rooms(c *call) (any, error) {
	all, err := c.api.opts.Office.Rooms(c.r.Context())
	if err != nil {
		return nil, err
	}
	mine := wire.Rooms{Rooms: make([]mail.RoomStatus, 0, len(all))}
	for _, room := range all {
		if c.caller.Room == "" || c.caller.Room == room.Name {
			mine.Rooms = append(mine.Rooms, room)
		}
	}
	return mine, nil
}

func removeRoom(c *call) (any, error) {
	if c.api.opts.Remove == nil {
		return nil, mail.Errorf(mail.Unavailable, "rooms cannot be removed here")
	}
	return c.api.opts.Remove(c.r.Context(), c.roomName)
}

func moveRoom(c *call) (any, error) {
	ask, err := body[wire.MoveRoom](c)
	if err != nil {
		return nil, err
	}
	if c.api.opts.Move == nil {
		return nil, mail.Errorf(mail.Unavailable, "rooms cannot be moved here")
	}
	return c.api.opts.Move(c.r.Context(), c.roomName, ask)
}

func machines(c *call) (any, error) {
	if c.api.opts.Machines == nil {
		return wire.Machines{Machines: []mail.MachineStatus{}}, nil
	}
	return wire.Machines{Machines: c.api.opts.Machines.List()}, nil
}

func removeMachine(c *call) (any, error) {
	name, err := c.path("machine")
	if err != nil {
		return nil, err
	}
	if c.api.opts.Machines == nil {
		return nil, mail.Errorf(mail.NotFound, "this post office has no rooms on NATS servers, so it knows no other "+
			"machines. Those that were invited are listed by: pennypost invite --list")
	}
	machine, err := mail.ParseMachine(name)
	if err != nil {
		return nil, err
	}
	return nil, c.api.opts.Machines.RemoveMachine(c.r.Context(), machine)
}
