// Package natsd is the process that runs the NATS server of a machine of a cluster. It makes and joins clusters,
// keeps the list of their machines, and answers "pennypost cluster" on a Unix socket.
//
// Start at natsd.go. server.go has the server and its access rights; list.go the list of machines, which is on the
// servers themselves; join.go, remove.go and tend.go the changes to it and their consequences.
package natsd
