package notify

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// TestTells: by default questions and urgent mail are told, and nothing else; it checks a note's content, and that
// the sender sees that the person was notified.
func TestTells(t *testing.T) {
	inFixture(t, config.Telling{URL: "https://box.example:8765"}, func(b *fixture) {
		b.send("bea", mail.Status, "All is well", mail.Draft{})
		b.send("bea", mail.Custom, "By the way", mail.Draft{})
		id := b.send("ann", mail.Question, "Which port?", mail.Draft{Body: "Is it **8080** or `9090`?"})
		b.pass(gather - time.Millisecond)
		b.told()
		b.pass(time.Millisecond)
		b.told("ann asks: Which port?")
		n := b.pad.notes[0]
		if n.Text != "Is it 8080 or 9090?" || n.URL != "https://box.example:8765/@lab/?m="+string(id) || n.Urgent {
			t.Errorf("the note is %+v", n)
		}
		it, err := b.room.As("ann").Message(b.Context(), id)
		b.must(err)
		if d := it.Deliveries[0]; d.State != mail.Notified || d.Door != "pad" {
			t.Errorf("the asker sees %+v, want that the user was notified through pad", d)
		}
		b.pass(time.Hour)
		b.pages = "https://other.example" // the channel's own address takes precedence
		b.send("bea", mail.Custom, "The disk is full", mail.Draft{Priority: "urgent"})
		b.pass(time.Minute)
		b.send("bea", mail.ReviewRequest, "My change", mail.Draft{})
		b.pass(time.Minute)
		b.told("ann asks: Which port?", "Urgent: bea: The disk is full", "bea asks: My change")
		if n := b.pad.notes[2]; !strings.HasPrefix(n.URL, "https://box.example:8765/") {
			t.Errorf("the link is %s", n.URL)
		}
		if b.notify.Busy() {
			t.Error("busy when all is told")
		}
	})
}

// TestTellsOfPushes: a letter without a subject is told by its text, or else by its documents' names.
func TestTellsOfPushes(t *testing.T) {
	inFixture(t, config.Telling{What: "all"}, func(b *fixture) {
		b.send("ann", mail.Custom, "", mail.Draft{Body: "\n# Drafted the piece"})
		b.pass(time.Minute)
		b.send("ann", mail.Custom, "", mail.Draft{Body: " ", Docs: []mail.Doc{{Path: "a.md"}, {Path: "b.md"}}})
		b.pass(time.Minute)
		b.send("ann", mail.Question, "", mail.Draft{Body: "Ship it?"})
		b.send("bea", mail.Custom, "", mail.Draft{Body: "Done"})
		b.pass(time.Minute)
		var got []string
		for _, n := range b.pad.notes {
			got = append(got, n.Subject+" / "+n.Text)
		}
		want := []string{"ann wrote to you / Drafted the piece", "ann wrote to you / a.md · +1 more",
			"2 messages, 1 of them questions, from ann and bea / • ann asks: Ship it?\n• bea: Done"}
		if !slices.Equal(got, want) {
			t.Errorf("the notes are %q, want %q", got, want)
		}
	})
}

// TestFilter: each kind can be told alone, and all means all.
func TestFilter(t *testing.T) {
	for what, want := range map[config.What][]string{
		"questions": {"ann asks: Q"}, "urgent": {"Urgent: ann: U"},
		"all": {"ann: C", "ann asks: Q", "Urgent: ann: U"},
	} {
		inFixture(t, config.Telling{What: what}, func(b *fixture) {
			b.send("ann", mail.Custom, "C", mail.Draft{})
			b.pass(time.Minute)
			b.send("ann", mail.Question, "Q", mail.Draft{})
			b.pass(time.Minute)
			b.send("ann", mail.Custom, "U", mail.Draft{Priority: "urgent"})
			b.pass(time.Minute)
			b.told(want...)
		})
	}
}

// TestNoText: a channel without texts gets only a letter's sender and subject.
func TestNoText(t *testing.T) {
	no := false
	inFixture(t, config.Telling{Text: &no}, func(b *fixture) {
		b.pages = "https://192.168.1.5:8766" // the pages' address for phones
		b.send("ann", mail.Question, "Which port?", mail.Draft{Body: "the secret"})
		b.pass(gather)
		b.told("ann asks: Which port?")
		if n := b.pad.notes[0]; strings.Contains(n.Text, "secret") || n.Letters[0].Preview != "" || n.Text == "" ||
			!strings.HasPrefix(n.URL, b.pages+"/@lab/?m=") {
			t.Errorf("the note is %+v", n)
		}
	})
}

