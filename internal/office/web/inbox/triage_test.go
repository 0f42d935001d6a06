package inbox_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
	"pennypost/internal/office/web/inbox"
	"pennypost/internal/office/web/sitetest"
	"pennypost/internal/office/web/undo"
	"pennypost/internal/office/web/words"
)

// ids returns the message ids in a part of the user's mailbox.
func (b *fixture) ids(place mail.Place) (ids []mail.ID) {
	b.T.Helper()
	page, err := b.As(mail.User).Inbox(context.Background(), mail.InboxQuery{All: true, Place: place})
	if err != nil {
		b.T.Fatal(err)
	}
	for _, it := range page.Messages {
		ids = append(ids, it.ID)
	}
	return ids
}

func (b *fixture) item(id mail.ID) mail.Item {
	b.T.Helper()
	it, err := b.As(mail.User).Message(context.Background(), id)
	if err != nil {
		b.T.Fatal(err)
	}
	return it
}

func TestMarks(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann"})
	id := b.Send("ann", mail.Draft{Subject: "One"})
	tests := []struct {
		form   url.Values
		toast  []string
		is     func(mail.Item) bool
		places [3]int // counts in the inbox, snoozed, archived
	}{
		{url.Values{"mark": {"read"}}, []string{"Marked read"}, func(it mail.Item) bool {
			return it.Read
		}, [3]int{1, 0, 0}},
		{url.Values{"mark": {"unread"}}, []string{"Marked unread"}, func(it mail.Item) bool {
			return !it.Read
		}, [3]int{1, 0, 0}},
		{url.Values{"mark": {"archived"}}, []string{"Archived", "Undo", `data-done="gone"`},
			func(it mail.Item) bool { return it.State == mail.Archived }, [3]int{0, 0, 1}},
		{url.Values{"mark": {"unarchived"}}, []string{"Back in the inbox", `data-done="back"`},
			func(it mail.Item) bool { return it.State != mail.Archived }, [3]int{1, 0, 0}},
		{url.Values{"mark": {"snoozed"}, "until": {"tomorrow"}}, []string{"Snoozed “", "” until ", "Undo", `data-done="gone"`},
			func(it mail.Item) bool { return it.Snoozed != 0 }, [3]int{0, 1, 0}},
		{url.Values{"mark": {"unread"}}, []string{"Marked unread", `data-done="back"`}, func(it mail.Item) bool {
			return it.Snoozed == 0
		}, [3]int{1, 0, 0}},
	}
	for _, tt := range tests {
		tt.form.Set("id", string(id))
		a := b.Post("/@shop/mark", tt.form, sitetest.AsScript("div#toasts")).Want(t, 200, tt.toast...)
		if got := a.Header.Get("HX-Trigger"); got != "pp-done" {
			t.Errorf("%v triggers %q", tt.form, got)
		}
		if it := b.item(id); !tt.is(it) {
			t.Errorf("after %v the message is %+v", tt.form, it)
		}
		places := [3]int{len(b.ids(mail.InInbox)), len(b.ids(mail.InSnoozed)), len(b.ids(mail.InArchived))}
		if places != tt.places {
			t.Errorf("after %v the message is in %v, want %v", tt.form, places, tt.places)
		}
	}
	b.Post("/@shop/mark", url.Values{"id": {string(id)}, "mark": {"archived"}, "next": {"/?show=unread"}}).Want(t, 303)
}

// undoOf undoes a toast's action.
func (b *fixture) undoOf(a sitetest.Answer) sitetest.Answer {
	b.T.Helper()
	return b.Post("/@shop/undo", url.Values{"key": {sitetest.Link(b.T.(*testing.T), a.Body, `name="key"`, "value")}},
		sitetest.AsScript("div#toasts"))
}

