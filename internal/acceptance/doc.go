// Package acceptance has no code: its tests are five programs, one for each earlier system that Pennypost replaces.
// Each goes through the checklist of that system's document, item by item, with the real binary as a process: its
// command line, MCP over stdio and HTTP, its routes and pages, and the files on disk. It imports none of the internal
// packages.
//
// An item has its number in the checklist, the document's requirement in a few words, and a function that tries it. It
// also states where Pennypost differs, and why someone who comes from the original can live with that.
// docs/dialects/acceptance.md is generated from the items:
//
//	go test ./internal/acceptance -run TestTable -update
package acceptance