// TestBurst: letters at the same time are one note, the rest of a burst is one more half a minute later; and the
// text of a digest.
func TestBurst(t *testing.T) {
	inFixture(t, config.Telling{URL: "https://box.example"}, func(b *fixture) {
		b.send("ann", mail.Question, "One?", mail.Draft{})
		b.pass(gather)
		for _, from := range []mail.Name{"ann", "bea", "cat", "dan", "eve"} {
			b.send(from, mail.Question, "And?", mail.Draft{})
			b.pass(3 * time.Second)
		}
		b.told("ann asks: One?")
		b.pass(apart)
		b.told("ann asks: One?", "5 questions from ann, bea, cat and 2 others")
		n := b.pad.notes[1]
		if !strings.Contains(n.Text, "• eve asks: And?") || n.URL != "https://box.example/" || len(n.Letters) != 5 {
			t.Errorf("the digest is %+v", n)
		}
		if got := b.pad.when[1].Sub(b.pad.when[0]); got != apart {
			t.Errorf("the digest came %s behind the first note, want %s", got, apart)
		}
	})
}

// TestReadMeanwhile: nothing is told that the person has read, archived, snoozed or answered, or that is withdrawn,
// erased or in a deleted room; a snoozed letter is told at its time.
func TestReadMeanwhile(t *testing.T) {
	inFixture(t, config.Telling{}, func(b *fixture) {
		b.send("ann", mail.Question, "First", mail.Draft{})
		b.pass(gather)
		read := b.send("ann", mail.Question, "Read", mail.Draft{})
		archived := b.send("ann", mail.Custom, "Archived", mail.Draft{Priority: "urgent"})
		snoozed := b.send("ann", mail.Question, "Snoozed", mail.Draft{})
		answered := b.send("ann", mail.Question, "Answered", mail.Draft{})
		withdrawn := b.send("ann", mail.Question, "Withdrawn", mail.Draft{})
		erased := b.send("ann", mail.Question, "Erased", mail.Draft{})
		b.mark(mail.MarkRead, time.Time{}, read)
		b.mark(mail.MarkArchived, time.Time{}, archived)
		b.mark(mail.MarkSnoozed, time.Now().Add(2*time.Hour), snoozed)
		_, err := b.room.As(mail.User).Send(b.Context(), mail.Draft{To: mail.Recipients{"ann"}, Type: "answer",
			Body:    "x",
			ReplyTo: answered})
		b.must(err)
		b.must(b.room.As("ann").Withdraw(b.Context(), withdrawn))
		b.must(b.room.As(mail.User).Erase(b.Context(), erased))
		b.notify.offer("gone", &mail.Item{Message: mail.Message{ID: "msg_x", From: "agent:ann", Priority: mail.Urgent,
			Sent: mail.TimeOf(time.Now())}})
		b.pass(time.Hour)
		b.told("ann asks: First")
		b.pass(time.Hour)
		b.told("ann asks: First", "ann asks: Snoozed")
		if b.notify.Busy() {
			t.Error("busy when nothing is left")
		}
	})
}

// TestSnoozedIsToldAgain: a letter told and then snoozed is told again at its time, even by another process.
func TestSnoozedIsToldAgain(t *testing.T) {
	inFixture(t, config.Telling{}, func(b *fixture) {
		id := b.send("ann", mail.Question, "Q", mail.Draft{})
		b.pass(gather)
		b.mark(mail.MarkSnoozed, time.Now().Add(3*time.Hour), id)
		b.pass(time.Hour)
		b.end()
		b.start()
		b.pass(time.Hour)
		b.told("ann asks: Q")
		b.pass(time.Hour)
		b.told("ann asks: Q", "ann asks: Q")
	})
}

// TestQuietDigest: in quiet hours only urgent mail is told, if allowed, and the rest is one digest at their end.
func TestQuietDigest(t *testing.T) {
	for _, urgentToo := range []bool{false, true} {
		inFixture(t, config.Telling{}, func(b *fixture) {
			now := time.Now().Local()
			end := now.Add(9 * time.Hour)
			l := b.notify.lines[0]
			b.notify.mu.Lock()
			l.tell.Quiet = config.Quiet(now.Add(time.Hour).Format("15:04") + "-" + end.Format("15:04"))
			l.tell.QuietUrgent = &urgentToo
			b.notify.mu.Unlock()
			b.pass(time.Hour + time.Minute)
			b.send("ann", mail.Question, "Q1", mail.Draft{})
			b.send("bea", mail.Question, "Q2", mail.Draft{})
			read := b.send("bea", mail.Question, "Q3", mail.Draft{})
			b.send("cat", mail.Custom, "U", mail.Draft{Priority: "urgent"})
			b.pass(time.Hour)
			b.mark(mail.MarkRead, time.Time{}, read)
			how, putOff := b.notify.Wake(true, false, mail.TimeOf(time.Now()))
			if how != mail.WakeDeferred || putOff != mail.TimeOf(end) {
				t.Errorf("a sender is told %s until %s, want %s", how, putOff, mail.TimeOf(end))
			}
			if !b.notify.Busy() {
				t.Error("not busy, and somebody is to be told")
			}
			b.pass(6 * time.Hour)
			want := []string{"3 messages, 2 of them questions, from ann, bea and cat"}
			if urgentToo {
				b.told("Urgent: cat: U")
				want = []string{"Urgent: cat: U", "2 questions from ann and bea"}
			} else {
				b.told()
			}
			b.pass(2 * time.Hour)
			b.told(want...)
			if at := b.pad.when[len(want)-1].Sub(end); at < 0 || at > gather {
				t.Errorf("the digest came %s behind the end of the quiet hours", at)
			}
			if how, _ := b.notify.Wake(true, false, mail.TimeOf(time.Now())); how != "pad" {
				t.Errorf("a sender is told %q after the quiet hours, want pad", how)
			}
		})
	}
}

