// Package load puts many clients on one real post office at the same time, and checks what they lost, and what of
// them is left in the process after they have gone. It has no code outside its tests and is no part of the program.
//
//	go test -count=1 -timeout 15m -v ./internal/proof/load -args -duration 3m
//	go test -count=1 -timeout 65m -v -run TestSoak ./internal/proof/load -args -soak 60m
package load
