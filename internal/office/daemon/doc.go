// Package daemon is the post office: it opens rooms, listens, finds out who calls, and joins the packages that do the
// work to each other. Run is all of it; it owns every goroutine and returns when all have ended.
//
// What it starts depends on this order, and it stops in the reverse one: lock of the data directory, operator token,
// listeners, rooms (each on first use), HTTP. A stop ends waits and streams first, lets calls that change something
// finish, then closes the journals and gives the lock back last.
package daemon
