// Package wake rings the doors of agents that have mail and do not look by themselves.
//
// A Ringer looks after one room. For every agent with a door it holds to promise P8: while mail that is worth waking
// the agent is unread and the agent does not work, a ring is outstanding, or the user was told that it is in vain. At
// most one ring is outstanding for an agent. Mail that comes meanwhile raises no other, and is told of by the next.
//
//   - A ring that no door took is tried again: after a second, then twice as long each time, up to five minutes.
//   - A ring that a door took is outstanding until the agent is handed its mail or reads it. If it begins a turn instead and ends that
//     with the mail unread, it is rung at once; if it does nothing, after two minutes, then twice as long each time. The next of its doors is tried first.
//   - Nothing rings while the agent works, or is frozen.
//   - Successful rings have a budget, by the hour. One over it is put off.
//   - After eight failures, or five rings in vain, the user gets a message that names the doors and what they answered. Failing doors
//     are tried on; an agent that does not react is left alone until more mail comes or a turn of its ends.
//
// Everything is computed from the room, so that nothing is lost with the process: rings are receipts in the journal.
//
// Each kind of door is a file: exec.go, webhook.go.
package wake
