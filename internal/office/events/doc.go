// Package events tells programs what happens in a room, as MCP's Events extension has it
// (io.modelcontextprotocol/events, SEP-3415): which types of events there are, what happened behind a cursor, and
// signed POSTs to addresses that subscribed. The protocol around it is package mcpserver's.
//
// An occurrence is a pointer to what is in the room, and never text of mail: it rings, and whoever wants to read calls
// a tool. A cursor is a sequence number of the room's journal. Nothing is kept of who polls or streams.
package events
