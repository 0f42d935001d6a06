// Package events tells programs of events in a room, as MCP's Events extension defines it
// (io.modelcontextprotocol/events, SEP-3415): the types of events, the events after a cursor, and signed POSTs to
// subscribed addresses. Package mcpserver implements the protocol around it.
//
// An occurrence points to something in the room and never contains text of mail: it rings, and a reader calls a
// tool. A cursor is a sequence number of the room's journal. Polls and streams leave no saved state.
package events
