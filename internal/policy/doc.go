// Package policy decides: when mail expires, who is in an audience, whose turn a role message is, who is woken, what a
// full room lets go. Every function is pure: facts, rules and the time go in, a decision comes out.
package policy
