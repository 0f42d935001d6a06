// Package dialog has the open questions of agents' clients to their person, and passes the person's answer to the
// waiting hook. A question is kept in memory and in a small file, not in a journal, until it is settled. Start at
// Desk.
package dialog
