package room

// Exported for tests.
const (
	OtherRows  = otherRows
	RosterRows = rosterRows
	MaxThreads = maxThreads
	TallyAge   = tallyAge
	TallyFree  = tallyFree
	TalkCrowd  = talkCrowd
	TalkPosts  = talkPosts
	Deepest    = deepest
)

// Tallies is for tests.
type Tallies = tallies

// Functions for tests.
var (
	Around = around
	Marked = marked
)
