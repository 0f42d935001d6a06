// Package hooktest plays the agents' clients: a Harness has a session with turns and tools as a client has, runs its
// hooks with the input that the client is documented to give them, and does with their output what the client is
// documented to do: it refuses what the client refuses, drops what the client drops, and ends a turn that hooks keep
// going for too long.
//
// What reached the model is remembered, so that tests can say what an agent knows. The documents are named in
// docs/clients-evidence.md.
package hooktest
