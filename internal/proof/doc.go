// Package proof puts real processes of Pennypost under faults and checks the outcome against the promises P1 to P12.
// It has no code outside its tests and is no part of the program; docs/proof.md describes it and its limits.
package proof
