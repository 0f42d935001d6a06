// Package codextest plays Codex 0.169.0 as it looks from outside: windows that share one server, which runs hooks, MCP
// servers and shells for all of them with the variables of one, and the socket on which that server answers. What it
// plays was seen of the real client (internal/realclient, TestClients/codex).
package codextest
