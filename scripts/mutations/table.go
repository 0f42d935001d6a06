package main

import "slices"

// The packages of most tests.
const (
	mailroom  = "internal/room/mailroom"
	jsonl     = "internal/room/journal/jsonl"
	jetstream = "internal/room/journal/jetstream"
	wake      = "internal/office/wake"
)

// table has the mutations, in the order of the promises.
var table = slices.Concat(mailTable, peopleTable)

// mailTable has those of P1 to P7: mail is neither lost nor forged, and is seen.
var mailTable = []mutation{
	{
		name: "answer-before-sync", breaks: "P1: a power cut loses acknowledged mail",
		file: "internal/room/journal/jsonl/writer.go",
		old:  `} else if err := j.file.Sync(); err != nil {`,
		new:  `} else if err := error(nil); err != nil {`,
		pkg:  jsonl, test: "TestPowerCuts",
	},
	{
		name: "write-beside-the-path", breaks: "P1: acknowledged mail is not in the file at the mailbox's path",
		file: "internal/room/journal/jsonl/writer.go",
		old:  `if j.inPlace(at + int64(len(j.buf))) {`,
		new:  `if true {`,
		pkg:  jsonl, test: "TestOpenFileIsTheTruth",
	},
	{
		name: "torn-line-stays", breaks: "P1: a crash leaves half a line of a failed send in the mailbox",
		file: "internal/room/journal/jsonl/recover.go",
		old:  `if torn.whole || len(torn.salvage()) > 0 {`,
		new:  `if true {`,
		pkg:  jsonl, test: "TestCutAnywhere",
	},
	{
		name: "key-not-remembered", breaks: "P2: a send repeated with the same key arrives twice",
		file: "internal/room/fold/apply.go",
		old:  `k.Key != "" && s.SentBefore(k) || `,
		new:  ``,
		pkg:  mailroom, test: "TestP2_LoserIsNeverKept",
	},
	{
		name: "keys-leave-with-mail", breaks: "P2: it also does so if the first message was trimmed",
		file: "internal/room/mailroom/keep.go",
		old:  `append(r.state.SettledGoing(ids, now), r.state.Spend(ids, now)...)`,
		new:  `r.state.SettledGoing(ids, now)`,
		pkg:  mailroom, test: "TestP2_KeysOutliveRetention",
	},
	{
		name: "loser-is-kept", breaks: "P2: after a compaction, mail counts that was refused as a duplicate",
		file: "internal/room/mailroom/keep.go",
		old:  `case r.state.IsVoid(e.Seq):`,
		new:  `case false:`,
		pkg:  mailroom, test: "TestP2_LoserIsNeverKept",
	},
	{
		name: "on-its-way-is-lost", breaks: "P2: trimmed mail cannot be found until it is in the archive",
		file: "internal/room/fold/checkpoint.go",
		old: `			s.Leaving[id] = r
`,
		new: ``,
		pkg: mailroom, test: "TestP11_KilledBeforeCompaction",
	},
	{
		name: "written-anywhere", breaks: "P3: an event is stored although it was checked against an older state",
		file: "internal/room/journal/jetstream/writer.go",
		old:  `first.Header[header] = []string{strconv.FormatUint(at, 10)}`,
		new:  `_, _ = header, at`,
		pkg:  jetstream, test: "TestBehindWhileOthersWrite",
	},
	{
		name: "leader-lags", breaks: "P3: events have other sequence numbers on a machine that hears of them late",
		file: "internal/room/journal/jetstream/feed.go",
		old:  `if err == nil && l.info.State.LastSeq >= t.from {`,
		new:  `if err == nil {`,
		pkg:  jetstream, test: "TestLeaderLags",
	},
	{
		name: "old-consumer-delivers", breaks: "P3: a machine that connects again misses events",
		file: "internal/room/journal/jetstream/feed.go",
		old:  `if f.inbox != b {`,
		new:  `if false {`,
		pkg:  jetstream, test: "TestOldConsumer",
	},
	{
		name: "erased-is-not-counted", breaks: "P3: after a restoration, events have other numbers on a machine",
		file: "internal/room/journal/jetstream/lane.go",
		old:  `if len(l.holes) != known {`,
		new:  `if false {`,
		pkg:  jetstream, test: "TestErasedWhileCounted",
	},
	{
		name: "erased-counts-twice", breaks: "P1: an event after an erasure is not on a machine that opens the room",
		file: "internal/room/journal/jetstream/replay.go",
		old: `if l.shared {
		end = `,
		new: `if false {
		end = `,
		pkg: jetstream, test: "TestErasedSoon",
	},
	{
		name: "erased-not-counted", breaks: "P3: after an erasure, machines number the events differently",
		file: "internal/room/journal/jetstream/lane.go",
		old:  `k.last.Seq + k.lane.holes.between(k.last.At, at) + 1}`,
		new:  `k.last.Seq + 1}`,
		pkg:  jetstream, test: "TestP5_ErasedIsNotSentAgain",
	},
	{
		name: "erased-before-noted", breaks: "P3: they also do so during an erasure",
		file: "internal/room/journal/jetstream/erase.go",
		old: `			if err := j.cluster.record(ctx, l, x.hole); err != nil {
				return err
			}
`,
		new: ``,
		pkg: jetstream, test: "TestP5_ErasedIsNotSentAgain",
	},
	{
		name: "goes-on-after-a-move", breaks: "P3: an event counts that comes after the room has moved",
		file: "internal/room/journal/jetstream/follower.go",
		old:  `some, fence = some[:i], some[i].fence`,
		new:  `fence = some[i].fence`,
		pkg:  jetstream, test: "TestFence",
	},
	{
		name: "turn-of-a-role-forgotten", breaks: "P3: after a restart, a role's rotation starts over",
		file: "internal/room/fold/checkpoint.go",
		old:  `s.Rotation = maps.Clone(c.Rotation)`,
		new:  `s.Rotation = nil`,
		pkg:  "internal/room/fold", test: "TestModel",
	},
	{
		name: "checkpoint-after-anything", breaks: "P3: a checkpoint undoes another machine's events",
		file: "internal/room/fold/apply.go",
		old:  `case e.Checkpoint != nil && e.Checkpoint.After+1 == e.Seq:`,
		new:  `case e.Checkpoint != nil:`,
		pkg:  "internal/room/fold", test: "TestLateCheckpoint",
	},
	{
		name: "looking-presents", breaks: "P4: looking at a message marks it as presented",
		file: "internal/room/mailroom/look.go",
		old:  `if it, err := v.completeOne(ctx, hot); it != nil {`,
		new: `_, _ = v.Mark(ctx, mail.Marking{IDs: []mail.ID{id}, Mark: mail.MarkPresented, Door: mail.HookDoor})
	if it, err := v.completeOne(ctx, hot); it != nil {`,
		pkg: mailroom, test: "TestService/P4_LookingChangesNothing",
	},
	{
		name: "marks-again", breaks: "P4: marking twice is not the same as marking once",
		file: "internal/room/check/mark.go",
		old:  `case !r.Changes(m, q.Mark, q.Until, v.Now):`,
		new:  `case false:`,
		pkg:  mailroom, test: "TestService/Marks",
	},
	{
		name: "any-name-will-do", breaks: "P5: any caller may speak as anyone",
		file: "internal/office/gate/identity.go",
		old:  `case id.name != name:`,
		new:  `case false:`,
		pkg:  "internal/office/gate", test: "TestP5_NameAndRoom",
	},
	{
		name: "any-room-will-do", breaks: "P5: the token of one room opens every room",
		file: "internal/office/gate/identity.go",
		old:  `case id.room != "" && id.room != room:`,
		new:  `case false:`,
		pkg:  "internal/office/gate", test: "TestP5_NameAndRoom",
	},
	{
		name: "orchestrator-by-itself", breaks: "P5: an agent makes itself the orchestrator",
		file: "internal/room/check/register.go",
		old:  `case !person && c.Name != mail.Orchestrator &&`,
		new:  `case false && !person &&`,
		pkg:  mailroom, test: "TestService/P5_OnlyThePersonMakesAnOrchestrator",
	},
	{
		name: "void-token", breaks: "P5: an agent's token opens its room after a new one was made",
		file: "internal/room/fold/roster.go",
		old: `		delete(s.Tokens, m.TokenSum)
		m.TokenSum =`,
		new: `		m.TokenSum =`,
		pkg: "internal/office/daemon", test: "TestAuthenticate",
	},
	{
		name: "streams-go-on", breaks: "P5: a stream continues after its token has ended",
		file: "internal/room/mailroom/lives.go",
		old:  `if m := s.Tokens[sum]; m == nil || !m.Listed() {`,
		new:  `if m := s.Tokens[sum]; m == nil && false {`,
		pkg:  "internal/office/daemon", test: "TestP5_CredentialsEnd/an_agent's_token_over_TCP/a_new_token",
	},
	{
		name: "forged-machine", breaks: "P5: anyone with the NATS servers' password may write as any machine",
		file: "internal/room/journal/jetstream/ring.go",
		old:  `case !r.signs(p, k.Key):`,
		new:  `case false:`,
		pkg:  jetstream, test: "TestP5_Machines",
	},
	{
		name: "sent-before", breaks: "P5: a message of a machine counts again if a stranger repeats it",
		file: "internal/room/journal/jetstream/ring.go",
		old:  `case p.number <= k.Last[p.way]:`,
		new:  `case false:`,
		pkg:  jetstream, test: "TestP5_Machines",
	},
	{
		name: "erased-sent-again", breaks: "P5: an erased message comes back if a stranger repeats it",
		file: "internal/room/journal/jetstream/ring.go",
		old:  `k.Last[x.Way] = max(k.Last[x.Way], x.Number)`,
		new:  `_ = x`,
		pkg:  jetstream, test: "TestP5_ErasedIsNotSentAgain",
	},
	{
		name: "taken-twice", breaks: "P6: two holders take the same role mail",
		file: "internal/room/fold/apply.go",
		old:  `h.Registered != 0 && m.HasRole(b.address.Value()) && !r.SettledBy(h):`,
		new:  `h.Registered != 0 && m.HasRole(b.address.Value()):`,
		pkg:  mailroom, test: "TestLateReadIsNotArchived",
	},
	{
		name: "lapsed-holder-keeps", breaks: "P6: role mail waits for a holder that is gone",
		file: "internal/room/mailroom/keep.go",
		old:  `c.End = true`,
		new:  `c.End = false`,
		pkg:  mailroom, test: "TestP6_LapsedSession",
	},
	{
		name: "presented-without-proof", breaks: "P7: mail of an interrupted turn is shown as presented",
		file: "internal/room/fold/turn.go",
		old:  `case !broken && k.pending():`,
		new:  `case k.pending():`,
		pkg:  "internal/office/hook", test: "TestP7_QueuedAgainWhenBrokenOff",
	},
	{
		name: "told-is-presented", breaks: "P7: mail that a hook handed over is shown as presented at once",
		file: "internal/room/fold/turn.go",
		old:  `if !t.Proof && !broken {`,
		new:  `if false {`,
		pkg:  "internal/office/hook", test: "TestP7_ToldIsNotPresented",
	},
	{
		name: "no-dead-letters", breaks: "P7: mail to an agent that is gone is shown as queued",
		file: "internal/room/fold/delivery.go",
		old:  `Away: m.away() && !s.HasDoor(m),`,
		new:  `Away: false,`,
		pkg:  mailroom, test: "TestP7_Dead",
	},
}
