// Package check decides what may be done in a room. From a command, the caller, the state and the time it computes
// the events that carry the command out, or a refusal; the caller that keeps the room appends them. It is pure, as
// fold is: it has no clock, no lock, no journal and no texts. For anything that it cannot know without these it asks
// Rules (which process runs) or leaves its answer open (where the text that decides is).
//
// Begin reading at View: its methods are the commands, a file each. A send is in send.go, from its draft (Send)
// through the events it appends (Plan.Events) to its outcome (Became). Who may speak as whom is in whence.go, address
// resolution in resolve.go, and limits are in breaker.go, the only part with a memory.
package check
