// Package codexdialogs puts the dialogs of Codex sessions that share an app-server on the person's desk, and answers
// them there, beside the client's own dialog. Start at Watch.
//
// The post office has one connection to the app-server of a home. It stays passive: it joins a thread while the server
// says that the thread waits for its person, then receives the requests, and replies once to a request that the person
// has answered on the desk, and to no other. The first reply that the server gets counts, from any client. Seen with
// Codex 0.169.0.
package codexdialogs
