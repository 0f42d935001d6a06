package policy

import (
	"slices"

	"pennypost/internal/mail"
)

// Settles reports whether a reply settles a question of type asks, and how: if it is of the type that answers it, or
// an answer. The sender's right was checked when it was sent: without it, the reply is a suggestion.
func Settles(asks mail.Type, question mail.ID, reply *mail.Message) (mail.Outcome, bool) {
	by := asks.Rule().AnsweredBy
	switch {
	case reply.Suggests, by == "" || reply.ReplyTo != question || reply.Type != by && reply.Type != mail.Answer:
		return "", false
	case reply.Declines():
		return mail.Declined, true
	}
	return mail.Answered, true
}

// Chain follows waits from first, who waits for second; waits returns the agents that an agent waits for, the longest
// wait first. If second waits for first, directly or through others, the chain is the shortest way back. Otherwise it
// follows each agent's longest wait. circle reports whether the chain reached a name that it already has, which then
// ends the chain.
func Chain(first, second mail.Name, waits func(mail.Name) []mail.Name) (chain []mail.Name, circle bool) {
	before := map[mail.Name]mail.Name{second: first} // who waits for each, on the shortest way
	for reached := []mail.Name{second}; len(reached) > 0 && before[first] == ""; reached = reached[1:] {
		for _, n := range waits(reached[0]) {
			if _, known := before[n]; !known {
				before[n] = reached[0]
				reached = append(reached, n)
			}
		}
	}
	if before[first] != "" {
		chain = []mail.Name{first}
		for n := before[first]; n != first; n = before[n] {
			chain = append(chain, n)
		}
		chain = append(chain, first)
		slices.Reverse(chain)
		return chain, true
	}
	chain = []mail.Name{first}
	for n := second; ; {
		circle = slices.Contains(chain, n)
		chain = append(chain, n)
		next := waits(n)
		if circle || len(next) == 0 {
			return chain, circle
		}
		n = next[0]
	}
}

// Circle returns the shortest way from first, who waits for second, back to first, which is at both ends; nil if
// second does not wait for first. waits is as for Chain.
func Circle(first, second mail.Name, waits func(mail.Name) []mail.Name) []mail.Name {
	if chain, circle := Chain(first, second, waits); circle && chain[len(chain)-1] == first {
		return chain
	}
	return nil
}
