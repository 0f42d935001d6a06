// Package waits shows who waits for whom: open questions as links, and their chains and circles, and claims. The
// roster, the stuck page and the flow use it. Start at In.
package waits
