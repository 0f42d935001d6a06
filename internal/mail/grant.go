package mail

import (
	"cmp"
	"slices"
	"strings"
)

// Grant is the person's decision on who an agent's session may be. A room keeps one for each combination of Agent,
// Role, Dir, Client and Room; the latest counts. Without an Agent it says that Dir belongs to the room.
type Grant struct {
	Agent  Name     `json:"agent,omitempty"`  // as whom a session may speak
	Role   string   `json:"role,omitempty"`   // role that the agent then has: the orchestrator's
	Dir    string   `json:"dir,omitempty"`    // the client's working directory; "": any
	Client string   `json:"client,omitempty"` // as hooks call it; "": any
	Room   RoomName `json:"room,omitempty"`   // another room, named by Dir's file; "": this one
	// Refused says that the person refused, or revoked the grant.
	Refused bool `json:"refused,omitzero"`
	By      Name `json:"by,omitempty"` // the user, or system for what follows from the room itself
	At      Time `json:"at,omitzero"`
	// Question and Answer are the messages that decided it. It counts only if Answer settled Question.
	Question ID `json:"question,omitempty"`
	Answer   ID `json:"answer,omitempty"`
}

// Same reports whether g and o have the same subject.
func (g *Grant) Same(o *Grant) bool {
	return g.Agent == o.Agent && g.Role == o.Role && g.Dir == o.Dir && g.Client == o.Client && g.Room == o.Room
}

// Covers reports whether g applies to a client in a directory. An unknown client matches any.
func (g *Grant) Covers(dir, client string) bool {
	return (g.Dir == "" || g.Dir == dir) && (g.Client == "" || client == "" || g.Client == client)
}

// Check validates a grant before it is recorded.
func (g *Grant) Check() error {
	if err := g.checkAgent(); err != nil {
		return err
	}
	if g.Room != "" {
		if _, err := ParseRoom(string(g.Room)); err != nil {
			return err
		}
	}
	for _, text := range []string{g.Dir, g.Client} {
		if len(text) > 4096 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return Errorf(Invalid, "the directory and the client of a grant are one line each")
		}
	}
	return nil
}

// checkAgent validates Agent and Role.
func (g *Grant) checkAgent() error {
	if g.Agent == "" {
		if g.Dir == "" || g.Role != "" {
			return Errorf(Invalid, "the grant names no agent and no directory: give one of them")
		}
		return nil
	}
	if _, err := ParseName(string(g.Agent)); err != nil {
		return err
	}
	switch {
	case g.Agent == User || g.Agent == System:
		return Errorf(Denied, "no session can act as %s", g.Agent)
	case g.Role != "" && g.Role != string(Orchestrator):
		return Errorf(Invalid, "role %q needs no grant: agents set their own roles", g.Role)
	case g.Agent == Orchestrator && g.Role == "":
		return Errorf(Invalid, "the agent orchestrator has the role orchestrator: the grant must name that role")
	}
	return nil
}

// SortGrants sorts grants into listing order.
func SortGrants(list []Grant) {
	slices.SortFunc(list, func(a, b Grant) int {
		return cmp.Or(CompareNames(a.Agent, b.Agent), cmp.Compare(a.Role, b.Role), cmp.Compare(a.Dir, b.Dir),
			cmp.Compare(a.Client, b.Client), cmp.Compare(a.Room, b.Room))
	})
}
