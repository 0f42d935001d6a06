// Package rooms has the rooms of this machine: it opens each on its first use, closes unused ones, and moves,
// removes and backs them up. It also runs whatever looks after an open room: its ringer, its bridges and the
// notifier of the person. It does not know who may enter a room as whom: callers borrow an Entry and give it back.
//
// Start with Set in set.go. rooms.go has the list of rooms, kind.go the location of each journal, cluster.go and
// move.go the rooms on NATS servers, peers.go the post offices of other machines.
package rooms
