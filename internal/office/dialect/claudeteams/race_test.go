//go:build race

package claudeteams

// patience divides how much the stress tests do: the race detector looks at every byte of a file that grows.
const patience = 10
