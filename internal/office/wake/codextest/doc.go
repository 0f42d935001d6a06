// Package codextest imitates the outside of Codex 0.169.0: windows that share one server, which runs hooks, MCP
// servers and shells for all of them with the variables of one, and the socket on which that server answers. The
// behaviour was observed in the real client (internal/realclient, TestClients/codex).
package codextest
