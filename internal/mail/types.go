package mail

import "strings"

// Type says what a message is. What follows from it stands in the table of types, and nowhere else.
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

// typeRules is the table. A new type is a row here, and what TestWakes expects of it: policy, the doors and the pages
// ask the table, and TestTypesAreListedOnce finds whoever lists types for itself.
var typeRules = []TypeRule{
	{Type: TaskAssigned, Help: "work to do", Wakes: WakesRecipient, AboutTask: true, Colour: "violet"},
	{Type: TaskDone, Help: "the work is done", Wakes: WakesOrchestrator, AboutTask: true, Ends: true, Colour: "green"},
	{Type: ReviewRequest, Help: "please look at it", Wakes: WakesRecipient, AboutTask: true,
		AnsweredBy: ReviewResult, Colour: "orange"},
	{Type: ReviewResult, Help: "what the review found", Wakes: WakesOrchestrator, AboutTask: true, Verdict: true,
		Ends: true, Colour: "yellow"},
	{Type: Question, Help: "wants an answer", Wakes: WakesRecipient, AnsweredBy: Answer, Colour: "accent"},
	{Type: Answer, Help: "to a question", Wakes: WakesRecipient, Ends: true, Colour: "cyan"},
	{Type: Cancel, Help: "stop, and all that you started", Wakes: WakesEverybody, AboutTask: true, Stops: true,
		Colour: "red"},
	{Type: Status, Help: "how it stands", Wakes: WakesNobody, Colour: "faint"},
	{Type: Custom, Help: "anything else", Wakes: WakesFromUser, Colour: "soft"},
}

// TypeRule is what follows from the type of a message.
type TypeRule struct {
	Type  Type
	Help  string // what it is for
	Wakes Waking // whom it wakes when it is not urgent

	AboutTask  bool // work moves on by it, so that agents who exchange it are not talking in circles
	Verdict    bool // metadata.verdict must be one of Verdicts
	AnsweredBy Type // what settles it; "": it asks nothing
	Ends       bool // a reply of this type is the result of the task that it replies to
	// Stops says that it ends somebody's work: only the user, the orchestrator and the agent's parent may send it, and
	// it reaches the agent's descendants too.
	Stops bool

	Colour string // the name that the style sheet of the pages knows
}

// Waking says whom a message wakes. Nobody is woken by a tag or by all, unless it is WakesEverybody.
type Waking string

// Whom a message may wake.
const (
	WakesNobody       Waking = "nobody"
	WakesRecipient    Waking = "whom it is for"
	WakesOrchestrator Waking = "the orchestrator"
	WakesFromUser     Waking = "an agent that the user writes to"
	WakesEverybody    Waking = "everybody it is for"
)

// About says what the type is for, and whom it wakes.
func (r TypeRule) About() string { return r.Help + "; wakes " + string(r.Wakes) }

// TypeRules returns the table.
func TypeRules() []TypeRule { return append([]TypeRule(nil), typeRules...) }

// Rule returns what follows from t. Of a type that the table does not know, because a later version wrote it, that is
// no more than how it is drawn.
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

// TypeNames is the list of types as text, with separator between them.
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
