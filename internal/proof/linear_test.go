//go:build linux

package proof

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"pennypost/internal/mail"
)

// asked is the input of a step of a model: a mark by an agent, or a look.
type asked struct {
	agent mail.Name
	mark  mail.Mark // empty: a look
}

// heard is its output.
type heard struct {
	result string // of a mark: marked, already, not_yours, not_found; "?" if nobody knows
	state  mail.DeliveryState
	taker  mail.Name // of a look at role mail: who has read it
}

// roleMail is a message to a role: nobody has taken it, or one agent has. Only reads are asked for.
func roleMail(taker mail.Name, in asked, out heard) []mail.Name {
	switch {
	case in.mark == "":
		return only(out.taker == taker, taker)
	case out.result == "marked": // it was this one's turn
		return only(taker == "", in.agent)
	case out.result == "already":
		return only(taker == in.agent, taker)
	case out.result == "not_yours": // it was another's turn, or another has it
		return only(taker != in.agent, taker)
	case out.result == "?" && taker == "":
		return []mail.Name{"", in.agent}
	}
	return []mail.Name{taker}
}

// marksOf is what one reader has made of one message.
type marksOf struct{ read, archived bool }

// directMail is a message and one reader, whose marks several clients set and take back.
func directMail(s marksOf, in asked, out heard) []marksOf {
	if in.mark == "" {
		return only(fits(s, out.state), s)
	}
	after := s
	switch in.mark {
	case mail.MarkRead, mail.MarkUnread:
		after.read = in.mark == mail.MarkRead
	case mail.MarkArchived, mail.MarkUnarchived:
		after.archived = in.mark == mail.MarkArchived
	}
	switch out.result {
	case "marked": // of two who mark at once both may be told that they did
		return []marksOf{after}
	case "already":
		return only(after == s, s)
	case "?":
		return []marksOf{s, after}
	}
	return []marksOf{s}
}

// modelOf makes a model for porcupine of a step.
func modelOf[S comparable](step func(S, asked, heard) []S) porcupine.Model {
	var zero S
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{zero} },
		Step: func(state, in, out any) (next []any) {
			for _, s := range step(state.(S), in.(asked), out.(heard)) {
				next = append(next, s)
			}
			return next
		},
	}
	return m.ToModel()
}

func only[S any](ok bool, s S) []S {
	if !ok {
		return nil
	}
	return []S{s}
}

// fits reports whether a message with these marks may be shown in a state.
func fits(s marksOf, state mail.DeliveryState) bool {
	switch state {
	case mail.Archived:
		return s.archived
	case mail.Read:
		return s.read && !s.archived
	}
	return !s.read && !s.archived
}

// limit bounds the search for one message; what is not decided by then is said, and is no breach.
const limit = 20 * time.Second

// history collects the operations of one message, or of one message and reader.
type history map[string][]porcupine.Operation

// forever is when a call returns of which nobody knows what became.
const forever = int64(1) << 62

func (h history) mark(key string, o op) {
	out := heard{result: o.Result}
	end := int64(o.Return)
	if o.Outcome == unknown {
		out.result, end = "?", forever
	}
	if out.result == "" {
		return // it was refused as a whole, or nobody listened
	}
	h[key] = append(h[key], porcupine.Operation{Input: asked{o.Agent, o.Mark}, Call: int64(o.Call), Output: out,
		Return: end})
}

func (h history) look(key string, o op, out heard) {
	h[key] = append(h[key], porcupine.Operation{Input: asked{}, Call: int64(o.Call), Output: out,
		Return: int64(o.Return)})
}

// check reports the messages whose history no order explains.
func (h history) check(found *findings, promise string, model porcupine.Model) (undecided int) {
	for key, ops := range h {
		switch porcupine.CheckOperationsTimeout(model, ops, limit) {
		case porcupine.Illegal:
			slices.SortFunc(ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
			text := ""
			for _, o := range ops {
				text += fmt.Sprintf("\n    %v..%v %v -> %v", time.Duration(o.Call), time.Duration(o.Return), o.Input,
					o.Output)
			}
			found.add(promise, "no order of what was asked explains what was answered about %s:%.3000s", key, text)
		case porcupine.Unknown:
			undecided++
		}
	}
	return undecided
}
