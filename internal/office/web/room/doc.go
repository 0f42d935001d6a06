// Package room is the pages of a room: its agents, channels, history, threads and stuck mail. Each page is a file;
// talk.go is shared by the pages of an agent and of a channel, and stuck_*.go find the groups that stuck.go shows and
// mends. Start at Pages.
package room
