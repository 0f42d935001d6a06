// Package caller provides the rooms to callers: a caller that the gate has identified gets a room that speaks with its
// name, on this machine or, in a relay, in the remote post office. The package finds the agent of a session, and tells
// rooms about ends of sessions that no hook reports.
//
// Start with Rooms in caller.go, the mail.Office of the daemon, and Room in room.go, which handles each call. Hook
// events arrive in hooks.go; place.go, windows.go and teammates.go find their agent.
package caller
