// Package fold derives the state of a room from the events of its journal: the roster, the mailboxes, the marks, the
// questions and their answers.
//
// A State begins empty, and Apply takes in one event after the other; nothing else changes its content. So two
// machines that have applied the same events have the same state (P3 of docs/design.md), and so has one that is
// rebuilt from the events of a checkpoint (State.Checkpoint) and those after it. Functions whose result depends on
// the time take the time; those that depend on how a machine can wake someone are methods of Sight.
//
// There is no clock here, no lock, no context and no goroutine: internal/arch enforces that. A State that several
// goroutines use needs a lock, which package mailroom has. Begin reading with State, Record and Member in state.go,
// then apply.go.
package fold
