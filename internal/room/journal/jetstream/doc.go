// Package jetstream keeps a journal as a stream of a NATS JetStream cluster, and a copy of it in a file, so that post
// offices on many machines have the same rooms. docs/journal.md has the layout, the headers and the effect of each
// crash.
//
// # Who owns what
//
// A Cluster is the connection of a post office. Each Journal has flights, which send the queue and end when it is
// empty (writer.go), and a follower, which places delivered messages in the copy (follower.go). Both place under
// Journal.placing, so that the copy grows in the order of the stream: a flight places its own events when it has the
// servers' answer and the copy ends directly before them, the follower everything else. The copy is a jsonl.Journal,
// and serves all reads.
//
// Over each new connection the follower compares the copy with the stream (heal.go) before a flight may use it.
//
// Locks are taken in this order: Journal.placing, those of the copy, Journal.mu, Cluster.mu.
package jetstream
