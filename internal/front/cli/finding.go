package cli

// Finding is doctor's result for one check.
type Finding struct {
	Check string  `json:"check"`
	State Verdict `json:"state"`
	Text  string  `json:"text"`
	Fix   string  `json:"fix,omitempty"` // the command to type
}

// Verdict is the state of a checked thing.
type Verdict string

// The verdicts.
const (
	Well    Verdict = "ok"
	Note    Verdict = "note" // nothing is wrong, but something could be better
	Problem Verdict = "problem"
)
