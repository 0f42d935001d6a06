// Package systemtest has no code: its tests use the binary as its users do, through its command line, its sockets
// and its files, and know nothing of the packages inside it except the words of package mail and the dialects'
// declarations.
//
// TestMain builds the binary once, without the race detector, because people run it so; GOFLAGS=-race in the
// environment adds it, and PENNYPOST_BIN names a binary built earlier. Each test has its own post office, in a
// directory with a short name, with an environment without any variable of an agent client, and no process outlives
// the test.
package systemtest
