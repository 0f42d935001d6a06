package mail

// StuckKind is why mail does not move.
type StuckKind string

// The kinds, in the order in which they ask for somebody.
const (
	StuckHeld    StuckKind = "held"    // nobody has the role that it is for
	StuckDead    StuckKind = "dead"    // its reader is gone and has not read it
	StuckWaiting StuckKind = "waiting" // its reader should have looked at it by now
	StuckExpired StuckKind = "expired" // it expired before anybody had read it
)

// StuckKinds lists the kinds.
func StuckKinds() []StuckKind { return []StuckKind{StuckHeld, StuckDead, StuckWaiting, StuckExpired} }

// ParseStuckKind checks s as a kind; "" stands for all of them.
func ParseStuckKind(s string) (StuckKind, error) {
	for _, k := range StuckKinds() {
		if s == "" || StuckKind(s) == k {
			return StuckKind(s), nil
		}
	}
	return "", Errorf(Invalid, "%q is not a kind of what is stuck; the kinds are held, dead, waiting, expired", s)
}

// StuckQuery says how much of what does not move to return.
type StuckQuery struct {
	Kind  StuckKind `query:"kind" about:"only this kind: held, dead, waiting or expired"`
	For   Address   `query:"for" about:"only what is for this agent, role or audience, as an address"`
	Limit int       `query:"limit" about:"at most so many groups of each kind; 0 means 50, the most is 1000"`
	Mail  int       `query:"mail" about:"at most so many messages of each group; 0 means 5, the most is 1000"`
}

// StuckGroup is the mail of one kind that waits for the same agent, role or audience.
type StuckGroup struct {
	Kind  StuckKind `json:"kind"`
	For   Address   `json:"for"`
	Since Time      `json:"since"` // when the first of it was sent
	Count int       `json:"count"`
	More  bool      `json:"more,omitzero"` // Count is where counting ended, and there may be more
	Mail  []Item    `json:"mail"`          // the first of it, each with the one delivery that does not move
}

// StuckList is mail that does not move: the groups that have waited longest of each kind, and how many there are.
type StuckList struct {
	Groups []StuckGroup      `json:"groups"`
	Kinds  map[StuckKind]int `json:"kinds"`
}
