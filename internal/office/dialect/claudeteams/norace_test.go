//go:build !race

package claudeteams

const patience = 1
