// Package load puts one real post office under many clients at once, and looks at what they lost, and at what of them
// is left in the process when they have gone. It has no code outside its tests and is no part of the program.
//
//	go test -count=1 -timeout 15m -v ./internal/proof/load -args -duration 3m
//	go test -count=1 -timeout 65m -v -run TestSoak ./internal/proof/load -args -soak 60m
package load
