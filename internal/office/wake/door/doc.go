// Package door has the ways to make an agent look, each a wake.Waker in a file of its own: exec.go, webhook.go,
// opencode.go, claudesocket.go, codex.go, tmux.go, and listeners.go for processes that wait beside an agent. A door
// that needs a session finds it in package sessions, and says by itself whether it leads to one (reach.go).
//
// Beside the doors stands what is known of the same clients by the same files and sockets: that a turn was broken
// off (claudenotes.go, copilotnotes.go), in which window a session is (codexwindow.go), and how a session is brought
// before the person who asks for it (front.go).
package door
