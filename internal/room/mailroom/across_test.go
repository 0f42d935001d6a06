package mailroom

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// asked is a question of ann in room lab to bea of room here and dan of room far, and its state in each.
type asked struct {
	*testOffice
	q          mail.ID
	ann, bea   mail.Service
	dan        mail.Service
	recipients []mail.Delivery
}

func askAcross(t *testing.T) *asked {
	a := &asked{testOffice: newOffice(t, Options{})}
	for name, to := range map[mail.Name]struct {
		room mail.RoomName
		v    *mail.Service
	}{"ann": {"lab", &a.ann}, "bea": {"here", &a.bea}, "dan": {"far", &a.dan}} {
		v, err := a.Room(t.Context(), to.room, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Register(t.Context(), mail.Presence{}); err != nil {
			t.Fatal(err)
		}
		*to.v = v
	}
	sent := a.send(a.ann, mail.Draft{To: mail.Recipients{"bea@here", "dan@far"}, Type: "question", Body: "why?",
		Key: "k"})
	a.q, a.recipients = sent.ID, sent.Recipients
	return a
}

func (a *asked) send(v mail.Service, d mail.Draft) mail.Sent {
	a.t.Helper()
	sent, err := v.Send(a.t.Context(), d)
	if err != nil {
		a.t.Fatal(err)
	}
	return sent
}

// want checks that in each room the question is open (""), or settled in that way.
func (a *asked) want(when string, want mail.Outcome) {
	a.t.Helper()
	for name, v := range map[string]mail.Service{"lab": a.ann, "here": a.bea, "far": a.dan} {
		page, err := v.History(a.t.Context(), mail.HistoryQuery{Open: true})
		if err != nil {
			a.t.Fatal(err)
		}
		it, err := v.Message(a.t.Context(), a.q)
		if err != nil {
			a.t.Fatal(err)
		}
		var got mail.Outcome
		if it.Settled != nil {
			got = it.Settled.As
		}
		if open := len(page.Messages) > 0; open != (want == "") || open != it.Open || got != want {
			a.t.Errorf("%s, in %s the question is open %v, settled %+v; want %q", when, name, it.Open, it.Settled,
				want)
		}
	}
}

// TestP13_AskedInOtherRooms checks that a question to other rooms is open in the asker's room too, once, and that an
// answer in one room settles it in all.
func TestP13_AskedInOtherRooms(t *testing.T) {
	for name, answer := range map[string]func(a *asked){
		"to whoever asked": func(a *asked) {
			a.send(a.bea, mail.Draft{To: mail.Recipients{"ann@lab"}, Body: "because", ReplyTo: a.q})
		},
		"to somebody else": func(a *asked) {
			a.send(a.bea, mail.Draft{To: mail.Recipients{"user"}, Type: "answer", Body: "because", ReplyTo: a.q})
		},
		"in the room of whoever asked": func(a *asked) {
			a.send(a.rooms["lab"].As(mail.User), mail.Draft{To: mail.Recipients{"ann"}, Body: "I know", ReplyTo: a.q})
		},
		"while the asker's room is away": func(a *asked) {
			a.away = "lab"
			a.send(a.bea, mail.Draft{To: mail.Recipients{"user"}, Type: "answer", Body: "because", ReplyTo: a.q})
			a.away = ""
			for _, r := range []mail.RoomName{"lab", "far"} { // as each does when it is opened, and once an hour
				a.rooms[r].askAround(a.t.Context())
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := askAcross(t)
			a.want("asked", "")
			page, err := a.ann.Inbox(t.Context(), mail.InboxQuery{})
			if diff := cmp.Diff([]mail.ID{a.q}, page.OwnIDs); err != nil || diff != "" {
				t.Errorf("ann's own, %v (-want +got):\n%s", err, diff)
			}
			if n := len(a.recipients); n != 2 {
				t.Errorf("it went to %+v", a.recipients)
			}
			list, err := a.ann.Waiting(t.Context(), mail.WaitingQuery{})
			if err != nil || len(list.Waiting) != 2 || list.Waiting[0].Address != "far:bea@here" ||
				list.Waiting[1].Address != "far:dan@far" || list.Waiting[0].Asker != "ann" {
				t.Errorf("who waits for whom: %+v, %v", list, err)
			}
			again := a.send(a.ann, mail.Draft{To: mail.Recipients{"bea@here", "dan@far"}, Type: "question",
				Body: "why?",
				Key:  "k"})
			if !again.Duplicate || again.ID != a.q {
				t.Errorf("asked again with the same key: %+v", again)
			}
			answer(a)
			a.want("answered", mail.Answered)
		})
	}
}

// TestP13_WithdrawnAcross checks that a withdrawal reaches every room, from any of them.
func TestP13_WithdrawnAcross(t *testing.T) {
	for _, room := range []mail.RoomName{"lab", "here", "far"} {
		a := askAcross(t)
		v := a.ann
		if room != "lab" {
			v = a.rooms[room].As(mail.User)
		}
		if err := v.Withdraw(t.Context(), a.q); err != nil {
			t.Fatal(err)
		}
		a.want("withdrawn in "+string(room), mail.Withdrawn)
		if it, err := a.dan.Message(t.Context(), a.q); room == "lab" && it.Settled.By != "far:ann@lab" {
			t.Errorf("withdrawn in lab, far says by %s, %v", it.Settled.By, err)
		}
	}
}

// TestP13_NotAskedWhereNothingWasSent checks that a question that no other room takes is not open in the asker's, and
// that asking again asks once.
func TestP13_NotAskedWhereNothingWasSent(t *testing.T) {
	a := askAcross(t)
	a.fill("here", true)
	d := mail.Draft{To: mail.Recipients{"bea@here"}, Type: "question", Body: "how?", Key: "h"}
	if _, err := a.ann.Send(t.Context(), d); mail.CodeOf(err) != mail.Unavailable {
		t.Errorf("to a full disk: %v", err)
	}
	a.fill("here", false)
	a.want("not asked", "")
	a.fill("lab", true) // the copy is there, and cannot be recorded here
	if _, err := a.ann.Send(t.Context(), d); mail.CodeOf(err) != mail.Unavailable {
		t.Errorf("from a full disk: %v", err)
	}
	a.fill("lab", false)
	sent := a.send(a.ann, d)
	for _, v := range []mail.Service{a.ann, a.bea} {
		page, err := v.History(t.Context(), mail.HistoryQuery{Open: true})
		if err != nil || len(page.Messages) != 2 || page.Messages[1].ID != sent.ID {
			t.Errorf("open: %+v, %v", page.Messages, err)
		}
	}
}

// TestP13_AnsweredFromAnotherRoom checks that an answer that goes to another room settles only a question asked here.
func TestP13_AnsweredFromAnotherRoom(t *testing.T) {
	a := askAcross(t)
	if _, err := a.rooms["here"].As("cleo").Register(t.Context(), mail.Presence{}); err != nil {
		t.Fatal(err)
	}
	a.send(a.bea, mail.Draft{To: mail.Recipients{"ann@lab"}, Body: "because", ReplyTo: a.q})
	own := a.send(a.rooms["here"].As("cleo"), mail.Draft{To: mail.Recipients{"bea"}, Type: "question", Body: "who?"})
	a.send(a.bea, mail.Draft{To: mail.Recipients{"ann@lab"}, Type: "answer", Body: "cleo asks; it is you",
		ReplyTo: own.ID})
	if it, err := a.bea.Message(t.Context(), own.ID); err != nil || it.Settled == nil || it.Settled.By != "agent:bea" {
		t.Errorf("settled %+v, %v", it.Settled, err)
	}
}

// TestP13_AnsweredBeforeItIsNoted makes the other room answer a question before the asker's has recorded it.
func TestP13_AnsweredBeforeItIsNoted(t *testing.T) {
	a := askAcross(t)
	a.reached = func() {
		page, err := a.bea.Inbox(t.Context(), mail.InboxQuery{Newest: true, Limit: 1})
		if err != nil || page.Messages[0].Body != "how?" {
			t.Fatalf("bea has %+v, %v", page.Messages, err)
		}
		a.send(a.bea, mail.Draft{To: mail.Recipients{"user"}, Type: "answer", Body: "so",
			ReplyTo: page.Messages[0].ID})
	}
	sent := a.send(a.ann, mail.Draft{To: mail.Recipients{"bea@here"}, Type: "question", Body: "how?"})
	if it, err := a.ann.Message(t.Context(), sent.ID); err != nil || it.Settled == nil {
		t.Errorf("in the asker's room it stands as %+v, %v", it, err)
	}
}

// TestP13_SuggestedAcross checks that a question asked in other rooms is settled in none of them by someone who was
// not asked, wherever that is.
func TestP13_SuggestedAcross(t *testing.T) {
	for name, answer := range map[string]func(a *asked) mail.Sent{
		"where it was asked": func(a *asked) mail.Sent {
			a.send(a.rooms["here"].As("mallory"), mail.Draft{To: mail.Recipients{"user"}, Body: "hello"})
			return a.send(a.rooms["here"].As("mallory"),
				mail.Draft{To: mail.Recipients{"ann@lab"}, Type: "answer", Body: "because", ReplyTo: a.q})
		},
		"in the room of whoever asked": func(a *asked) mail.Sent {
			a.send(a.rooms["lab"].As("mallory"), mail.Draft{To: mail.Recipients{"user"}, Body: "hello"})
			return a.send(a.rooms["lab"].As("mallory"),
				mail.Draft{To: mail.Recipients{"ann"}, Type: "answer", Body: "because", ReplyTo: a.q})
		},
		"by whoever asked": func(a *asked) mail.Sent {
			return a.send(a.ann, mail.Draft{To: mail.Recipients{"user"}, Type: "answer", Body: "I know", ReplyTo: a.q})
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := askAcross(t)
			if sent := answer(a); len(sent.AskedOf) == 0 {
				t.Errorf("the answer is %+v; want that it is a suggestion", sent)
			}
			a.want("suggested", "")
			a.send(a.bea, mail.Draft{To: mail.Recipients{"ann@lab"}, Body: "so it is", ReplyTo: a.q})
			a.want("answered", mail.Answered)
		})
	}
}