// TestRetries: a failed note is retried with growing pauses, the person is told on the pages once a day, and in the
// end everything is told except letters read in the meantime.
func TestRetries(t *testing.T) {
	inFixture(t, config.Telling{}, func(b *fixture) {
		b.pad.set(errDown)
		b.send("ann", mail.Question, "Q1", mail.Draft{})
		read := b.send("ann", mail.Question, "Q2", mail.Draft{})
		notices := func() (n int) {
			page, err := b.room.As(mail.User).Inbox(b.Context(), mail.InboxQuery{From: "system"})
			b.must(err)
			for _, it := range page.Messages {
				if it.Priority != mail.Urgent || !strings.Contains(it.Body, "503") ||
					!strings.Contains(it.Body, "pennypost notify test pad") {
					t.Errorf("the notice is %+v", it)
				}
			}
			return len(page.Messages)
		}
		b.pass(gather + 150*time.Second)
		if b.pad.tried != 5 || notices() != 1 { // after 0, 10, 30, 70 and 150 s
			t.Errorf("tried %d times in 150 s, and %d notices; want 5 and 1", b.pad.tried, notices())
		}
		if got := b.notify.Troubles(); len(got) != 1 || got[0] != "notify pad: answered 503 Service Unavailable" {
			t.Errorf("troubles: %q", got)
		}
		if how, _ := b.notify.Wake(true, false, 0); how != "" || b.notify.Busy() {
			t.Errorf("senders are told that %q, and it is busy %v, while it fails", how, b.notify.Busy())
		}
		b.pass(11 * time.Hour)
		if b.pad.tried > 5+6+22 || notices() != 1 {
			t.Errorf("tried %d times in 11 h, and %d notices", b.pad.tried, notices())
		}
		b.pass(24 * time.Hour)
		if notices() != 2 {
			t.Errorf("%d notices on the second day, want 2", notices())
		}
		b.mark(mail.MarkRead, time.Time{}, read)
		b.pad.set(nil)
		b.pass(lastRetry)
		b.told("ann asks: Q1")
		if got := b.notify.Troubles(); len(got) != 0 {
			t.Errorf("troubles: %q", got)
		}
	})
}

// TestNoticeGoesElsewhere: a notice that a channel fails goes through the others.
func TestNoticeGoesElsewhere(t *testing.T) {
	inFixture(t, config.Telling{}, func(b *fixture) {
		b.end()
		var other pad
		b.more = func(n *Notifier) { n.addLine("other", &other, config.Telling{What: "urgent"}, true, false) }
		b.start()
		b.pad.set(errDown)
		b.send("ann", mail.Question, "Q1", mail.Draft{})
		b.pass(10 * time.Minute)
		if got := other.subjects(); len(got) != 1 ||
			got[0] != "Urgent: the post office: Notifications fail: pad" {
			t.Errorf("told elsewhere: %q", got)
		}
	})
}

// TestRestart: the next process tells nothing twice, and tells what the last one could not; a new channel gets
// nothing from before it.
func TestRestart(t *testing.T) {
	inFixture(t, config.Telling{}, func(b *fixture) {
		b.send("ann", mail.Question, "Told", mail.Draft{})
		b.pass(gather)
		b.pad.set(errDown)
		b.send("ann", mail.Question, "Failed", mail.Draft{})
		b.pass(time.Minute)
		b.end()
		b.pad.set(nil)
		var other pad
		b.more = func(n *Notifier) { n.addLine("other", &other, config.Telling{What: "all"}, true, false) }
		b.start()
		if got := b.notify.Rooms(); len(got) != 1 || got[0] != "lab" {
			t.Errorf("rooms to open: %v", got)
		}
		b.pass(time.Hour)
		b.told("ann asks: Told", "ann asks: Failed")
		b.end()
		b.start()
		b.pass(time.Hour)
		b.told("ann asks: Told", "ann asks: Failed")
		if got := other.subjects(); len(got) != 0 {
			t.Errorf("the new channel was told %q", got)
		}
	})
}

// TestOldMail: mail sent long before it arrives, through a bridge or an import, is not told.
func TestOldMail(t *testing.T) {
	inFixture(t, config.Telling{What: "all"}, func(b *fixture) {
		b.pass(30 * 24 * time.Hour)
		_, err := b.room.As(mail.User).Import(b.Context(),
			[]mail.Item{{Message: mail.Message{ID: "old-1", Type: "question",
				From: "agent:ann", To: []mail.Address{"user"}, Body: "Old?",
				Sent: mail.TimeOf(time.Now().Add(-tellable -
					time.Hour))}}})
		b.must(err)
		b.pass(time.Hour)
		b.told()
	})
}