// TestBatch tests that an action on messages of several rooms has one toast, and that one undo restores each message.
func TestBatch(t *testing.T) {
	b := newFixture(t)
	b.AddRoom("macro")
	b.Register(mail.Presence{Name: "ann"})
	ids := []mail.ID{b.Send("ann", mail.Draft{Subject: "One"}), b.Send("ann", mail.Draft{Subject: "Two"})}
	b.brought(1, "agent:ann", map[string]time.Duration{"three": time.Hour})
	if _, err := b.As(mail.User).Mark(t.Context(), mail.Marking{IDs: ids[1:], Mark: mail.MarkRead}); err != nil {
		t.Fatal(err)
	}
	all := url.Values{"messages": {"shop/" + string(ids[0]) + "\r\nshop/" + string(ids[1]) + "\r\nmacro/three"}}
	stand := func() string {
		three, err := b.Office.Open[1].As(mail.User).Message(t.Context(), "three")
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, it := range []mail.Item{b.item(ids[0]), b.item(ids[1]), three} {
			text += fmt.Sprintf("%v,%v,%v ", it.Read, it.State == mail.Archived, it.Snoozed != 0)
		}
		return text
	}
	was := stand()
	for _, tt := range []struct {
		form  url.Values
		toast string
		then  string
	}{
		{url.Values{"mark": {"archived"}}, "Archived 3 messages",
			"false,true,false true,true,false false,true,false "},
		{url.Values{"mark": {"read"}}, "Marked 3 messages read",
			"true,false,false true,false,false true,false,false "},
		{url.Values{"mark": {"unread"}}, "Marked 3 messages unread",
			"false,false,false false,false,false false,false,false "},
		{url.Values{"mark": {"snoozed"}, "until": {"tomorrow"}}, "Snoozed 3 messages until ",
			"false,false,true false,false,true false,false,true "},
	} {
		tt.form["messages"] = all["messages"]
		toast := b.Post("/@shop/mark", tt.form, sitetest.AsScript("div#toasts")).Want(t, 200, tt.toast, "Undo")
		if got := stand(); got != tt.then {
			t.Errorf("%s: %s, want %s", tt.toast, got, tt.then)
		}
		b.undoOf(toast).Want(t, 200, "Undone", `data-done="back"`)
		if got := stand(); got != was {
			t.Errorf("%s, taken back: %s, want %s", tt.toast, got, was)
		}
		b.undoOf(toast).Want(t, 404, "too late")
	}
	toast := b.Post("/@shop/delete", all, sitetest.AsScript("div#toasts")).Want(t, 200, "Deleted 3 messages")
	b.Get("/@shop/").Without(t, "One", "Two")
	b.undoOf(toast).Want(t, 200)
	if got := stand(); got != was {
		t.Errorf("deleted, and taken back: %s, want %s", got, was)
	}
	b.Post("/@shop/mark", url.Values{"messages": {"nowhere/x"}, "mark": {"read"}}).Want(t, 404,
		"room nowhere no longer exists")
}

