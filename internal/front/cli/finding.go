package cli

// Finding is what doctor says of one thing.
type Finding struct {
	Check string  `json:"check"`
	State Verdict `json:"state"`
	Text  string  `json:"text"`
	Fix   string  `json:"fix,omitempty"` // what to type
}

// Verdict is how it stands with a thing.
type Verdict string

// The verdicts.
const (
	Well    Verdict = "ok"
	Note    Verdict = "note" // nothing is wrong, and something could be better
	Problem Verdict = "problem"
)
