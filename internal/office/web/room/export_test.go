package room

// What tests look at.
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

// Functions that tests call.
var (
	Around = around
	Marked = marked
)
