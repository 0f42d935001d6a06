package dialect

// cuts reports whether a client is known to cut an answer longer than fence.Budget before its model sees it. A
// letter that such a client cut would count as presented. ./test clients finds them (realclient, "whole"): of 93 KB
// Codex 0.169.0 gave its model 12, and Claude Code 2.1.330 all.
func cuts(client string) bool { return client == "codex" }
