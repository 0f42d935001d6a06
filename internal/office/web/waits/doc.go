// Package waits says on the pages who waits for whom: their open questions as links, and the chains and circles that
// these make. The roster, the stuck page and the flow show them. Start at In.
package waits
