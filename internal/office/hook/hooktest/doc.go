// Package hooktest imitates the agents' clients. A Harness has a session with turns and tools, runs its hooks with the
// documented input of its client, and treats their output as the client is documented to: it rejects what the client
// rejects, drops what the client drops, and ends a turn that hooks keep going for too long.
//
// It records the text that reached the model, so that tests can check what an agent knows. docs/clients-evidence.md
// names the sources.
package hooktest
