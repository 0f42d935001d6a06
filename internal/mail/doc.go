// Package mail is the vocabulary of Pennypost: messages, addresses, agents, receipts and events as Go values,
// and Service, the one contract through which every door reaches a room.
//
// It holds values and rules about single values only. What follows from several of them at a moment in time
// (expiry, audience, waking, retention) is package policy; who owns live state is package mailroom.
// It imports the standard library only.
package mail
