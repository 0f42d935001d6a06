// Package caller has the rooms as those who call see them: whom the gate has identified gets a room that speaks as it,
// whether the room is of this machine or, in a relay, of the post office far away. It finds out which agent a session
// is, and tells rooms of sessions' ends that no hook tells of.
//
// Start with Rooms in caller.go, which is the mail.Office of the daemon, and Room in room.go, through which each call
// goes. hooks.go is where a hook's event comes in; place.go, windows.go and teammates.go say which agent it is of.
package caller
