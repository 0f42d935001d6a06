//go:build race

package dialecttest_test

// patience divides how large the huge room is: the race detector takes ten times the time.
const patience = 5
