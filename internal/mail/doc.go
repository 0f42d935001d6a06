// Package mail defines Pennypost's vocabulary as Go values (messages, addresses, agents, receipts and events) and
// Service, the contract through which every door reaches a room.
//
// It has only values and rules about single values. Rules that combine several values at a moment in time (expiry,
// audience, waking, retention) are in package policy; live state belongs to package mailroom. It imports the
// standard library only.
package mail
