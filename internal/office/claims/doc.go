// Package claims has agents claim what their tools write, and notices what was written otherwise. Which files a call
// writes says package edits, where these are package worktree; who holds what the room decides.
package claims
