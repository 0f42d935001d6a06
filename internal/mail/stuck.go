package mail

import "slices"

// StuckKind is why mail, or an agent, does not move.
type StuckKind string

// The kinds, in the order in which they ask for somebody.
const (
	StuckAsking  StuckKind = "asking"  // its reader is at a dialog of its client; there may be no mail
	StuckClaim   StuckKind = "claim"   // it waits for what another holds; there is no mail
	StuckHeld    StuckKind = "held"    // nobody has the role that it is for
	StuckDead    StuckKind = "dead"    // its reader is gone and has not read it
	StuckWaiting StuckKind = "waiting" // its reader should have looked at it by now
	StuckExpired StuckKind = "expired" // it expired before anybody had read it
)

// StuckKinds lists the kinds.
func StuckKinds() []StuckKind {
	return []StuckKind{StuckAsking, StuckClaim, StuckHeld, StuckDead, StuckWaiting, StuckExpired}
}

// ParseStuckKind checks s as a kind; "" stands for all of them.
func ParseStuckKind(s string) (StuckKind, error) {
	for _, k := range StuckKinds() {
		if s == "" || StuckKind(s) == k {
			return StuckKind(s), nil
		}
	}
	return "", Errorf(Invalid, "%q is not a kind of what is stuck; the kinds are asking, claim, held, dead, waiting, "+
		"expired", s)
}

// StuckQuery says how much of what does not move to return.
type StuckQuery struct {
	Kind  StuckKind `query:"kind" about:"only this kind: asking, claim, held, dead, waiting or expired"`
	For   Address   `query:"for" about:"only what is for this agent, role or audience, as an address"`
	Limit int       `query:"limit" about:"at most so many groups of each kind; 0 means 50, the most is 1000"`
	Mail  int       `query:"mail" about:"at most so many messages of each group; 0 means 5, the most is 1000"`
}

// StuckGroup is the mail of one kind that waits for the same agent, role or audience. One of an agent that is asking
// has what it has not been shown, which may be nothing; one of an agent that waits for a claim has no mail.
type StuckGroup struct {
	Kind StuckKind `json:"kind"`
	For  Address   `json:"for"`
	// Since is when the first of it was sent; of StuckAsking when the first dialog opened; of StuckClaim when the
	// first of what it waits for was taken.
	Since Time   `json:"since"`
	Count int    `json:"count"`
	More  bool   `json:"more,omitzero"` // Count is where counting ended, and there may be more
	Mail  []Item `json:"mail"`          // the first of it, each with the one delivery that does not move
	// Dialogs are those of StuckAsking.
	Dialogs []Dialog `json:"dialogs,omitempty"`
	// Claims are what the agent of StuckClaim waits for, and who holds it. Circle, if those wait for claims of this
	// agent in turn, is who waits for whom, from this agent back to it.
	Claims []Clash `json:"claims,omitempty"`
	Circle []Name  `json:"circle,omitempty"`
}

// StuckList is mail that does not move: the groups that have waited longest of each kind, and how many there are.
type StuckList struct {
	Groups []StuckGroup      `json:"groups"`
	Kinds  map[StuckKind]int `json:"kinds"`
}

// WaitsFor reports whether the agent of g waits for what is held there.
func (g *StuckGroup) WaitsFor(h *Holding) bool {
	return slices.ContainsFunc(g.Claims, func(c Clash) bool {
		return c.Held.Agent == h.Agent && c.Held.Same(h.Target)
	})
}
