// Package rooms has the rooms of this machine: it opens each on its first use, closes those that nobody needs, and
// moves, removes and backs them up; and it runs what looks after an open room, which are its ringer, its bridges and
// what tells the person. Who may enter a room as whom is not known here: callers borrow an Entry and give it back.
//
// Start with Set in set.go. rooms.go has which rooms there are, kind.go where the journal of each is, cluster.go and
// move.go those on NATS servers, peers.go the post offices of other machines.
package rooms
