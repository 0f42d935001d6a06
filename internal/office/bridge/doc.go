// Package bridge keeps a room in step with foreign mailboxes on disk.
//
// A Bridge follows the room's journal and writes what it says to its dialect's files before a sender gets its answer.
// It also watches the files and brings into the room what others wrote there. It keeps one number of its own: up to
// where the files have what the journal says. After a crash some events are brought to the files again, and what
// others wrote is read again; this does no harm, because both ends know what they have.
//
// It knows a room by three things that it needs of one (Room) and files by dialect.Files. One starts to read at
// Bridge.Run: inward.go brings news into the room, outward.go changes into the files, place.go sees to it that the
// directory is the one that the person named. A Set runs the bridges of one room.
package bridge