// TestP13_ArchiveAsksOnce tests that archiving open questions asks the person once for all of them, and that each
// choice does what it says.
func TestP13_ArchiveAsksOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		b.Register(mail.Presence{Name: "ann"})
		ask := func(n int) (all url.Values, ids []mail.ID) {
			lines := "shop/" + string(b.Send("ann", mail.Draft{Subject: "A report"}))
			for i := range n {
				id := b.Send("ann", mail.Draft{Type: "question", Subject: fmt.Sprintf("Which %d?", i)})
				ids = append(ids, id)
				lines += "\nshop/" + string(id)
			}
			return url.Values{"messages": {lines}, "mark": {"archived"}}, ids
		}
		archived := func() int { return len(b.ids(mail.InArchived)) }
		all, ids := ask(7)
		dialog := b.Post("/@shop/mark", all, sitetest.AsScript("div#toasts")).Want(t, 200, "<dialog",
			"7 of them are still wait",
			"Which 0?", "and 2 more", "Decline all", "Archive the other", "Archive anyway").Without(t, "Which 5?")
		if got := dialog.Header.Get("HX-Retarget"); got != "#dialog" || archived() != 0 {
			t.Errorf("asked at %q, and archived %d", got, archived())
		}
		all.Set("open", "leave")
		b.Post("/@shop/mark", all, sitetest.AsScript("div#toasts")).Want(t, 200, "Archived")
		if archived() != 1 {
			t.Errorf("%d archived, want the one that waits for nothing", archived())
		}
		all.Set("open", "archive")
		b.Post("/@shop/mark", all, sitetest.AsScript("div#toasts")).Want(t, 200, "Archived 8 messages")
		if archived() != 8 || !b.item(ids[0]).Open {
			t.Errorf("%d archived, want all, and the questions open", archived())
		}

		one, ids := ask(1)
		b.Post("/@shop/mark", one).Want(t, 200, "<h1 id=\"archive-title\">It is still waiting for an answer",
			`href="/@shop/?m=`+string(ids[0])+`">Answer`) // without script
		one.Set("open", "decline")
		toast := b.Post("/@shop/mark", one, sitetest.AsScript("div#toasts")).Want(t, 200,
			"Archived 2 messages, and declined 1")
		time.Sleep(undo.Time / 2)
		b.undoOf(toast).Want(t, 200)
		time.Sleep(undo.Time)
		if it := b.item(ids[0]); !it.Open || archived() != 8 {
			t.Errorf("taken back, %d are archived, and the question is %+v", archived(), it)
		}
		b.Post("/@shop/mark", one, sitetest.AsScript("div#toasts")).Want(t, 200)
		time.Sleep(2 * undo.Time)
		if it := b.item(ids[0]); it.Open || it.Settled == nil || it.Settled.As != mail.Declined || archived() != 10 {
			t.Errorf("declined, %d are archived, and the question is %+v", archived(), it)
		}
	})
}

func TestMarkRefuses(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann"}, mail.Presence{Name: "ben"})
	mine, other := string(b.Send("ann", mail.Draft{})), string(b.Send("ann", mail.Draft{To: mail.Recipients{"ben"}}))
	for _, tt := range []struct {
		form url.Values
		code int
	}{
		{url.Values{}, 400},
		{url.Values{"id": {"nothing"}, "mark": {"read"}}, 404},
		{url.Values{"id": {mine}, "mark": {"presented"}}, 400},
		{url.Values{"id": {mine}, "mark": {"<b>"}}, 400},
		{url.Values{"id": {mine}, "mark": {"snoozed"}}, 400},
		{url.Values{"id": {mine}, "mark": {"snoozed"}, "at": {"yesterday"}}, 400},
		{url.Values{"id": {mine}, "mark": {"snoozed"}, "at": {"2001-01-01T00:00"}}, 400},
		{url.Values{"id": {other}, "mark": {"archived"}}, 403},
	} {
		b.Post("/@shop/mark", tt.form).Want(t, tt.code).Without(t, "<b>")
	}
	if it := b.item(mail.ID(mine)); it.Read || it.Snoozed != 0 {
		t.Errorf("a form that was refused marked the message: %+v", it)
	}
}

