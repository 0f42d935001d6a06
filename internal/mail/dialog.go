package mail

import (
	"encoding/hex"
	"strings"
)

// Dialog is a dialog in which an agent's client asks its person, as a room knows it: a permission, a plan, a
// question with options. Its content is in no journal: see Ask.
type Dialog struct {
	ID   ID         `json:"id"`
	Kind DialogKind `json:"kind"`
	Tool string     `json:"tool,omitempty"` // the tool to be used
	Sum  string     `json:"sum"`            // SHA-256, in hex, of the tool and its input
	// Worker is the subagent of the session that asks, as the client calls it; "": the session itself.
	Worker  string  `json:"worker,omitempty"`
	Machine Machine `json:"machine,omitempty"` // where the session runs
	Since   Time    `json:"since,omitzero"`
	// Doubt says that it may have been answered at the client, which no event would show.
	Doubt bool `json:"doubt,omitzero"`
}

// DialogKind is the subject of a dialog.
type DialogKind string

// The kinds.
const (
	AsksPermission DialogKind = "permission" // whether a tool may be used
	AsksQuestion   DialogKind = "question"   // with options
	AsksPlan       DialogKind = "plan"       // whether it is good
	AsksForm       DialogKind = "form"       // one that an MCP server wants filled in
)

// DialogOutcome is how a dialog ended.
type DialogOutcome string

// The outcomes.
const (
	DialogAllowed  DialogOutcome = "allowed"
	DialogDenied   DialogOutcome = "denied"
	DialogAnswered DialogOutcome = "answered"
	DialogEnded    DialogOutcome = "ended" // the answer is unknown
)

// AtClient is the DialogChange.Where of an answer at the client's own dialog. For answers given elsewhere it is the
// Means by which the person was identified.
const AtClient = "client"

// MaxDialogs is the limit on open dialogs per agent.
const MaxDialogs = 32

// DialogChange is the journal's record of a dialog that opened, is in doubt or, with an Outcome, ended.
type DialogChange struct {
	Dialog
	Agent   Name          `json:"agent,omitempty"`
	Session string        `json:"session"`
	Process string        `json:"process,omitempty"` // that runs Session, as in Turn; in no journal
	Outcome DialogOutcome `json:"outcome,omitempty"`
	By      Name          `json:"by,omitempty"`    // who caused the Outcome: the user; "": unknown
	Where   string        `json:"where,omitempty"` // where they answered: AtClient, or a Means
}

// Check validates c by itself.
func (c *DialogChange) Check() error {
	switch c.Kind {
	case AsksPermission, AsksQuestion, AsksPlan, AsksForm:
	default:
		return Errorf(Invalid, "%q is not a kind of dialog", c.Kind)
	}
	switch c.Outcome {
	case "", DialogAllowed, DialogDenied, DialogAnswered, DialogEnded:
	default:
		return Errorf(Invalid, "%q is not an outcome of a dialog", c.Outcome)
	}
	if sum, err := hex.DecodeString(c.Sum); err != nil || len(sum) != 32 {
		return Errorf(Invalid, "the sum of the dialog is not a SHA-256 in hex")
	}
	if c.ID == "" || len(c.ID) > MaxName || strings.ContainsFunc(string(c.ID), notPlain) {
		return Errorf(Invalid, "%q is not a dialog id", c.ID)
	}
	for _, text := range []string{c.Tool, c.Worker, c.Where, string(c.By)} {
		if len(text) > MaxName || strings.ContainsAny(text, "\x00\r\n") {
			return Errorf(Invalid, "the fields of a dialog are one line of at most %d bytes each", MaxName)
		}
	}
	return checkWord("session", c.Session)
}

func notPlain(r rune) bool {
	return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
}
