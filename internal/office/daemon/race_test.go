//go:build race

package daemon_test

// patience divides the number of histories to try: the race detector takes ten times as long.
const patience = 10
