// Package acceptance has no code: its tests are five programs, one for each earlier system that Pennypost replaces.
// Each goes through the checklist of that system's document, item by item, with the real binary as a process: its
// command line, MCP over stdio and HTTP, its routes and pages, and the files on disk. It knows none of the packages
// inside.
//
// An item has the number of the checklist, what the document says in a few words, and a function that tries it. What
// Pennypost does otherwise, and why somebody who comes from the original can live with it, is part of the item.
// docs/dialects/acceptance.md is made of that:
//
//	go test ./internal/acceptance -run TestTable -update
package acceptance
