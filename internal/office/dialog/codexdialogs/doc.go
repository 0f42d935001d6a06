// Package codexdialogs has the dialogs of Codex's sessions that share an app-server on the person's desk, and answers
// them there, beside the dialog that the client shows. Start at Watch.
//
// The post office has one connection to the app-server of a home, which is silent: it joins a thread while the server
// says that the thread waits for its person, is then sent what is asked, and replies to that if the person has
// answered from the desk, once, and to nothing else. The first reply that the server gets counts, whoever sent it.
// Seen with Codex 0.169.0.
package codexdialogs
