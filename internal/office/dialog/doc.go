// Package dialog holds what the clients of agents ask their person at present, and brings the person's answer to the
// hook that waits for it. What is asked is held in memory and in a small file, outside of every journal, until it is
// settled. Start at Desk.
package dialog
