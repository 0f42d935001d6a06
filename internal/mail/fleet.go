package mail

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
)

// FleetPart is an aspect of rooms, for a query of several rooms.
type FleetPart string

// The parts.
const (
	FleetAgents  FleetPart = "agents"
	FleetStuck   FleetPart = "stuck"
	FleetWaiting FleetPart = "waiting"
	FleetClaims  FleetPart = "claims"
	FleetAll     FleetPart = "all"
)

// ParseFleetPart checks s as a part; "" means agents.
func ParseFleetPart(s string) (FleetPart, error) {
	switch p := FleetPart(s); p {
	case "":
		return FleetAgents, nil
	case FleetAgents, FleetStuck, FleetWaiting, FleetClaims, FleetAll:
		return p, nil
	}
	return "", Errorf(Invalid, "%q is not a part of the fleet; use agents, stuck, waiting, claims or all", s)
}

// FleetQuery selects rooms and one part of them.
type FleetQuery struct {
	Rooms  []RoomName `query:"room" about:"only these rooms; default: all"`
	Part   FleetPart  `query:"part" about:"agents, stuck, waiting, claims or all; default: agents"`
	Search string     `query:"search" about:"agents with this text in name, task, roles or tags, ignoring case"`
	States []State    `query:"state" about:"only agents in these states"`
	Limit  int        `query:"limit" about:"at most this many of each room; 0 means 50, the maximum is 1000"`
	Mail   int        `query:"mail" about:"at most this many stuck messages of each group; 0 means 5"`
}

// Checked returns q with its defaults set, or an error if q is invalid by itself.
func (q FleetQuery) Checked() (FleetQuery, error) {
	for _, n := range []int{q.Limit, q.Mail} {
		if n < 0 || n > MaxLimit {
			return q, Errorf(Invalid, "limit %d is out of range; use 1 to %d", n, MaxLimit)
		}
	}
	q.Limit = cmp.Or(q.Limit, DefaultLimit)
	for _, st := range q.States {
		if _, err := ParseState(string(st)); err != nil {
			return q, err
		}
	}
	var err error
	q.Part, err = ParseFleetPart(string(q.Part))
	return q, err
}

// Ask asks a room for the part of q, which must be Checked.
func (q FleetQuery) Ask(ctx context.Context, room Service) (out FleetRoom, err error) {
	if q.Wants(FleetAgents) {
		var list AgentList
		list, err = room.Agents(ctx, RosterQuery{Search: q.Search, States: q.States, Latest: true, Limit: q.Limit})
		out.Agents = &list
	}
	if q.Wants(FleetStuck) && err == nil {
		var list StuckList
		list, err = room.Stuck(ctx, StuckQuery{Limit: q.Limit, Mail: q.Mail})
		out.Stuck = &list
	}
	if q.Wants(FleetWaiting) && err == nil {
		var list WaitingList
		list, err = room.Waiting(ctx, WaitingQuery{Limit: q.Limit})
		out.Waiting = &list
	}
	if q.Wants(FleetClaims) && err == nil {
		var list ClaimList
		list, err = room.Claims(ctx, ClaimQuery{})
		out.Claims = &list
	}
	return out, err
}

// Wants reports whether q asks for a part.
func (q FleetQuery) Wants(part FleetPart) bool { return q.Part == part || q.Part == FleetAll }

// Fleet is one part, or all parts, of several rooms.
type Fleet struct {
	Rooms []FleetRoom `json:"rooms"` // rooms with such entries, by name
	// NotRead are rooms not read since the post office started. Each query reads a few: ask again.
	NotRead []RoomName `json:"not_read,omitempty"`
	Away    []RoomName `json:"away,omitempty"` // rooms that could not be read
}

// FleetRoom is one room's answer to a FleetQuery.
type FleetRoom struct {
	Room RoomName `json:"room"`
	// AsOf is when a closed room was closed: the answer is its state then, without texts of mail. 0: now.
	AsOf Time `json:"as_of,omitzero"`

	Agents  *AgentList   `json:"agents,omitempty"`
	Stuck   *StuckList   `json:"stuck,omitempty"`
	Waiting *WaitingList `json:"waiting,omitempty"`
	Claims  *ClaimList   `json:"claims,omitempty"` // nil for a closed room
}

// Some reports whether r has any entries.
func (r *FleetRoom) Some() bool {
	return r.Agents != nil && len(r.Agents.States) > 0 || r.Stuck != nil && len(r.Stuck.Groups) > 0 ||
		r.Waiting != nil && len(r.Waiting.Waiting) > 0 || r.Claims != nil && len(r.Claims.Claims) > 0
}

// FleetMailQuery selects mail of several rooms. Limit, After and Before apply to each room separately.
type FleetMailQuery struct {
	Rooms  []RoomName  `query:"room" about:"only these rooms; default: all"`
	Places []RoomPlace `query:"before_in" about:"of these rooms, only messages before a sequence number: ROOM:SEQ,…"`
	HistoryQuery
}

// In returns the query for one room.
func (q FleetMailQuery) In(room RoomName) HistoryQuery {
	for _, p := range q.Places {
		if in, before := p.Parts(); in == room {
			q.Before = before
		}
	}
	return q.HistoryQuery
}

// RoomPlace is a position in a room's mail, written ROOM:SEQ.
type RoomPlace string

// PlaceIn returns the position of a message in its room.
func PlaceIn(room RoomName, seq Seq) RoomPlace { return RoomPlace(fmt.Sprintf("%s:%d", room, seq)) }

// ParseRoomPlace checks s as a position in a room's mail.
func ParseRoomPlace(s string) (RoomPlace, error) {
	room, seq, _ := strings.Cut(s, ":")
	if _, err := ParseRoom(room); err != nil {
		return "", err
	}
	if n, err := strconv.ParseUint(seq, 10, 64); err != nil || n == 0 {
		return "", Errorf(Invalid, "%q is not a position in a room: use ROOM:SEQ", s)
	}
	return RoomPlace(s), nil
}

// Parts returns the room and the sequence number of a parsed position.
func (p RoomPlace) Parts() (RoomName, Seq) {
	room, seq, _ := strings.Cut(string(p), ":")
	n, _ := strconv.ParseUint(seq, 10, 64)
	return RoomName(room), Seq(n)
}

// FleetMail is mail of several rooms, each page as the room itself would answer.
type FleetMail struct {
	Rooms   []FleetPage `json:"rooms"`              // those that have any, or were searched in part, by name
	NotRead []RoomName  `json:"not_read,omitempty"` // closed rooms not searched: name them to search them
	Away    []RoomName  `json:"away,omitempty"`     // rooms that could not be read
}

// FleetPage is mail of one room.
type FleetPage struct {
	Room RoomName `json:"room"`
	Page
}
