// Package journaltest checks any journal against the contract in package journal, and has one in memory.
package journaltest

import (
	"testing"

	"pennypost/internal/room/journal"
)

// Opener opens the journal in dir, which is empty at first. It is called again with the same dir after that journal
// was closed, and must then find all acknowledged events. It fails the test if it cannot.
type Opener func(t *testing.T, dir string) journal.Journal

// Run tests a journal against the contract, including the optional parts that it implements.
func Run(t *testing.T, open Opener) {
	tests := []struct {
		name string
		run  func(*testing.T, *fixture)
	}{
		{"Append", testAppend},
		{"AppendNothing", testAppendNothing},
		{"AppendRefused", testAppendRefused},
		{"Behind", testAppendAfter},
		{"Reopen", testReopen},
		{"LiveEqualsReplay", testLiveEqualsReplay},
		{"ConcurrentWriters", testConcurrentWriters},
		{"Cancel", testCancel},
		{"FollowReplayThenLive", testFollowReplayThenLive},
		{"FollowFrom", testFollowFrom},
		{"FollowManyDuringAppends", testFollowManyDuringAppends},
		{"NextEndsWithContext", testNextEndsWithContext},
		{"Read", testRead},
		{"ReadCompacted", testReadCompacted},
		{"ReadBesideCompaction", testReadBesideCompaction},
		{"Replay", testReplay},
		{"Close", testClose},
		{"CloseWaitsForAppends", testCloseWaitsForAppends},
		{"Compact", testCompact},
		{"CompactKeepsLastAndUnknown", testCompactKeepsLastAndUnknown},
		{"CompactAgain", testCompactAgain},
		{"CompactBesideLookups", testCompactBesideLookups},
		{"CompactUnderCursor", testCompactUnderCursor},
		{"CompactDuringAppends", testCompactDuringAppends},
		{"CompactCancelled", testCompactCancelled},
		{"Erase", testErase},
		{"EraseLast", testEraseLast},
		{"ArchivedFrom", testArchivedFrom},
		{"ArchivedInParts", testArchivedInParts},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := &fixture{T: t, open: open, dir: t.TempDir()}
			b.Journal = open(t, b.dir)
			t.Cleanup(func() { b.Journal.Close() })
			test.run(t, b)
		})
	}
}
