// Package mailtest holds every mail.Service to the same behaviour.
package mailtest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// room is the room of the suite. Its name has characters that clients must handle.
const room mail.RoomName = "lab-1.ü"

// Run runs the suite. open returns an empty office for each test and registers its cleanup with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) mail.Office) {
	for _, c := range []struct {
		name string
		run  func(*suite)
	}{
		{"SendAndRead", sendAndRead},
		{"P5_SenderIsTheCaller", senderIsTheCaller},
		{"P5_OnlyThePersonMakesAnOrchestrator", onlyThePersonMakesAnOrchestrator},
		{"P5_OnlyWhoIsInCharge", onlyWhoIsInCharge},
		{"P12_ChildrenAreLimited", childrenAreLimited},
		{"P4_LookingChangesNothing", lookingChangesNothing},
		{"UnknownRecipient", unknownRecipient},
		{"Unions", unions},
		{"BadDrafts", badDrafts},
		{"Idempotency", idempotency},
		{"Threads", threads},
		{"P6_RoleRotation", roleRotation},
		{"P6_HeldRoleMail", heldRoleMail},
		{"TagsAndLateJoiners", tagsAndLateJoiners},
		{"Broadcast", broadcast},
		{"AudienceTeam", audienceTeam},
		{"CancelCascade", cancelCascade},
		{"Marks", marks},
		{"InboxLimits", inboxLimits},
		{"InboxPages", inboxPages},
		{"PagesBySent", pagesBySent},
		{"InboxPlaces", inboxPlaces},
		{"Snooze", snooze},
		{"Desk", deskParts},
		{"DeskUnderstood", deskUnderstood},
		{"DeskFolds", deskFolds},
		{"DeskSnooze", deskSnooze},
		{"DeskOfTheOffice", deskOfTheOffice},
		{"History", history},
		{"HistoryStates", historyStates},
		{"HistoryConversations", historyConversations},
		{"P13_NothingButAnAnswerCloses", nothingButAnAnswerCloses},
		{"P13_PageNamesWhatIsOpen", pageNamesWhatIsOpen},
		{"P13_AskingAgain", askingAgain},
		{"P13_Declining", declining},
		{"P13_Withdrawing", withdrawing},
		{"P13_AnErasedAnswerStaysOne", erasedAnswerStaysOne},
		{"P13_WhoWaitsForWhom", whoWaitsForWhom},
		{"P13_ImportedAsSettled", importedAsSettled},
		{"P13_OnlyTheAskedSettle", onlyTheAskedSettle},
		{"P13_WhoMayAnswer", whoMayAnswer},
		{"P13_PassingOn", passingOn},
		{"P7_Stuck", stuck},
		{"Wait", wait},
		{"WaitTimesOut", waitTimesOut},
		{"Watch", watch},
		{"P9_TheUserSeesEverything", userSeesEverything},
		{"RegisterAndSessions", registerAndSessions},
		{"RosterPages", rosterPages},
		{"P8_TurnEnd", turnEnd},
		{"Turns", turns},
		{"TurnCancel", turnCancel},
		{"TurnProcess", turnProcess},
		{"TurnLate", turnLate},
		{"TurnMoved", turnMoved},
		{"P8_TurnOver", turnOver},
		{"P7_TurnProves", turnProves},
		{"TurnResumed", turnResumed},
		{"DialogsOfClients", dialogsOfClients},
		{"P15_OneHolder", oneHolder},
		{"P15_WritesClaim", writesClaim},
		{"P15_WaitsForClaims", waitsForClaims},
		{"P15_ClaimsOfTheUser", claimsOfTheUser},
		{"P15_ClaimsEndWithTheSession", claimsEndWithTheSession},
		{"BadClaims", badClaims},
		{"P16_ScheduledMail", scheduledMail},
		{"P16_ScheduledLimits", scheduledLimits},
		{"RenameAndRetire", renameAndRetire},
		{"Merge", mergeAgents},
		{"MergeWithUser", mergeWithUser},
		{"Token", token},
		{"P11_Erase", erase},
		{"ExportImport", exportImport},
		{"Status", status},
		{"Bridges", bridges},
		{"Workspaces", workspaces},
		{"IDForms", idForms},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(&suite{T: t, office: open(t), ctx: t.Context()}) })
	}
}

// suite is one test's office, with shorthands for it.
type suite struct {
	*testing.T
	office mail.Office
	ctx    context.Context
}

func (s *suite) as(n mail.Name) mail.Service {
	s.Helper()
	v, err := s.office.Room(s.ctx, room, n)
	if err != nil {
		s.Fatalf("Room(%q, %q): %v", room, n, err)
	}
	return v
}

