package mail

import "slices"

// StuckKind is why mail, or an agent, is stuck.
type StuckKind string

// The kinds, in the order in which they need attention.
const (
	StuckAsking  StuckKind = "asking"  // its reader's client is showing a dialog; there may be no mail
	StuckClaim   StuckKind = "claim"   // it waits for a target that another has claimed; there is no mail
	StuckHeld    StuckKind = "held"    // no one has its role
	StuckDead    StuckKind = "dead"    // its reader is gone and has not read it
	StuckWaiting StuckKind = "waiting" // its reader should have looked at it by now
	StuckExpired StuckKind = "expired" // it expired before anyone had read it
)

// StuckKinds lists the kinds.
func StuckKinds() []StuckKind {
	return []StuckKind{StuckAsking, StuckClaim, StuckHeld, StuckDead, StuckWaiting, StuckExpired}
}

// ParseStuckKind checks s as a kind; "" means all of them.
func ParseStuckKind(s string) (StuckKind, error) {
	for _, k := range StuckKinds() {
		if s == "" || StuckKind(s) == k {
			return StuckKind(s), nil
		}
	}
	return "", Errorf(Invalid, "%q is not a kind of stuck item; use asking, claim, held, dead, waiting or expired", s)
}

// StuckQuery selects stuck mail.
type StuckQuery struct {
	Kind  StuckKind `query:"kind" about:"only this kind: asking, claim, held, dead, waiting or expired"`
	For   Address   `query:"for" about:"only items for this agent, role or audience, given as an address"`
	Limit int       `query:"limit" about:"at most this many groups of each kind; 0 means 50, the maximum is 1000"`
	Mail  int       `query:"mail" about:"at most this many messages of each group; 0 means 5, the maximum is 1000"`
}

// StuckGroup is the mail of one kind that waits for the same agent, role or audience. The group of an asking agent
// has the mail that it has not been shown, if any; that of an agent waiting for a claim has no mail.
type StuckGroup struct {
	Kind StuckKind `json:"kind"`
	For  Address   `json:"for"`
	// Since is when the first message was sent; for StuckAsking, when the first dialog opened; for StuckClaim, when
	// the first awaited target was claimed.
	Since Time   `json:"since"`
	Count int    `json:"count"`
	More  bool   `json:"more,omitzero"` // counting stopped at Count, and there may be more
	Mail  []Item `json:"mail"`          // the first messages, each with only the delivery that is stuck
	// Dialogs are the open dialogs of StuckAsking.
	Dialogs []Dialog `json:"dialogs,omitempty"`
	// Claims are the targets that the agent of StuckClaim waits for, with their holders. If those wait for claims
	// of this agent in turn, Circle is the chain of waits from this agent back to it.
	Claims []Clash `json:"claims,omitempty"`
	Circle []Name  `json:"circle,omitempty"`
}

// StuckList is stuck mail: of each kind the groups that have waited longest, and the number of groups.
type StuckList struct {
	Groups []StuckGroup      `json:"groups"`
	Kinds  map[StuckKind]int `json:"kinds"`
}

// WaitsFor reports whether the agent of g waits for the claim h.
func (g *StuckGroup) WaitsFor(h *Holding) bool {
	return slices.ContainsFunc(g.Claims, func(c Clash) bool {
		return c.Held.Agent == h.Agent && c.Held.Same(h.Target)
	})
}
