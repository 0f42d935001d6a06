// Package check decides what may be done in a room. From a command, the caller, the state and the time it comes to the
// events that carry the command out, or to a refusal; who keeps the room appends them. It is pure, as fold is: it has
// no clock, no lock, no journal and no texts. What it cannot know without these, Rules ask for (which process runs) or
// its answer leaves open (where a text stands that decides).
//
// A View is where one begins to read: its methods are the commands, a file each. A send is in send.go, from its
// draft (Send) over what it appends (Plan.Events) to what became of it (Became). Who may speak as whom is in
// whence.go, where addresses lead in resolve.go, and what is too much in breaker.go, which alone remembers anything.
package check
