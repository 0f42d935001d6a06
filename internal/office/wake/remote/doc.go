// Package remote rings agents of machines that have no post office of their own, over a connection that each of them
// keeps open (link.go). Machines is the end in the post office, and has a wake.Waker for each door that is offered;
// Relay is the other end, and rings its machine's doors.
package remote
