//go:build race

package daemon_test

// patience divides how many histories are tried: the race detector takes ten times the time.
const patience = 10
