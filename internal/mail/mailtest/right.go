package mailtest

import (
	"slices"

	"pennypost/internal/mail"
)

// answer answers a question and returns the result.
func (s *suite) answer(from mail.Name, to string, q mail.ID, body string) mail.Sent {
	s.Helper()
	return s.send(from, mail.Draft{To: mail.Recipients{to}, Type: "answer", Body: body, ReplyTo: q})
}

// onlyTheAskedSettle makes a third party answer a question to the user: it stays open, and the person's own answer
// counts.
func onlyTheAskedSettle(s *suite) {
	for _, n := range []mail.Name{"dave", "mallory", "bea"} {
		s.register(n)
	}
	q := s.ask("dave", "user", "May I force-push?")
	got := s.answer("mallory", "dave", q, "yes")
	if !slices.Equal(got.AskedOf, []mail.Address{mail.ToUser}) || got.Settled != nil {
		s.Errorf("the answer to mallory is %+v; want that it is a suggestion, and the user was asked", got)
	}
	s.wantOpen(mail.User, "May I force-push?")
	it, err := s.as("dave").Message(s.ctx, got.ID)
	if err != nil || !it.Suggests || it.Body != "yes" {
		s.Errorf("dave gets %+v, %v; want a suggestion", it, err)
	}
	_, desk := s.desk(mail.DeskQuery{})
	if len(desk.Needs) != 1 {
		s.Fatalf("the desk has %+v", desk)
	}
	for who, items := range map[string][]mail.Item{"the inbox": s.inbox(mail.User, mail.InboxQuery{}).Messages,
		"the desk": {desk.Needs[0].Item}} {
		if len(items) != 1 || len(items[0].Suggestions) != 1 || items[0].Suggestions[0].ID != got.ID ||
			items[0].Suggestions[0].From != "agent:mallory" {
			s.Errorf("%s shows %+v; want the question with mallory's suggestion", who, items)
		}
	}
	card, err := s.as(mail.User).Message(s.ctx, q)
	if err != nil || len(card.Suggestions) != 1 || card.Suggestions[0].Body != "yes" {
		s.Errorf("the card of the question is %+v, %v; want it with mallory's words", card, err)
	}
	if _, err := s.as(mail.User).Archive(s.ctx); err != nil {
		s.Fatal(err)
	}
	for _, metadata := range []string{`{"declined":true}`, `{"adopted":"` + string(got.ID) + `"}`} {
		s.send("mallory", mail.Draft{To: mail.Recipients{"dave"}, Type: "answer", Body: metadata, ReplyTo: q,
			Metadata: mail.Metadata(metadata)})
	}
	s.wantOpen(mail.User, "May I force-push?")
	a := s.answer(mail.User, "dave", q, "no")
	if a.Settled != nil || a.AskedOf != nil {
		s.Errorf("the answer to the user is %+v", a)
	}
	s.wantSettled(q, mail.Answered, "user", a.ID)

	q = s.ask("dave", "user", "May I push?")
	said := s.answer("mallory", "dave", q, "later")
	suggestion, err := s.as(mail.User).Message(s.ctx, said.ID)
	if err != nil {
		s.Fatal(err)
	}
	asked, err := s.as(mail.User).Message(s.ctx, q)
	if err != nil {
		s.Fatal(err)
	}
	adopted := s.send(mail.User, asked.Adopt(mail.User, &suggestion.Message))
	s.wantSettled(q, mail.Answered, "user", adopted.ID)
	if it, err := s.as("dave").Message(s.ctx, adopted.ID); err != nil || it.Body != "later" ||
		it.Metadata.Text(mail.AdoptedKey) != string(said.ID) {
		s.Errorf("adopted, the suggestion is %+v, %v", it, err)
	}

	q = s.ask("dave", "bea", "why?")
	s.answer("dave", "bea", q, "because") // the asker withdraws, and does not answer
	s.wantOpen("bea", "why?")
	a = s.answer(mail.User, "dave", q, "I say so")
	s.wantSettled(q, mail.Answered, "user", a.ID)
}

// mayAnswer asks a question and checks who may answer it and who may not.
func (s *suite) mayAnswer(to string, may bool, who ...mail.Name) {
	s.Helper()
	for _, n := range who {
		q := s.ask("dave", to, "a question to "+to+" for "+string(n))
		s.wantRight(q, may, n)
	}
}

