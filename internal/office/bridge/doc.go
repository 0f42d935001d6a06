// Package bridge keeps a room in sync with foreign mailboxes on disk.
//
// A Bridge follows the room's journal and writes its events into its dialect's files before a sender gets its
// answer. It also watches the files and brings others' changes into the room. It keeps one number of its own, its
// cursor: the files have the journal's events up to it. After a crash some events are replayed to the files, and
// others' changes are read again; this is harmless, because both sides know what they have.
//
// It uses a small interface of a room (Room) and dialect.Files. Start reading at Bridge.Run: inward.go brings news
// into the room, outward.go writes changes into the files, place.go checks that the directory is the one that the
// person named. A Set runs the bridges of one room.
package bridge
