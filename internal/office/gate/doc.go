// Package gate decides who a caller is and how that is known, and lets callers into rooms. Every door of the post
// office (HTTP, hooks, MCP, dialects, relays, pages) asks it, and nothing else gets a room for a caller: internal/arch
// enforces that. docs/security.md has its rules as a table; each line of it is a test.
package gate
