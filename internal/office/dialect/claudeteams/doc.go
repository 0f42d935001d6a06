// Package claudeteams speaks the files of Claude Code's agent teams.
//
// A team is a directory ~/.claude/teams/<team> with a config.json that lists its members and inboxes/<member>.json, an
// array of messages for each recipient. A bridge onto such a directory brings every message into the room and hands
// members what somebody outside of the team writes to them. Claude Code runs its own teams, so
// only new entries are written there. The verbs of this package run teams that Pennypost made ("pennypost team
// create").
//
// Described by seeds/004_…txt (captures of February 2026; here the wire "seed") and by what later releases up to
// 2.1.330 write (here the wire "native"). Where this package differs is said in
// docs/dialects/claudeteams.md.
package claudeteams
