// Package wake rings the doors of agents that have mail and do not look by themselves.
//
// A Ringer serves one room. For every agent with a door it keeps promise P8: while mail that should wake the agent is
// neither read nor presented and the agent is not working, a ring is outstanding, or the user was told that ringing
// failed. An agent has at most one outstanding ring. Mail that arrives in the meantime causes no other ring; the next
// ring covers it. That follows within two minutes, even if older mail would have waited longer.
//
//   - A ring that no door took is retried after a second, backing off by doubling, up to five minutes.
//   - A ring that a door took is outstanding until the agent is handed its mail or reads it. If the agent instead
//     begins a turn and ends it with the mail unread, or reads a part of it and more arrives, it is rung again
//     immediately. If it does nothing, it is rung again after two minutes, then after twice as long each time,
//     starting with the next of its doors.
//   - An agent that works, or is frozen, is not rung.
//   - Unanswered rings have an hourly budget. A ring over the budget is deferred.
//   - After eight failures, or five rings without effect, the user gets a message that names the doors and their
//     answers. Failing doors are still tried; an agent that does not react is left alone until more mail arrives or it
//     ends a turn.
//
// Everything is computed from the room, so nothing is lost with the process: rings are receipts in the journal.
//
// This package decides and calls a Waker, but has none. ringer.go watches the room and acts; sleeper.go has the facts
// about one agent, and decides; news.go applies the journal's events; notice.go writes to the user. The doors are in
// door, those of other machines in remote, and the facts about sessions in sessions.
package wake
