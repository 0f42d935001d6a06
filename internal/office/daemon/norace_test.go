//go:build !race

package daemon_test

const patience = 1
