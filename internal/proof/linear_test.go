//go:build linux

package proof

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"pennypost/internal/mail"
)

// asked is the input of a step of a model: a mark by an agent, or a look.
type asked struct {
	agent  mail.Name
	mark   mail.Mark // empty: a look
	office string    // the post office that answered; empty: all of them, after the end
	known  bool      // nothing was written for the answer: it reports the post office's knowledge
	write  int       // the number of a mark, if post offices of several machines are asked
	told   bool      // not a request, but the moment from which the post office must know the mark of that number
}

// heard is its output.
type heard struct {
	result string // of a mark: marked, already, not_yours, not_found; "?" if unknown
	state  mail.DeliveryState
	taker  mail.Name // of a look at role mail: the agent that has read it
}

// roleMail is a message to a role: no agent has taken it, or one has. Only reads are requested.
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

// marksOf are one reader's marks on one message.
type marksOf struct{ read, archived bool }

// directMail is a message and one reader, whose marks several clients set and clear.
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
	case "marked": // two clients that mark at the same time may both be told that they did
		return []marksOf{after}
	case "already":
		return only(after == s, s)
	case "?":
		return []marksOf{s, after}
	}
	return []marksOf{s}
}

// roleMailOfMany is roleMail with post offices of several machines: an agent that has the message, and asks a post
// office that does not know that yet, is told that it took it.
func roleMailOfMany(taker mail.Name, in asked, out heard) []mail.Name {
	if in.mark != "" && out.result == "marked" {
		return only(taker == "" || taker == in.agent, in.agent)
	}
	return roleMail(taker, in, out)
}

// version is the state of a message after a mark of that number.
type version[S comparable] struct {
	state S
	write int
}

// views is the history of a message's states, and how much of it each post office must know.
type views[S comparable] struct {
	was   []version[S]
	known map[string]int // by post office: an index of was
}

// step makes a step of a model where several post offices answer. A write follows all earlier ones, and the post
// office that made it knows it when it answers. An answer from a post office's knowledge may lag behind the writes,
// but not behind what that post office must know.
func (v *views[S]) step(base func(S, asked, heard) []S, in asked, out heard) (next []any) {
	last := len(v.was) - 1
	switch {
	case in.told:
		i := slices.IndexFunc(v.was, func(w version[S]) bool { return w.write == in.write })
		if i < 0 {
			return nil // not written yet
		}
		return []any{&views[S]{was: v.was, known: with(v.known, in.office, max(i, v.known[in.office]))}}
	case !in.known:
		for _, s := range base(v.was[last].state, in, out) {
			next = append(next, &views[S]{was: append(v.was[:last+1:last+1], version[S]{s, in.write}), known: v.known})
		}
		return next
	}
	for i := v.known[in.office]; i <= last; i++ { // the oldest that explains it leaves most for later steps
		if len(base(v.was[i].state, in, out)) > 0 {
			return []any{&views[S]{was: v.was, known: with(v.known, in.office, i)}}
		}
	}
	return nil
}

func (v *views[S]) equal(o *views[S]) bool {
	return slices.Equal(v.was, o.was) && maps.Equal(v.known, o.known)
}

// with returns a copy of known with one more entry.
func with(known map[string]int, office string, i int) map[string]int {
	known = maps.Clone(known)
	known[office] = i
	return known
}

// modelOf makes a model for porcupine from a step function.
func modelOf[S comparable](step func(S, asked, heard) []S) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init:  func() []any { return []any{&views[S]{was: make([]version[S], 1), known: make(map[string]int)}} },
		Step:  func(state, in, out any) []any { return state.(*views[S]).step(step, in.(asked), out.(heard)) },
		Equal: func(a, b any) bool { return a.(*views[S]).equal(b.(*views[S])) },
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

// limit bounds the search for one message, and limitOfAll that for all; an undecided history is reported, and is no
// breach.
const (
	limit      = 20 * time.Second
	limitOfAll = 3 * time.Minute
)

// history collects the operations on one message, or on one message and reader. With several set, post offices of
// several machines answered.
type history struct {
	several bool
	writes  int
	of      map[string][]porcupine.Operation
}

func newHistory(several bool) *history {
	return &history{several: several, of: make(map[string][]porcupine.Operation)}
}

// forever is the return time of a call whose outcome is unknown.
const forever = int64(1) << 62

func (h *history) mark(key string, o op) {
	out := heard{result: o.Result}
	end := int64(o.Return)
	if o.Outcome == unknown {
		out.result, end = "?", forever
	}
	if out.result == "" {
		return // it was refused as a whole, or no one listened
	}
	in := asked{agent: o.Agent, mark: o.Mark}
	if h.several {
		h.writes++
		in.office, in.write = o.Office, h.writes
		in.known = out.result != "marked" && out.result != "?"
	}
	h.of[key] = append(h.of[key], porcupine.Operation{Input: in, Call: int64(o.Call), Output: out, Return: end})
	if h.several && out.result == "marked" {
		h.of[key] = append(h.of[key], porcupine.Operation{Input: asked{office: o.Office, write: in.write, told: true},
			Call: end, Output: heard{}, Return: end})
	}
}

func (h *history) look(key string, o op, out heard) {
	h.of[key] = append(h.of[key],
		porcupine.Operation{Input: asked{office: o.Office, known: h.several && o.Office != ""},
			Call: int64(o.Call), Output: out, Return: int64(o.Return)})
}

// check reports the messages whose history no order explains.
func (h *history) check(found *findings, promise string, model porcupine.Model) (undecided int) {
	end := time.Now().Add(limitOfAll)
	for key, ops := range h.of {
		result := porcupine.Unknown
		if left := min(limit, time.Until(end)); left > 0 { // without, porcupine would search without end
			result = porcupine.CheckOperationsTimeout(model, ops, left)
		}
		found.judged(verdict{promise, key, result, model, ops})
		switch result {
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
