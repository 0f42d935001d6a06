// Package policy decides when mail expires, who is in an audience, who gets the next role message, which agents are
// woken, and which messages a full room removes. Every function is pure: from facts, rules and the time it makes a
// decision.
package policy
