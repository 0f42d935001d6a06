//go:build !race

package dialecttest_test

const patience = 1
