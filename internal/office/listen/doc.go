// Package listen opens what a post office is reached at: its Unix socket, TCP, TLS with its certificate, the socket
// for tokens. It counts the connections, and sheds those for which there are no file descriptors. It knows nothing of
// who calls and what is served. Start with Open.
package listen
