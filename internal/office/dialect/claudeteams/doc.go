// Package claudeteams reads and writes the files of Claude Code's agent teams.
//
// A team is a directory ~/.claude/teams/<team> with a config.json that lists its members and inboxes/<member>.json,
// an array of messages for each recipient. A bridge to such a directory brings every message into the room and
// delivers mail from outside the team to its members. Claude Code runs its own teams, so the bridge only adds and
// removes entries there. The verbs of this package run teams that Pennypost made ("pennypost team create").
//
// The format is described by seeds/004_…txt (captures of February 2026; here the wire "seed") and by the output of
// later releases up to 2.1.330 (here the wire "native"). docs/dialects/claudeteams.md lists where this package
// differs.
package claudeteams
