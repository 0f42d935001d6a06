// Package fold is what follows from the events of a room's journal: the roster, the mailboxes, what was marked, asked
// and settled.
//
// A State begins empty, and Apply takes in one event after the other; nothing else changes what is in it. So two
// machines that have applied the same events have the same state (P3 of docs/design.md), and so has one that is
// rebuilt from the events of a checkpoint (State.Checkpoint) and those after it. What depends on the time takes the
// time; what depends on how a machine can wake somebody is asked of a Sight.
//
// There is no clock here, no lock, no context and no goroutine: internal/arch holds that. A State that several
// goroutines use needs a lock, which package mailroom has. Begin reading with State, Record and Member in state.go,
// then apply.go.
package fold
