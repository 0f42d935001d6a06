//go:build race

package claudeteams

// patience divides the work of the stress tests: the race detector checks every byte of a growing file.
const patience = 10
