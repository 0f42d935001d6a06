// Package listen opens the listeners of a post office: its Unix socket, TCP, TLS with its certificate, the socket
// for tokens. It counts the connections, and sheds those for which there are no file descriptors. It knows nothing
// of callers and handlers. Start with Open.
package listen
