// Package wake rings the doors of agents that have mail and do not look by themselves.
//
// A Ringer looks after one room. For every agent with a door it holds to promise P8: while mail that should wake the
// agent is neither read nor presented and the agent does not work, a ring is outstanding, or the user was told that
// ringing failed. At most one ring is outstanding for an agent. Mail that comes in the meantime causes no other ring;
// the next ring covers it. That comes within two minutes, even if older mail would have waited longer.
//
//   - A ring that no door took is tried again: after a second, then twice as long each time, up to five minutes.
//   - A ring that a door took is outstanding until the agent is handed its mail or reads it. If the agent instead
//     begins a turn and ends it with the mail unread, or reads a part of it and more comes, it is rung again at once.
//     If it does nothing, it is rung again after two minutes, then twice as long each time, beginning with the next of
//     its doors.
//   - An agent that works, or is frozen, is not rung.
//   - Rings that are not answered have a budget, by the hour. A ring over the budget is put off.
//   - After eight failures, or five rings without effect, the user gets a message that names the doors and what they
//     answered. Failing doors continue to be tried; an agent that does not react is left alone until more mail comes
//     or it ends a turn.
//
// Everything is computed from the room, so nothing is lost with the process: rings are receipts in the journal.
//
// This package decides and asks a Waker, and knows none. ringer.go watches the room and acts; sleeper.go is what is
// known of one agent, and decides; news.go takes in what the journal tells; notice.go is what the user is told. The
// doors are in door, those of other machines in remote, and what is known of sessions in sessions.
package wake
