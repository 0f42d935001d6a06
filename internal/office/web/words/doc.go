// Package words puts times, names, states and deliveries into the fewest words for the pages, and gives each agent
// its initials. It renders no page and queries no room; templates call the functions listed in Functions. Start at
// format.go.
package words
