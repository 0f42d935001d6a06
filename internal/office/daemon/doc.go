// Package daemon is the post office: it opens rooms, listens, identifies callers, and connects the packages that do
// the work. Run is all of it; it owns every goroutine and returns when all have ended.
//
// It starts in this order, and stops in the reverse one: lock of the data directory, operator token, listeners,
// rooms (each on first use), HTTP. A stop ends waits and streams first, lets calls that change something finish,
// then closes the journals and releases the lock last.
package daemon
