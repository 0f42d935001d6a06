package mail

import "strings"

// Type is the type of a message. Its consequences are defined in the table of types and nowhere else.
type Type string

// The types.
const (
	TaskAssigned  Type = "task-assigned"
	TaskDone      Type = "task-done"
	ReviewRequest Type = "review-request"
	ReviewResult  Type = "review-result"
	Question      Type = "question" // to the user, metadata.options may offer answers to click
	Answer        Type = "answer"
	Cancel        Type = "cancel"
	Status        Type = "status"
	Custom        Type = "custom"
)

// typeRules is the table. To add a type, add a row here and its case in TestWakes: policy, the doors and the pages
// use the table, and TestTypesAreListedOnce finds other lists of types.
var typeRules = []TypeRule{
	{Type: TaskAssigned, Help: "work to do", Wakes: WakesRecipient, AboutTask: true, Colour: "violet"},
	{Type: TaskDone, Help: "the work is done", Wakes: WakesOrchestrator, AboutTask: true, Ends: true, Colour: "green"},
	{Type: ReviewRequest, Help: "please review", Wakes: WakesRecipient, AboutTask: true,
		AnsweredBy: ReviewResult, Colour: "orange"},
	{Type: ReviewResult, Help: "the review's result", Wakes: WakesOrchestrator, AboutTask: true, Verdict: true,
		Ends: true, Colour: "yellow"},
	{Type: Question, Help: "wants an answer", Wakes: WakesRecipient, AnsweredBy: Answer, Colour: "accent"},
	{Type: Answer, Help: "to a question", Wakes: WakesRecipient, Ends: true, Colour: "cyan"},
	{Type: Cancel, Help: "stop, with all that you started", Wakes: WakesEverybody, AboutTask: true, Stops: true,
		Colour: "red"},
	{Type: Status, Help: "a progress report", Wakes: WakesNone, Colour: "faint"},
	{Type: Custom, Help: "anything else", Wakes: WakesFromUser, Colour: "soft"},
}

// TypeRule holds the consequences of a message's type.
type TypeRule struct {
	Type  Type
	Help  string // its purpose
	Wakes Waking // whom it wakes unless it is urgent

	AboutTask  bool // it shows progress, so agents that exchange it are not talking in circles
	Verdict    bool // metadata.verdict must be one of Verdicts
	AnsweredBy Type // the type that settles it; "": it asks nothing
	Ends       bool // a reply of this type is the result of the task that it replies to
	// Stops says that it stops work: only the user, the orchestrator and the agent's parent may send it, and it
	// also reaches the agent's descendants.
	Stops bool

	Colour string // its name in the pages' style sheet
}

// Waking says whom a message wakes. Mail to a tag or to all wakes no one, unless it is WakesEverybody.
type Waking string

// Values of Waking.
const (
	WakesNone         Waking = "nobody"
	WakesRecipient    Waking = "its recipient"
	WakesOrchestrator Waking = "the orchestrator"
	WakesFromUser     Waking = "an agent that the user writes to"
	WakesEverybody    Waking = "each recipient"
)

// About describes the type's purpose and whom it wakes.
func (r TypeRule) About() string { return r.Help + "; wakes " + string(r.Wakes) }

// TypeRules returns the table.
func TypeRules() []TypeRule { return append([]TypeRule(nil), typeRules...) }

// Rule returns the consequences of t. For a type unknown to the table, written by a later version, only the colour
// is set.
func (t Type) Rule() TypeRule {
	for i := range typeRules {
		if typeRules[i].Type == t {
			return typeRules[i]
		}
	}
	return TypeRule{Type: t, Colour: "soft"}
}

// Types lists the types in the order of the table.
func Types() []Type {
	types := make([]Type, len(typeRules))
	for i := range typeRules {
		types[i] = typeRules[i].Type
	}
	return types
}

// TypeNames returns the types as text, joined by separator.
func TypeNames(separator string) string {
	names := make([]string, len(typeRules))
	for i := range typeRules {
		names[i] = string(typeRules[i].Type)
	}
	return strings.Join(names, separator)
}

// ParseType checks s as a type; "" means Custom.
func ParseType(s string) (Type, error) {
	if s == "" {
		return Custom, nil
	}
	if t := Type(s); t.Rule().Help != "" {
		return t, nil
	}
	return "", Errorf(Invalid, "%q is not a message type; the types are %s", s, TypeNames(", "))
}

// Verdicts are the values of metadata.verdict in a review-result.
func Verdicts() []string { return []string{"approved", "changes-requested", "blocked"} }
