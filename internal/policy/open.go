package policy

import (
	"slices"

	"pennypost/internal/mail"
)

// Settles reports whether a message settles what a question of some type asks, and how: by being a reply to it of the
// type that answers it, or an answer. Whether its sender has the right to was found out when it was sent: if not, it
// is a suggestion.
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

// Chain follows who waits for whom from first, who waits for second, on; waits returns whom somebody waits for, the
// longest first. If second waits for first, itself or through others, the chain is the shortest way back. Else it goes
// by the longest wait of each. circle reports whether it came to a name that it has already, which then ends the
// chain.
func Chain(first, second mail.Name, waits func(mail.Name) []mail.Name) (chain []mail.Name, circle bool) {
	before := map[mail.Name]mail.Name{second: first} // who was asked by whom, on the shortest way
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

// Circle returns the shortest way from first, who waits for second, back to first, which stands at both of its ends;
// nil: second does not wait for first. waits is as for Chain.
func Circle(first, second mail.Name, waits func(mail.Name) []mail.Name) []mail.Name {
	if chain, circle := Chain(first, second, waits); circle && chain[len(chain)-1] == first {
		return chain
	}
	return nil
}
