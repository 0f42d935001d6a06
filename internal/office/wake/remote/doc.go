// Package remote rings agents on machines without a post office of their own, over a connection that each of them
// keeps open (link.go). Machines is the post office's end, and has a wake.Waker for each offered door; Relay is the
// other end, and rings its machine's doors.
package remote
