// Package flow is the flow page: the mail of some hours as a sequence or by who talks to whom, and the current waits
// and claims. Package picture computes the drawings. Start at Pages.
package flow
