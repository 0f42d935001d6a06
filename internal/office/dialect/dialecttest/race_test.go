//go:build race

package dialecttest_test

// patience divides the size of the huge room: the race detector takes ten times as long.
const patience = 5
