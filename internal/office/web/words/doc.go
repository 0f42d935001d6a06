// Package words says on the pages what is: times, names, states and what became of mail, in the fewest words, and the
// colour and letters by which an agent is known. It renders no page and asks no room; templates call what Functions
// lists. Start at format.go.
package words
