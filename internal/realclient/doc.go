// Package realclient tries Pennypost with the real agent clients. ./test clients installs them and runs its tests.
//
// Each scenario (told at start, Esc in a tool, …) is written once, in scenarios_test.go, and run with every client.
// The differences between clients are in a value of type client, in a file for each client, such as claude_test.go.
// Post office, clients and a scripted model (package model) run in a network namespace without a way out, each
// scenario in a home of its own. A scenario checks the model's input, byte for byte, the journal's events, and the
// files and processes that the client left. The results go into the table of docs/clients-evidence.md.
//
// The wake kit (wakekit_test.go, ./test wake-kit) asks part of this of any bus between agents, through a program in
// buses that follows the contract of docs/wake-kit.md.
package realclient
