package caller

import (
	"cmp"
	"context"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/rooms"
	"pennypost/internal/room/check"
	"pennypost/internal/wire"
)

// Place implements httpapi.Places: it returns the room and agent of a client's session. A project's file may only
// choose the repository's own room and a free name, and a command line may only claim the orchestrator as far as the
// person has granted it. Anything else needs the person's consent.
func (o *Rooms) Place(ctx context.Context, p *wire.Place) (wire.Placed, error) {
	if p.Session != "" {
		if at, known, err := o.placeOfSession(ctx, p); known || err != nil {
			return at, err
		}
		p.Session, p.SessionHome = "", "" // of this machine only
	}
	if o.Far != nil {
		return o.Far.There.Place(ctx, p)
	}
	room, c, err := o.claim(ctx, p)
	if err != nil {
		return wire.Placed{}, err
	}
	if c.Agent == "" && c.Room == "" && !c.Home {
		return wire.Placed{Room: room, Agent: p.Free}, nil
	}
	if !p.Starts && !o.Set.Exists(room) { // a look creates no room
		return wire.Placed{Room: room, Agent: cmp.Or(c.Agent, c.Free)}, nil
	}
	c.Held = c.File && o.workedIn(room, c.Agent, p.Home)
	e, err := o.Set.Borrow(ctx, room)
	if err != nil {
		return wire.Placed{}, err
	}
	defer o.Set.GiveBack(e, room)
	name, err := e.Room.Place(ctx, c)
	return wire.Placed{Room: room, Agent: name}, err
}

// claim returns the room that a session may enter without the person's consent, and its claims there.
func (o *Rooms) claim(ctx context.Context, p *wire.Place) (mail.RoomName, check.Entrant, error) {
	c := check.Entrant{Agent: p.Agent, Free: p.Free, Dir: p.Home, Client: p.Client, Ask: p.Starts}
	if c.Agent == "" && p.FileAgent != "" {
		c.Agent, c.File = p.FileAgent, true
	}
	if p.Room != "" || p.FileRoom == "" || p.FileRoom == p.Own {
		return cmp.Or(p.Room, p.Own), c, nil
	}
	err := o.toFileRoom(ctx, p, &c)
	if c.Room == "" {
		return p.FileRoom, c, err
	}
	return p.Own, c, err
}

// toFileRoom records in c whether a project may enter the room that its file names: one that does not exist yet, one
// where it is at home, or one that the person let it into.
func (o *Rooms) toFileRoom(ctx context.Context, p *wire.Place, c *check.Entrant) error {
	if !o.Set.Exists(p.FileRoom) {
		c.Home = true
		return nil
	}
	at, err := o.allows(ctx, p.FileRoom, mail.Grant{Dir: p.Home})
	if at || err != nil {
		return err
	}
	if o.workedIn(p.FileRoom, "", p.Home) {
		c.Home = true // from before rooms recorded which projects are at home there
		return nil
	}
	wanted := mail.Grant{Agent: p.FileAgent, Dir: p.Home, Room: p.FileRoom}
	if p.Agent != "" {
		wanted.Agent = ""
	}
	if o.Set.Exists(p.Own) {
		if c.Meant, err = o.allows(ctx, p.Own, wanted); err != nil {
			return err
		}
	}
	if !c.Meant {
		c.Room = p.FileRoom
	}
	return nil
}

func (o *Rooms) allows(ctx context.Context, room mail.RoomName, g mail.Grant) (allowed bool, err error) {
	err = o.Set.With(ctx, room, func(e *rooms.Entry) error {
		allowed = e.Room.Allows(g)
		return nil
	})
	return allowed, err
}

// workedIn reports whether a session of an agent of a room, or of any of its agents, is known to have worked in a
// directory: sessions from before the person was asked may continue.
func (o *Rooms) workedIn(room mail.RoomName, agent mail.Name, home string) bool {
	for _, dir := range o.Set.Reach.Sessions.Dirs(room, agent) {
		if dir != "" && config.HomeDir(dir) == home {
			return true
		}
	}
	return false
}

// placeOf returns the facts of a place, for Place.
func placeOf(p *config.Place, client string) *wire.Place {
	return &wire.Place{Client: client, Room: p.Room, Agent: p.Agent, FileRoom: p.File.Room, FileAgent: p.File.Agent,
		Own: p.Own, Free: p.Free, Home: p.Home}
}