func (s *suite) register(n mail.Name, words ...string) {
	s.Helper()
	p := mail.Presence{Name: n}
	for _, w := range words {
		if strings.Contains(w, ":") {
			p.Tags = append(p.Tags, w)
		} else {
			p.Roles = append(p.Roles, w)
		}
	}
	if _, err := s.as(mail.User).Register(s.ctx, p); err != nil {
		s.Fatalf("Register(%v): %v", p, err)
	}
}

func (s *suite) send(from mail.Name, d mail.Draft) mail.Sent {
	s.Helper()
	sent, err := s.as(from).Send(s.ctx, d)
	if err != nil {
		s.Fatalf("%s: Send(%+v): %v", from, d, err)
	}
	return sent
}

func (s *suite) inbox(n mail.Name, q mail.InboxQuery) mail.Page {
	s.Helper()
	p, err := s.as(n).Inbox(s.ctx, q)
	if err != nil {
		s.Fatalf("%s: Inbox(%+v): %v", n, q, err)
	}
	return p
}

// bodies returns the bodies of the messages in n's inbox.
func (s *suite) bodies(n mail.Name) []string {
	s.Helper()
	return bodiesOf(s.inbox(n, mail.InboxQuery{}).Messages)
}

func bodiesOf(items []mail.Item) []string {
	out := []string{}
	for _, it := range items {
		out = append(out, it.Body)
	}
	return out
}

func (s *suite) wantBodies(n mail.Name, want ...string) {
	s.Helper()
	if diff := cmp.Diff(append([]string{}, want...), s.bodies(n)); diff != "" {
		s.Errorf("what waits for %s (-want +got):\n%s", n, diff)
	}
}

func (s *suite) mark(n mail.Name, m mail.Mark, ids ...mail.ID) mail.Marked {
	s.Helper()
	out, err := s.as(n).Mark(s.ctx, mail.Marking{IDs: ids, Mark: m})
	if err != nil {
		s.Fatalf("%s: Mark(%v, %s): %v", n, ids, m, err)
	}
	return out
}

func (s *suite) wantCode(err error, want mail.Code, words ...string) {
	s.Helper()
	if got := mail.CodeOf(err); got != want {
		s.Errorf("code of %v = %q, want %q", err, got, want)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			s.Errorf("the error %q does not mention %q", err, w)
		}
	}
}

// delivery returns the delivery to one recipient, as the sender sees it.
func (s *suite) delivery(id mail.ID, n mail.Name) mail.Delivery {
	s.Helper()
	it, err := s.as(mail.User).Message(s.ctx, id)
	if err != nil {
		s.Fatalf("Message(%s): %v", id, err)
	}
	i := slices.IndexFunc(it.Deliveries, func(d mail.Delivery) bool { return d.Agent == n })
	if i < 0 {
		s.Fatalf("%s is not delivered to %q: %+v", id, n, it.Deliveries)
	}
	return it.Deliveries[i]
}

func sendAndRead(s *suite) {
	s.register("小克 builder", "builder", "project:x")
	s.register("a/b?c#d%20&é")
	body := "# Take this\n\n<b>&amp;</b> \u2028 \"quoted\" 你好 \t\r\n"
	d := mail.Draft{
		To: mail.Recipients{"小克 builder"}, Type: "task-assigned", Subject: "Parser <1>", Body: body,
		Priority: "urgent", Issue: "issue_7",
		Docs:     []mail.Doc{{Path: "docs/a b.md", Revision: "sha256:00"}},
		Metadata: mail.Metadata(`{"b":[1,{"a":null}],"a":"<&>"}`), TTLSeconds: 7200,
	}
	sent := s.send("a/b?c#d%20&é", d)
	if sent.Room != room || sent.Seq == 0 || sent.Duplicate {
		s.Errorf("Sent = %+v", sent)
	}
	want := []mail.Delivery{{Address: "agent:小克 builder", Agent: "小克 builder", State: mail.Queued,
		Wake: mail.WakeNoDoor}}
	if diff := cmp.Diff(want, sent.Recipients); diff != "" {
		s.Errorf("recipients (-want +got):\n%s", diff)
	}
	page := s.inbox("小克 builder", mail.InboxQuery{})
	if len(page.Messages) != 1 || page.Unread != 1 || page.More {
		s.Fatalf("Inbox = %+v", page)
	}
	got := page.Messages[0]
	if got.Sent == 0 || got.Expires != got.Sent.Add(2*time.Hour) {
		s.Errorf("sent %v, expires %v; want two hours between", got.Sent, got.Expires)
	}
	wantItem := mail.Item{
		Message: mail.Message{
			ID: sent.ID, Type: mail.TaskAssigned, From: "agent:a/b?c#d%20&é", To: []mail.Address{"agent:小克 builder"},
			Subject: d.Subject, Body: body,
			Priority: mail.Urgent, Issue: d.Issue, Docs: d.Docs, Metadata: d.Metadata, TTLSeconds: 7200,
			Sent: got.Sent,
		},
		Seq: sent.Seq, State: mail.Queued, Expires: got.Expires,
	}
	if diff := cmp.Diff(wantItem, got); diff != "" {
		s.Errorf("the message (-want +got):\n%s", diff)
	}
}

