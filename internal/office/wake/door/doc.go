// Package door has the ways to make an agent look, each a wake.Waker in its own file: exec.go, webhook.go,
// opencode.go, claudesocket.go, codex.go, tmux.go, and listeners.go for processes that wait beside an agent. A door
// that needs a session finds it in package sessions, and decides whether it leads to one (reach.go).
//
// The package also reads facts about the same clients from the same files and sockets: an interrupted turn
// (claudenotes.go, copilotnotes.go), the window of a session (codexwindow.go), and how to show a session to the person
// who asks for it (front.go).
package door
