// Package haak implements HAAK's Agent Mailbox Protocol, as its document "31. Agent Mailbox Protocol" of 2026-03-16
// with the amendment of 2026-03-17 describes it (haak.world, memos/agent-mailbox). Its scripts are not public: flags
// and roster fields beyond the document are those that neighbouring memos quote.
//
// Its files are in data/ below the project: agent-mailbox.jsonl, agent-mailbox-reads.jsonl, agent-roster.jsonl and
// agent-mailbox-archive/YYYY-MM.jsonl. They only grow, except when messages move to the archive.
//
// A HAAK session is an agent, named by the session's id. "live" is idle or working, "frozen" is frozen, "dead" is
// gone. All live holders of a role see its mail until one has read it (mail.AudienceHolders).
//
// Where Pennypost differs:
//   - --session-id acts as that agent, and a reader is the agent that the post office knows the caller to be.
//   - Erasing a message, which HAAK does not know, removes its line from the files.
//   - A message to an agent expires after 7 days if it came from other files, or predates the room's use of HAAK's
//     files, and has no time to live; the file then says ttl_hours 168.
//
// docs/dialects/haak.md has the whole list.
package haak
