// Package realclient tries Pennypost with the real agent clients. ./test clients installs them and runs its tests.
//
// Each scenario (told at start, Esc in a tool, …) is written once, in scenarios_test.go, and run with every client.
// What differs between clients is a value of type client, in a file of its own: claude_test.go and its like. Post
// office, clients and a scripted model (package model) run in a network namespace from which nothing outside can be
// reached, each scenario in a home of its own. A scenario holds what the model was given, byte for byte, what the
// journal says of it, and what the client left behind. What was seen is written into the table of
// docs/clients-evidence.md.
//
// The wake kit (wakekit_test.go, ./test wake-kit) asks some of it of any bus between agents, behind a program in buses
// that has the contract of docs/wake-kit.md.
package realclient
