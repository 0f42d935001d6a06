// Package room is the pages of what is in one room: its agents, its channels, its history and threads, and what is
// stuck in it. A place is a file; talk.go is what the pages of an agent and of a channel have in common, and
// stuck_*.go find the groups that stuck.go shows and mends. Start at Pages.
package room