func TestDelete(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann"})
	keep, gone := b.Send("ann", mail.Draft{Subject: "Kept"}), b.Send("ann", mail.Draft{Subject: "Thrown away"})
	form := func(id mail.ID) url.Values { return url.Values{"id": {string(id)}} }
	b.Post("/@shop/delete", form(gone), sitetest.AsScript("div#toasts")).Want(t, 200, "Deleted", "Undo",
		`data-done="gone"`)
	toast := b.Post("/@shop/delete", form(keep), sitetest.AsScript("div#toasts"))
	b.Post("/@shop/delete", form(gone)).Want(t, 303)
	b.Get("/@shop/").Want(t, 200).Without(t, "Kept", "Thrown away")
	b.Get("/@shop/?m="+string(gone)).Want(t, 404, "just been deleted")
	if n := len(b.ids(mail.InInbox)); n != 2 {
		t.Fatalf("before the time to undo was over, %d messages are left of 2", n)
	}
	b.undoOf(toast).Want(t, 200, "Undone", `data-done="back"`)
	b.undoOf(toast).Want(t, 404, "too late")
	b.Get("/@shop/").Want(t, 200, "Kept").Without(t, "Thrown away")
	b.Site.Close()
	if got := b.ids(mail.InInbox); !slices.Equal(got, []mail.ID{keep}) {
		t.Errorf("after the site was closed the inbox holds %v, want %v", got, keep)
	}
	b.Post("/@shop/delete", form("nothing")).Want(t, 404)
	b.Part("/@shop/letter?m="+string(gone), "letter").Want(t, 200, "has been deleted")
}

// TestKeysOfActs tests that the list's script and the list of keys agree with package triage.
func TestKeysOfActs(t *testing.T) {
	script, err := os.ReadFile("../asset/static/triage.js")
	if err != nil {
		t.Fatal(err)
	}
	b := newFixture(t)
	page := b.Get("/@shop/").Want(t, 200)
	for _, act := range []triage.Act{triage.Archive, triage.Read, triage.Snooze, triage.Delete} {
		if !strings.Contains(string(script), act.Key()+`: "`+string(act)+`"`) {
			t.Errorf("triage.js does not %s with %s", act, act.Key())
		}
		page.Want(t, 200, "<kbd>"+act.Key()+"</kbd>")
	}
	for _, act := range []triage.Act{triage.Option, triage.Adopt, triage.Reply, triage.Undo, triage.Compose} {
		page.Want(t, 200, "<kbd>"+act.Key()+"</kbd>")
	}
}

func TestSnoozes(t *testing.T) {
	zone := time.FixedZone("there", 2*3600)
	at := func(text string) time.Time {
		when, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	for _, tt := range []struct{ now, later, tomorrow, week string }{
		{"2026-05-13 10:10", "2026-05-13 13:00", "2026-05-14 09:00", "2026-05-18 09:00"}, // a Wednesday
		{"2026-05-17 08:20", "2026-05-17 11:30", "2026-05-18 09:00", "2026-05-18 09:00"}, // a Sunday
		{"2026-05-18 08:00", "2026-05-18 11:00", "2026-05-19 09:00", "2026-05-25 09:00"}, // a Monday
		{"2026-12-31 22:00", "", "2027-01-01 09:00", "2027-01-04 09:00"},
	} {
		got := map[string]string{}
		for _, s := range words.Snoozes(at(tt.now)) {
			got[s.Name] = s.At.Std().In(zone).Format("2006-01-02 15:04")
		}
		if got["later"] != tt.later || got["tomorrow"] != tt.tomorrow || got["week"] != tt.week {
			t.Errorf("at %s one can put off until %v, want %s, %s, %s", tt.now, got, tt.later, tt.tomorrow, tt.week)
		}
	}
	now := at("2026-05-13 10:10")
	until, err := inbox.SnoozeUntil(url.Values{"at": {"2026-06-01T07:30"}}, now)
	if err != nil || !until.Std().Equal(at("2026-06-01 07:30")) {
		t.Errorf("a chosen time is %v, %v", until, err)
	}
}

func TestMoment(t *testing.T) {
	now := time.Date(2026, 5, 13, 10, 0, 0, 0, time.UTC)
	for text, d := range map[string]time.Duration{
		"12:00": 2 * time.Hour, "08:00": -2 * time.Hour, "Friday 10:00": 48 * time.Hour,
		"11 May 10:00": -48 * time.Hour, "13 May 2025 10:00": -365 * 24 * time.Hour,
	} {
		if got := words.Moment(now, mail.TimeOf(now.Add(d))); got != text {
			t.Errorf("moment(%v) = %q, want %q", d, got, text)
		}
	}
}
