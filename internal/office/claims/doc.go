// Package claims claims the files that agents' tools write, and notices other writes. Package edits determines the
// files of a call, package worktree their location, and the room who holds them.
package claims