func senderIsTheCaller(s *suite) {
	s.register("alice")
	s.register("bob")
	for from, want := range map[mail.Name]mail.Address{"alice": "agent:alice", mail.User: "user",
		mail.Orchestrator: "orchestrator"} {
		id := s.send(from, mail.Draft{To: mail.Recipients{"bob"}, Body: "hi"}).ID
		it, err := s.as("bob").Message(s.ctx, id)
		if err != nil || it.From != want {
			s.Errorf("from of a message by %s = %q, %v; want %q", from, it.From, err, want)
		}
	}
	_, err := s.as("alice").Register(s.ctx, mail.Presence{Name: mail.User})
	s.wantCode(err, mail.Denied)
	_, err = s.as("alice").Register(s.ctx, mail.Presence{Name: "bob", Task: new("stolen")})
	s.wantCode(err, mail.Denied)
	_, err = s.as("alice").Token(s.ctx, "bob")
	s.wantCode(err, mail.Denied)
	_, err = s.as("alice").GuestToken(s.ctx, "alice")
	s.wantCode(err, mail.Denied)
}

func lookingChangesNothing(s *suite) {
	s.register("alice")
	s.register("bob")
	id := s.send("alice", mail.Draft{To: mail.Recipients{"bob"}, Body: "look at me"}).ID
	bob := s.as("bob")
	for range 3 {
		s.wantBodies("bob", "look at me")
		s.inbox("alice", mail.InboxQuery{Agent: "bob", All: true})
		if _, err := bob.History(s.ctx, mail.HistoryQuery{Search: "LOOK"}); err != nil {
			s.Fatal(err)
		}
		if _, err := bob.Message(s.ctx, id); err != nil {
			s.Fatal(err)
		}
		if _, err := bob.Wait(s.ctx, mail.WaitQuery{}); err != nil {
			s.Fatal(err)
		}
	}
	if d := s.delivery(id, "bob"); d.State != mail.Queued {
		s.Errorf("state after looking = %s, want queued", d.State)
	}
}

func unknownRecipient(s *suite) {
	s.register("builder-1")
	s.register("reviewer")
	_, err := s.as(mail.User).Send(s.ctx, mail.Draft{To: mail.Recipients{"builder-1", "bilder-1"}, Body: "x"})
	s.wantCode(err, mail.NotFound, "bilder-1", "builder-1", "nothing was sent")
	_, err = s.as(mail.User).Send(s.ctx, mail.Draft{To: mail.Recipients{"agent:Reviewer"}, Body: "x"})
	s.wantCode(err, mail.NotFound, "reviewer")
	_, err = s.as(mail.User).Send(s.ctx, mail.Draft{To: mail.Recipients{"foo:bar"}, Body: "x"})
	s.wantCode(err, mail.NotFound)
	_, err = s.as("ghost").Inbox(s.ctx, mail.InboxQuery{})
	s.wantCode(err, mail.NotFound, "ghost")
	s.wantBodies("builder-1")
}

func unions(s *suite) {
	s.register("alice", "builder", "project:x")
	s.register("bob", "project:x")
	sent := s.send("bob", mail.Draft{To: mail.Recipients{"alice", "role:builder", "project:x", "broadcast", "all",
		"user", "bob"}, Body: "to many"})
	var agents []string
	for _, d := range sent.Recipients {
		agents = append(agents, string(d.Address)+">"+string(d.Agent))
	}
	want := []string{"agent:alice>alice", "user>user", "agent:bob>bob"}
	slices.Sort(want)
	slices.Sort(agents)
	if diff := cmp.Diff(want, agents); diff != "" {
		s.Errorf("recipients (-want +got):\n%s", diff)
	}
	s.wantBodies("alice", "to many")
	s.wantBodies("bob", "to many") // it named itself
	s.wantBodies(mail.User, "to many")
	s.send("bob", mail.Draft{To: mail.Recipients{"alice,project:x"}, Body: "with a comma"})
	s.wantBodies("alice", "to many", "with a comma")
	s.wantBodies("bob", "to many")
}

