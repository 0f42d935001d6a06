package main

// The packages of most tests.
const (
	mailroom  = "internal/room/mailroom"
	jsonl     = "internal/room/journal/jsonl"
	jetstream = "internal/room/journal/jetstream"
	wake      = "internal/office/wake"
)

// table returns the mutations, in the order of the promises.
func table() []mutation {
	return []mutation{
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
			name: "erased-not-counted", breaks: "P3: after an erasure, machines number the events differently",
			file: "internal/room/journal/jetstream/lane.go",
			old:  `k.last.Place + k.lane.holes.between(k.last.Seq, seq) + 1}`,
			new:  `k.last.Place + 1}`,
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
		{
			name: "idle-with-mail", breaks: "P8: mail that arrives while a turn ends is not seen",
			file: "internal/room/fold/turn.go",
			old:  `if waiting && !c.Over && m.Continues < mail.MaxContinues {`,
			new:  `if false {`,
			pkg:  mailroom, test: "TestService/P8_TurnEnd",
		},
		{
			name: "rings-into-dialogs", breaks: "P8: a door types into the dialog of an agent's client",
			file: "internal/policy/ladder.go",
			old:  `return s == mail.Idle || s == mail.Gone }`,
			new:  `return s == mail.Idle || s == mail.Gone || s == mail.Asking }`,
			pkg:  wake, test: "TestP8_AtADialog",
		},
		{
			name: "failed-in-silence", breaks: "P8: the user is not told that an agent's doors fail",
			file: "internal/office/wake/ringer.go",
			old:  `case s.fail(&a.unwoken, left, now) || off && left == 0:`,
			new:  `case s.fail(&a.unwoken, left, now) && off && left == 0:`,
			pkg:  wake, test: "TestP8_FailedRings",
		},
		{
			name: "rings-forgotten", breaks: "P8: after a restart, agents are rung again for the same mail",
			file: "internal/office/wake/ringer.go",
			old:  `max(present, recallEvents)-recallEvents)`,
			new:  `present)`,
			pkg:  wake, test: "TestP8_Restart",
		},
		{
			name: "told-twice", breaks: "P8: the user is told again and again that an agent cannot be woken",
			file: "internal/policy/ladder.go",
			old:  `fmt.Appendf(nil, "%q %q", who, waiting)`,
			new:  `fmt.Appendf(nil, "%q %q %d", who, waiting, time.Now().UnixNano())`,
			pkg:  wake, test: "TestP8_OneNotice",
		},
		{
			name: "rings-while-noting", breaks: "P8: an agent is rung for mail that it is reading",
			file: "internal/office/wake/ringer.go",
			old:  `case !u.Elsewhere && !u.Recording:`,
			new:  `case !u.Elsewhere:`,
			pkg:  wake, test: "TestP8_SlowMarks",
		},
		{
			name: "clock-set-back", breaks: "P8: if the clock is set back by an hour, agents are woken an hour late",
			file: "internal/office/wake/ringer.go",
			old:  `s.setBack(back)`,
			new:  `_ = s`,
			pkg:  wake, test: "TestP8_ClockSetBack",
		},
		{
			name: "own-inbox-only", breaks: "P9: the user does not see the agents' mail",
			file: "internal/room/check/view.go",
			old:  `if n == "" {`,
			new:  `if n == "" || v.IsUser() {`,
			pkg:  mailroom, test: "TestService/P9_TheUserSeesEverything",
		},
		{
			name: "open-fence", breaks: "P9: mail closes its own fence, and then speaks as the user",
			file: "internal/fence/fence.go",
			old:  `return f.open(it, "") + "\n" + Text(it.Body)`,
			new:  `return f.open(it, "") + "\n" + it.Body`,
			pkg:  "internal/fence", test: "TestMessage",
		},
		{
			name: "file-as-user", breaks: "P9: a model is shown a foreign file's text as the user's own words",
			file: "internal/fence/fence.go",
			old:  `case it.Doubt() != "":`,
			new:  `case false:`,
			pkg:  "internal/fence", test: "TestMessage",
		},
		{
			name: "torn-line-cut", breaks: "P10: a rewrite destroys the line that another program is writing",
			file: "internal/base/lines/rewrite.go",
			old:  `return append(out, old[end:]...)`,
			new:  `return out`,
			pkg:  "internal/base/lines", test: "TestRewrite",
		},
		{
			name: "late-line-lost", breaks: "P10: a line is lost that another program appends to a replaced file",
			file: "internal/base/lines/rewrite.go",
			old:  `if err := f.append(text[:end], false); err != nil {`,
			new:  `if err := error(nil); err != nil {`,
			pkg:  "internal/base/lines", test: "TestRewriteBesideAppends",
		},
		{
			name: "garbage-destroyed", breaks: "P10: an unreadable line of the mailbox is destroyed",
			file: "internal/room/journal/jsonl/mend.go",
			old:  `if err := j.keepRejected(s.bad); err != nil {`,
			new:  `if err := error(nil); err != nil {`,
			pkg:  jsonl, test: "TestOddFiles",
		},
		{
			name: "dropped-for-archived", breaks: "P11: retention destroys mail",
			file: "internal/room/mailroom/keep.go",
			old: `		return journal.Keep
	}
	return journal.Archive
}

func fateOfMachine`,
			new: `		return journal.Keep
	}
	return journal.Drop
}

func fateOfMachine`,
			pkg: mailroom, test: "TestP11_Retention",
		},
		{
			name: "erased-in-part", breaks: "P11: erased text stays among the lines that were set aside",
			file: "internal/room/journal/jsonl/compact.go",
			old:  `append(append(names, foreign...), rejectedName)`,
			new:  `append(names, foreign...)`,
			pkg:  jsonl, test: "TestEraseEverywhere",
		},
		{
			name: "erased-not-in-index", breaks: "P11: the words of erased mail stay in the search index",
			file: "internal/room/mailroom/erase.go",
			old:  `return r.index.Erase(id)`,
			new:  `return nil`,
			pkg:  mailroom, test: "TestSearchErased",
		},
		{
			name: "no-budget", breaks: "P12: an agent that never answers is rung without end",
			file: "internal/policy/ladder.go",
			old:  `if len(rung) < limit {`,
			new:  `if true {`,
			pkg:  wake, test: "TestP12_Budget",
		},
		{
			name: "politeness-loop", breaks: "P12: two agents thank each other without end",
			file: "internal/policy/limits.go",
			old:  `if len(x.turns) >= l.Exchanges {`,
			new:  `if false {`,
			pkg:  mailroom, test: "TestP12_PolitenessLoop",
		},
		{
			name: "same-text-twice", breaks: "P12: the same text, sent by several calls at once, arrives twice",
			file: "internal/room/fold/apply.go",
			old:  ` || s.sound && s.repeats(e.Message) != nil {`,
			new:  ` {`,
			pkg:  mailroom, test: "TestP2_LoserIsNeverKept",
		},
		{
			name: "hook-without-limit", breaks: "P12: a hook prints more than its client accepts",
			file: "internal/office/hook/text.go",
			old:  `if n > left {`,
			new:  `if false {`,
			pkg:  "internal/office/hook", test: "TestP12_HookBudget",
		},
		{
			name: "long-answer", breaks: "P12: an answer to a model is longer than 20 KB",
			file: "internal/fence/budget.go",
			old:  `const Budget = 20_000`,
			new:  `const Budget = 200_000`,
			pkg:  "internal/office/mcpserver", test: "TestP12_PagesOfMail",
		},
		{
			name: "suggestion-settles", breaks: "P13: anyone's answer closes a question",
			file: "internal/policy/open.go",
			old:  `case reply.Suggests, by == ""`,
			new:  `case by == ""`,
			pkg:  mailroom, test: "TestService/P13_OnlyTheAskedSettle",
		},
		{
			name: "script-settles", breaks: "P13: a script answers a question to the user",
			file: "internal/room/check/right.go",
			old:  `case v.IsUser() && !v.Means.Settles() && q.Open():`,
			new:  `case false:`,
			pkg:  mailroom, test: "TestP13_NoScriptSettles",
		},
		{
			name: "open-is-trimmed", breaks: "P13: retention trims an open question",
			file: "internal/room/fold/keep.go",
			old:  `Unsettled: r.Open() || s.aboutOpen(r) || `,
			new:  `Unsettled: `,
			pkg:  mailroom, test: "TestP13_RetentionKeepsWhatIsOpen",
		},
		{
			name: "not-asking", breaks: "P14: an agent at its client's dialog is shown as working",
			file: "internal/room/fold/dialog.go",
			old:  `if m.State.Live() && len(m.Dialogs) > 0 {`,
			new:  `if false {`,
			pkg:  mailroom, test: "TestService/DialogsOfClients",
		},
		{
			name: "not-taken", breaks: "P14: an answer counts although the client did not take it",
			file: "internal/office/dialog/answer.go",
			old:  `if closes() {`,
			new:  `if closes(); true {`,
			pkg:  "internal/office/dialog", test: "TestStillStands",
		},
		{
			name: "script-answers", breaks: "P14: a script answers a dialog",
			file: "internal/office/caller/dialogs.go",
			old:  `if !id.Means().IsAct() {`,
			new:  `if !id.Means().IsAct() && false {`,
			pkg:  "internal/office/daemon", test: "TestP5_OnlyAnActAnswersDialogs",
		},
		{
			name: "script-ends", breaks: "P14: a script ends a dialog, and the person never sees it",
			file: "internal/room/check/dialog.go",
			old:  `case v.Means != "" && v.Means != mail.ByRelay:`,
			new:  `case false:`,
			pkg:  mailroom, test: "TestP5_WhoEndsDialogs",
		},
		{
			name: "two-holders", breaks: "P15: two agents hold the same file",
			file: "internal/room/fold/claim.go",
			old:  `c.Take[i].Shared, at); found {`,
			new:  `c.Take[i].Shared, at); found && false {`,
			pkg:  "internal/room/fold", test: "TestModel",
		},
		{
			name: "claims-outlive", breaks: "P15: the claims of a dead session stay",
			file: "internal/room/fold/claim.go",
			old:  `case !m.Listed() || !m.State.Live() || m.Session != "" && !m.Live(at):`,
			new:  `case false:`,
			pkg:  "internal/room/fold", test: "TestModel",
		},
		{
			name: "lost-and-held-again", breaks: "P15: a session gets back claims that it had lost",
			file: "internal/room/fold/claim.go",
			old:  `m.Claims = slices.DeleteFunc(m.Claims, func(c mail.Claim) bool { return !m.Holds(&c, at) })`,
			new:  `_ = at`,
			pkg:  "internal/room/fold", test: "TestModel",
		},
		{
			name: "overtaken-comes-back", breaks: "P15: a file has two holders if a machine's clock is behind",
			file: "internal/room/fold/claim.go",
			old:  `s.overtake(m, c.Take[i].Target, at)`,
			new:  `_ = i`,
			pkg:  "internal/room/fold", test: "TestOvertakenForGood",
		},
		{
			name: "sent-with-another-key", breaks: "P16: scheduled mail is sent again after a crash",
			file: "internal/room/check/schedule.go",
			old:  `o.Draft.Key = fmt.Sprintf("later-%s-%d", c.ID, c.At)`,
			new:  `o.Draft.Key = fmt.Sprintf("later-%s-%d", c.ID, v.Now)`,
			pkg:  mailroom, test: "TestP16_NotTwice",
		},
		{
			name: "sent-without-right", breaks: "P16: scheduled mail of a retired agent is sent",
			file: "internal/room/check/schedule.go",
			old:  `case m == nil || !m.Listed():`,
			new:  `case m == nil:`,
			pkg:  mailroom, test: "TestP16_EndsWithTheRight",
		},
		{
			name: "out-of-order", breaks: "P16: scheduled mail is sent in the wrong order",
			file: "internal/room/fold/schedule.go",
			old:  `return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Seq, b.Seq))`,
			new:  `return cmp.Compare(a.Seq, b.Seq)`,
			pkg:  mailroom, test: "TestP16_SentOnceInOrder",
		},
		{
			name: "text-is-dropped", breaks: "P16: a compaction drops the text of scheduled mail",
			file: "internal/room/fold/schedule.go",
			old:  `return c.Draft != nil && s.Scheduled[c.ID] != nil`,
			new:  `return false`,
			pkg:  mailroom, test: "TestP16_SentOnceInOrder",
		},
	}
}
