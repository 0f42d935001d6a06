// Package systemtest has no code: its tests treat the binary as its users do, through its command line, its sockets
// and its files, and know nothing of the packages inside it but the words of package mail and what the dialects
// promise.
//
// TestMain builds the binary once, without the race detector, because what is tested here is what people run;
// GOFLAGS=-race in the environment builds it with, and PENNYPOST_BIN names one that was built before. Each test has a
// post office of its own, in a directory with a short name, an environment in which no variable of an agent client is
// left, and no process that outlives it.
package systemtest
