package inbox

import (
	"cmp"
	"slices"
	"sync"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/openalice"
	"pennypost/internal/office/web/page"
)

// roomWorkspaces are the workspaces of a room.
type roomWorkspaces struct {
	Room mail.RoomName
	List []mail.Workspace
	seq  mail.Seq // the room's sequence number when it was asked
}

// workspaces caches the workspaces of rooms. An unchanged room is not opened again.
type workspaces struct {
	rooms sync.Map // room name to roomWorkspaces
}

// roomsAtOnce is how many closed rooms a page opens for a menu.
const roomsAtOnce = 8

// of returns the rooms that have workspaces, in order. It opens at most roomsAtOnce unknown closed rooms, and leaves
// out those that fail to open.
func (w *workspaces) of(v *page.View) ([]roomWorkspaces, error) {
	var out []roomWorkspaces
	toOpen := roomsAtOnce
	for i := range v.Rooms {
		st := &v.Rooms[i]
		r, known := w.get(st)
		if !known && !st.Open {
			toOpen--
		}
		if !known && (st.Open || toOpen >= 0) {
			svc, err := v.Site.Office.Room(v.Ctx(), st.Name, mail.User)
			if err == nil {
				r = roomWorkspaces{Room: st.Name, seq: st.Seq}
				r.List, err = svc.Workspaces(v.Ctx())
			}
			if err != nil {
				v.Site.Log.Warn("workspaces of a room left out", "room", st.Name, "err", err)
				continue
			}
			w.rooms.Store(r.Room, r)
		}
		if len(r.List) > 0 {
			out = append(out, r)
		}
	}
	return out, v.Ctx().Err()
}

func (w *workspaces) get(st *mail.RoomStatus) (roomWorkspaces, bool) {
	kept, _ := w.rooms.Load(st.Name)
	r, ok := kept.(roomWorkspaces)
	return r, ok && st.Seq > 0 && r.seq == st.Seq
}

// scope is an entry in the menu of scopes.
type scope struct {
	Name, Room, Href string
	Chosen           bool
}

// scopes lists the scopes of the inbox: all senders, or one workspace. A workspace known only by its mail is listed
// if the page shows such mail. Without workspaces the menu is empty.
func (p *inboxPage) scopes() ([]scope, error) {
	all, err := p.known.of(p.View)
	if err != nil {
		return nil, err
	}
	var list []scope
	add := func(room mail.RoomName, id mail.Name, label string) {
		s := scope{Name: cmp.Or(label, string(id)), Href: p.scope(room, id, false),
			Chosen: room == p.Room && id == p.Workspace && !p.All}
		if id != "" && room != p.Room {
			s.Room = string(room)
		}
		if !slices.ContainsFunc(list, func(o scope) bool { return o.Href == s.Href }) {
			list = append(list, s)
		}
	}
	if p.All {
		list = append(list, scope{Name: "Everyone", Href: p.scope(p.Room, "", true), Chosen: true})
	} else {
		add(p.Room, "", "Everyone")
	}
	for _, r := range all {
		for _, ws := range r.List {
			add(r.Room, ws.ID, ws.Label)
		}
	}
	for _, g := range p.Groups {
		for _, r := range g.Rows {
			if label, ok := openalice.Label(&r.Message); ok {
				add(r.Conversation.Room, r.From.Signer(), label)
			}
		}
	}
	if len(list) < 2 {
		return nil, nil
	}
	return list, nil
}

// scope is the address of this shelf for another room or workspace.
func (p *inboxPage) scope(room mail.RoomName, ws mail.Name, all bool) string {
	other := inboxPage{View: p.In(room, nil), Shelf: p.Shelf, Workspace: ws, All: all}
	return other.href()
}
