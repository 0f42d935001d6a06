// Package jetstream keeps a journal as a stream of a NATS JetStream cluster, and a copy of it in a file, so that post
// offices on many machines have the same rooms. docs/journal.md has the layout, the headers and what each crash
// leaves.
//
// # Who owns what
//
// A Cluster is the connection of a post office. Each Journal has flights, which send what is queued and end when there
// is nothing more (writer.go), and a follower, which places what the servers deliver in the copy (follower.go). Both
// place under Journal.placing, so that the copy grows in the order of the stream: a flight when it has the answer of
// the servers and the copy ends directly before, the follower everything else. The copy is a jsonl.Journal, and
// answers all that is read.
//
// Over each new connection the follower compares the copy with the stream (heal.go) before a flight may use it.
//
// Locks are taken in this order: Journal.placing, those of the copy, Journal.mu, Cluster.mu.
package jetstream
