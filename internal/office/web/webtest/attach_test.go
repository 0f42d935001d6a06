package webtest

import "testing"

// TestOpenSession tests that a press shows where the session is, or how to resume it, and that this stays when mail
// arrives.
func TestOpenSession(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle", "--client", "claude-code", "--session", "0a1b")
	id := r.send("builder-1", "user", "It is done.", "--subject", "Done")
	p := r.person(1280, 800)
	p.click("#row-" + id)
	p.sees("#letter", "It is done.")
	p.click("#act-session")
	p.sees("#session-how", "This reopens the last one")
	p.sees("#session-how code", "claude --resume 0a1b")
	r.send("builder-1", "user", "And this.", "--reply-to", id)
	p.sees("#letter", "whole thread, 2 messages")
	p.sees("#session-how code", "claude --resume 0a1b")
	p.click("#session-how button")
	p.until(`document.getElementById("announce").textContent.includes("Cop")`)
}

// TestNoSession tests that a press says so if the agent has no session.
func TestNoSession(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle")
	id := r.send("builder-1", "user", "It is done.", "--subject", "Done")
	p := r.person(1280, 800)
	p.click("#row-" + id)
	p.sees("#letter", "It is done.")
	p.click("#act-session")
	p.sees("#session-how", "There is no session to show")
	p.is(`(({ top, bottom }) => top >= 0 && bottom <= innerHeight)(document.getElementById("session-how").getBoundingClientRect())`)
}