func badDrafts(s *suite) {
	s.register("bob")
	ok := mail.Draft{To: mail.Recipients{"bob"}, Body: "x"}
	for name, c := range map[string]struct {
		change func(*mail.Draft)
		code   mail.Code
		word   string
	}{
		"no recipient": {func(d *mail.Draft) { d.To = nil }, mail.Invalid, "recipient"},
		"unknown type": {func(d *mail.Draft) { d.Type = "foo" }, mail.Invalid, "task-done"},
		"empty body":   {func(d *mail.Draft) { d.Body = " \n" }, mail.Invalid, "empty"},
		"large body": {func(d *mail.Draft) {
			d.Body = strings.Repeat("x", mail.MaxBody+1)
		}, mail.TooLarge, "65537"},
		"large subject": {func(d *mail.Draft) {
			d.Subject = strings.Repeat("x", mail.MaxSubject+1)
		}, mail.TooLarge, "subject"},
		"NUL":              {func(d *mail.Draft) { d.Body = "a\x00b" }, mail.Invalid, "NUL"},
		"two-line subject": {func(d *mail.Draft) { d.Subject = "a\nb" }, mail.Invalid, "line"},
		"no verdict":       {func(d *mail.Draft) { d.Type = "review-result" }, mail.Invalid, "changes-requested"},
		"metadata":         {func(d *mail.Draft) { d.Metadata = mail.Metadata(`[1]`) }, mail.Invalid, "object"},
		"metadata number": {func(d *mail.Draft) {
			d.Metadata = mail.Metadata(`{"a":{"b":[-1e99999]}}`)
		}, mail.Invalid, "-1e99999"},
		"priority":        {func(d *mail.Draft) { d.Priority = "high" }, mail.Invalid, "urgent"},
		"negative ttl":    {func(d *mail.Draft) { d.TTLSeconds = -1 }, mail.Invalid, "time to live"},
		"audience":        {func(d *mail.Draft) { d.Audience = "past" }, mail.Invalid, "present"},
		"unknown reply":   {func(d *mail.Draft) { d.ReplyTo = "msg_nope" }, mail.NotFound, "msg_nope"},
		"many recipients": {func(d *mail.Draft) { d.To = slices.Repeat(d.To, 101) }, mail.TooLarge, "101"},
		"control in name": {func(d *mail.Draft) { d.To = mail.Recipients{"bo\x07b"} }, mail.Invalid, "U+0007"},
	} {
		d := ok
		c.change(&d)
		_, err := s.as(mail.User).Send(s.ctx, d)
		if mail.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.word) {
			s.Errorf("%s: error = %v (%s), want %s with %q", name, err, mail.CodeOf(err), c.code, c.word)
		}
	}
	s.wantBodies("bob")
	if st, err := s.as(mail.User).Status(s.ctx); err != nil || st.Messages != 0 {
		s.Errorf("after refused drafts the room holds %d messages (%v)", st.Messages, err)
	}
	exact := ok
	exact.Body = strings.Repeat("é", mail.MaxBody/2)
	s.send(mail.User, exact)
}

func idempotency(s *suite) {
	s.register("alice")
	s.register("bob")
	d := mail.Draft{To: mail.Recipients{"bob"}, Body: "once", Key: "k1"}
	first := s.send("alice", d)
	again := s.send("alice", d)
	if again.ID != first.ID || again.Seq != first.Seq || !again.Duplicate || first.Duplicate {
		s.Errorf("sent again: %+v after %+v", again, first)
	}
	if other := s.send(mail.User, d); other.ID == first.ID {
		s.Error("another sender's key was taken for the first one's")
	}
	d.Body = "different"
	_, err := s.as("alice").Send(s.ctx, d)
	s.wantCode(err, mail.Conflict, "k1")
	s.wantBodies("bob", "once", "once")
}

func threads(s *suite) {
	s.register("alice")
	s.register("bob")
	root := s.send("alice", mail.Draft{To: mail.Recipients{"bob"}, Type: "question", Body: "why?"}).ID
	reply := s.send("bob", mail.Draft{To: mail.Recipients{"alice"}, Type: "answer", Body: "because", ReplyTo: root}).ID
	s.send("alice", mail.Draft{To: mail.Recipients{"bob"}, Body: "thanks", ReplyTo: reply})
	s.send("alice", mail.Draft{To: mail.Recipients{"bob"}, Body: "elsewhere"})
	page, err := s.as(mail.User).History(s.ctx, mail.HistoryQuery{Thread: root})
	if err != nil {
		s.Fatal(err)
	}
	if diff := cmp.Diff([]string{"why?", "because", "thanks"}, bodiesOf(page.Messages)); diff != "" {
		s.Errorf("thread (-want +got):\n%s", diff)
	}
	if last := page.Messages[2]; last.Thread != root || last.ReplyTo != reply {
		s.Errorf("third message: thread %q, reply_to %q; want %q, %q", last.Thread, last.ReplyTo, root, reply)
	}
}