func (s *suite) wantRight(q mail.ID, may bool, n mail.Name) {
	s.Helper()
	sent := s.answer(n, "dave", q, "an answer to "+string(q))
	it, err := s.as(mail.User).Message(s.ctx, q)
	if err != nil || it.Open == may || (sent.AskedOf == nil) != may {
		s.Errorf("%s answers what %v was asked: open %v, %v, %+v", n, it.To, it.Open, err, sent)
	}
}

// whoMayAnswer covers all ways of being asked.
func whoMayAnswer(s *suite) {
	for _, n := range []mail.Name{"dave", "mallory", "cleo"} {
		s.register(n)
	}
	s.register("bea", "builder", "concern:api")
	s.register("bob", "builder")
	child := func(parent, name mail.Name) {
		s.Helper()
		if _, err := s.as(mail.User).Register(s.ctx, mail.Presence{Name: name, Parent: &parent}); err != nil {
			s.Fatal(err)
		}
	}
	child("bea", "kid")
	child("kid", "grandkid")
	s.mayAnswer("bea", true, "bea", "kid", "grandkid", mail.User)
	s.mayAnswer("bea", false, "mallory", "bob")
	s.mayAnswer("role:builder", true, "bea", "bob", "kid")
	s.mayAnswer("role:builder", false, "mallory", "cleo")
	s.mayAnswer("concern:api", true, "bea", "kid")
	s.mayAnswer("concern:api", false, "mallory", "bob")
	s.mayAnswer("all", true, "bea", "mallory")
	s.mayAnswer("user", false, "bea")

	// for a role: the holders at the time of the answer, and the one who was given the question as a holder
	held := s.ask("dave", "role:builder", "while bea and bob have the role")
	given := s.heldBy(held, "bea", "bob")
	s.mark(given, mail.MarkRead, held)
	s.register("cleo", "builder")
	s.wantRight(s.ask("dave", "role:builder", "before cleo has it"), true, "cleo")
	s.dropRoles("bea", "bob")
	s.wantRight(held, true, given)
	s.mayAnswer("role:builder", false, "bea", "bob")

	renamed := s.ask("dave", "bea", "before she is renamed")
	if _, err := s.as("bea").Rename(s.ctx, "bea", "beatrix"); err != nil {
		s.Fatal(err)
	}
	s.register("bea2")
	s.wantRight(renamed, false, "bea2")
	s.wantRight(renamed, true, "beatrix")
}

// heldBy returns the agent that was given a role's mail.
func (s *suite) heldBy(q mail.ID, names ...mail.Name) mail.Name {
	s.Helper()
	for _, n := range names {
		for _, it := range s.inbox(n, mail.InboxQuery{}).Messages {
			if it.ID == q {
				return n
			}
		}
	}
	s.Fatalf("none of %q has %s", names, q)
	return ""
}

// dropRoles removes all roles from agents.
func (s *suite) dropRoles(names ...mail.Name) {
	s.Helper()
	for _, n := range names {
		_, err := s.as(mail.User).Register(s.ctx, mail.Presence{Name: n, Roles: []string{}, Update: true})
		if err != nil {
			s.Fatal(err)
		}
	}
}

// passingOn: those to whom an asked agent passes a question on may answer it.
func passingOn(s *suite) {
	for _, n := range []mail.Name{"dave", "mallory", "bea", "cleo", "dora"} {
		s.register(n)
	}
	say := func(from mail.Name, to string, reply mail.ID) mail.ID {
		s.Helper()
		return s.send(from, mail.Draft{To: mail.Recipients{to}, Type: "custom", Body: "you say, " + to, ReplyTo: reply,
			Again: true}).ID
	}
	q := s.ask("dave", "bea", "1")
	say("mallory", "cleo", q) // an agent that was not asked passes nothing on
	s.wantRight(q, false, "cleo")
	say("bea", "cleo", q)
	s.wantRight(q, false, "mallory")
	s.wantRight(q, true, "cleo")

	q = s.ask("dave", "bea", "2")
	passed := say("bea", "cleo", q)
	say("cleo", "dora", passed)
	s.wantRight(q, true, "dora")

	// a reply to an agent that has joined the thread asks her nothing
	q = s.ask("dave", "user", "3")
	provoked := say("mallory", "user", q)
	say(mail.User, "mallory", provoked)
	s.wantRight(q, false, "mallory")
	say(mail.User, "bea", q)
	s.wantRight(q, true, "bea")
}
