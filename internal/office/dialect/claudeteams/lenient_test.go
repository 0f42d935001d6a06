package claudeteams

import (
	"os"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// odd is an inbox that JSON.parse accepts and a strict JSON parser does not. The inner lines are as
// JSON.stringify(…, null, 2) prints them, except for repeated members.
const odd = `[
  {
    "from": "nobody",
    "text": "not this",
    "from": "reviewer",
    "text": "repeated keys",
    "read": true,
    "timestamp": "2026-05-10T14:00:01.000Z",
    "read": false,
    "lead_sig": "no",
    "lead_sig": "c2ln"
  },
  {
    "from": "reviewer",
    "text": "any time",
    "timestamp": "yesterday, I think",
    "read": false
  },
  {
    "from": "",
    "text": "no name",
    "timestamp": "2026-05-10T14:00:03.000Z",
    "read": false
  },
  {
    "from": "reviewer@alpha",
    "text": "half \ud83d of a character",
    "timestamp": "2026-05-10T14:00:04.000Z",
    "read": false
  },
  {
    "from": "reviewer",
    "text": "an id",
    "timestamp": "2026-05-10T14:00:05.000Z",
    "msgV": 1,
    "msg_id": "00000000-0000-4000-8000-0000000000a1",
    "type": "message",
    "read": false
  },
  {
    "from": "reviewer",
    "text": "the same id",
    "timestamp": "2026-05-10T14:00:06.000Z",
    "msgV": 1,
    "msg_id": "00000000-0000-4000-8000-0000000000a1",
    "type": "message",
    "read": false
  },
  {
    "from": "reviewer",
    "text": "{\"type\":\"task_assignment\",\"taskId\":\"1\",\"subject\":\"not this\",\"subject\":\"Twice\",\"description\":\"a frame\"}",
    "timestamp": "2026-05-10T14:00:07.000Z",
    "msg_id": 7,
    "read": false
  }
]`

// TestReadAsTheClientReads: every message that Claude Code reads from a file is mail, even if a strict parser
// rejects the file. The file stays as it is, and Claude Code's rewrite of it is no news.
func TestReadAsTheClientReads(t *testing.T) {
	h := newHQ(t, "alpha")
	h.write(h.inbox("tester"), odd)
	st := h.Bridge("")
	want := []string{"repeated keys", "any time", "no name", "half \ufffd of a character", "an id", "the same id",
		"a frame"}
	if st.Rejected != 0 || st.Notice != "" {
		t.Errorf("the bridge says %+v", st)
	}
	wantDiff(t, want, h.bodies("tester"))
	wantDiff(t, odd, h.read(h.inbox("tester")))
	for body, want := range map[string]struct{ from, metadata string }{
		"repeated keys":              {"agent:reviewer", `"extra":{"lead_sig":"c2ln"}`},
		"any time":                   {"agent:reviewer", `"timestamp":"yesterday, I think"`},
		"no name":                    {"agent:unknown", `{"team":"alpha"}`},
		"half \ufffd of a character": {"agent:unknown", `"from":"reviewer@alpha"`},
		"the same id":                {"agent:reviewer", `"msg_id":"00000000-0000-4000-8000-0000000000a1"`},
		"a frame":                    {"agent:reviewer", `"subject":"Twice"`},
	} {
		it := h.item(body)
		if string(it.From) != want.from || !strings.Contains(string(it.Metadata), want.metadata) {
			t.Errorf("%q is from %s, with %s; want %s, %s", body, it.From, it.Metadata, want.from, want.metadata)
		}
	}
	if it := h.item("an id"); it.ID != "00000000-0000-4000-8000-0000000000a1" {
		t.Errorf("its id is %s", it.ID)
	}
	if before, it := h.item("repeated keys"), h.item("any time"); it.Sent != before.Sent {
		t.Errorf("sent %v, behind what was sent %v", it.Sent, before.Sent)
	}
	if it := h.item("a frame"); it.Subject != "Twice" || it.Type != mail.TaskAssigned {
		t.Errorf("the frame is a %s about %q", it.Type, it.Subject)
	}

	t.Run("written by us", func(t *testing.T) {
		h.Register("codex")
		h.Send("codex", mail.Draft{To: mail.Recipients{"tester"}, Body: "behind"})
		if text := h.read(h.inbox("tester")); !strings.HasPrefix(text, strings.TrimSuffix(odd, "\n]")) {
			t.Errorf("not every byte stayed: %s", text)
		}
	})
	t.Run("written by the client", func(t *testing.T) {
		text := strings.Replace(h.read(h.inbox("tester")), `    "from": "nobody",
    "text": "not this",
`, "", 1)
		text = strings.Replace(text, `    "read": true,
    "timestamp": "2026-05-10T14:00:01.000Z",
    "read": false,
    "lead_sig": "no",
`, `    "timestamp": "2026-05-10T14:00:01.000Z",
    "read": false,
`, 1)
		h.swap(h.inbox("tester"), text)
		h.Sync()
		if n := len(h.History()); n != len(want)+1 {
			t.Errorf("the room has %d messages, want %d", n, len(want)+1)
		}
	})
	t.Run("by a new post office", func(t *testing.T) {
		h.Stop()
		h.Start()
		if st := h.Sync(); st.Failing != "" || len(h.History()) != len(want)+1 {
			t.Errorf("the room has %d messages; the bridge says %+v", len(h.History()), st)
		}
		wantDiff(t, want, h.bodies("tester")[:len(want)])
	})
}

// TestOneIDTwice: an entry that has an earlier entry's id and different content is a message, even if the earlier
// one is gone, and whatever their order at the next start.
func TestOneIDTwice(t *testing.T) {
	h := newHQ(t, "alpha")
	one := entry{From: "team-lead", Text: "one", Timestamp: at(1), native: true,
		MsgID: "00000000-0000-4000-8000-000000000011"}
	two, three := one, one
	two.Text, three.Text = "two", "three"
	h.put("tester", one, one)
	h.Bridge("")
	h.put("tester", two)
	h.Sync()
	h.put("reviewer", three)
	h.Sync()
	wantDiff(t, []string{"two"}, h.bodies("tester"))
	wantDiff(t, []string{"three"}, h.bodies("reviewer"))
	if it := h.item("one"); it.ID != mail.ID(one.MsgID) || !it.Read && it.Deliveries[0].State != mail.Read {
		t.Errorf("the first, which was taken out, is %+v", it)
	}
	h.Stop()
	h.put("reviewer")
	h.put("tester", three, two)
	h.Start()
	h.Sync()
	wantDiff(t, []string{"two", "three"}, h.bodies("tester"))
	if n := len(h.History()); n != 4 {
		t.Errorf("the room has %d messages", n)
	}
}

// TestErasedTwin: an entry whose id in the room differs from that in its file is erased from the file too, even if
// someone rewrote the file in between.
func TestErasedTwin(t *testing.T) {
	h := newHQ(t, "alpha")
	one := entry{From: "team-lead", Text: "one", Timestamp: at(1), native: true,
		MsgID: "00000000-0000-4000-8000-000000000011"}
	two := one
	two.Text = "two"
	h.put("tester", one, two)
	h.Bridge("")
	id := h.item("two").ID
	three := entry{From: "team-lead", Text: "three", Timestamp: at(2)}
	h.put("tester", one, two, three)
	if err := h.As(mail.User).Erase(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	h.Sync()
	text := h.read(h.inbox("tester"))
	if strings.Contains(text, "two") || !strings.Contains(text, "one") || !strings.Contains(text, "three") {
		t.Errorf("the inbox has %s", text)
	}
}

// TestRefusedByTheClient: an entry that Claude Code drops is not reported as delivered, nor as read once it is
// dropped.
func TestRefusedByTheClient(t *testing.T) {
	h := newHQ(t, "alpha")
	h.write(h.inbox("tester"), `[{"from":"reviewer","text":"no color","timestamp":"`+at(1)+`","color":null}]`)
	h.Bridge("")
	check := func(when string) {
		t.Helper()
		it := h.item("no color")
		if d := it.Deliveries[0]; d.State != mail.Queued || d.Door != "" {
			t.Errorf("%s it is %s by %q", when, d.State, d.Door)
		}
		if !strings.Contains(string(it.Metadata), `"refused":true`) {
			t.Errorf("the metadata are %s", it.Metadata)
		}
	}
	check("in its inbox")
	h.put("tester")
	h.Sync()
	check("when it is gone")
	h.Stop()
	h.Start()
	h.Sync()
	check("later")
}

// TestNativeKeys: members that 2.1.330 writes beyond those in the document reach the room and stay in the file.
func TestNativeKeys(t *testing.T) {
	const raw = `[
  {
    "from": "team-lead",
    "text": "{\"type\":\"idle_notification\",\"from\":\"team-lead\",\"idleReason\":\"available\",\"result\":\"All done.\"}",
    "timestamp": "2026-05-10T14:00:01.000Z",
    "from_plugin": "notes",
    "msgV": 1,
    "msg_id": "00000000-0000-4000-8000-000000000011",
    "type": "message",
    "read": false,
    "lead_sig": "c2ln"
  }
]`
	h := newHQ(t, "session-0a1b2c3d")
	h.write(h.inbox("tester"), raw)
	h.Bridge("")
	it := h.item("All done.")
	if it.ID != "00000000-0000-4000-8000-000000000011" || it.Subject != "idle: available" {
		t.Errorf("it is %s, about %q", it.ID, it.Subject)
	}
	wantDiff(t, `{"claudeteams":{"team":"session-0a1b2c3d","type":"idle_notification","derived":["subject"],`+
		`"extra":{"from_plugin":"notes","lead_sig":"c2ln"},"payload":{"type":"idle_notification",`+
		`"from":"team-lead","idleReason":"available","result":"All done."}}}`, string(it.Metadata))
	h.Register("codex")
	h.Send("codex", mail.Draft{To: mail.Recipients{"tester"}, Body: "behind"})
	text := h.read(h.inbox("tester"))
	if !strings.HasPrefix(text, strings.TrimSuffix(raw, "\n]")) || !strings.Contains(text, `"msgV": 1,
    "msg_id": "`+string(h.entryFor("tester", "behind"))) {
		t.Errorf("the inbox has %s", text)
	}
}

// entryFor returns an entry's id in its file.
func (h *hq) entryFor(name, text string) mail.ID {
	h.t.Helper()
	b := inboxAt(h.inbox(name), "x", name)
	if _, err := b.load(); err != nil {
		h.t.Fatal(err)
	}
	for _, l := range b.letters {
		if strings.HasPrefix(l.Text, text) {
			return mail.ID(l.MsgID)
		}
	}
	h.t.Fatalf("no %q", text)
	return ""
}

// TestTimeOfOddTimes: an entry with an unreadable time gets that of the entry before it; the first gets that of the
// next or, if there is none, the file's.
func TestTimeOfOddTimes(t *testing.T) {
	h := newHQ(t, "alpha")
	h.put("tester", entry{From: "reviewer", Text: "first", Timestamp: "?"},
		entry{From: "reviewer", Text: "second", Timestamp: at(100)},
		entry{From: "reviewer", Text: "third", Timestamp: ""})
	h.put("reviewer", entry{From: "reviewer", Text: "alone", Timestamp: "?"})
	written := time.Date(2026, 5, 10, 14, 1, 0, 0, time.UTC)
	for _, name := range []string{"tester", "reviewer"} {
		if err := os.Chtimes(h.inbox(name), written, written); err != nil {
			t.Fatal(err)
		}
	}
	h.Bridge("")
	wantDiff(t, []string{"first", "second", "third"}, h.bodies("tester"))
	for body, want := range map[string]string{"first": at(100), "third": at(100), "alone": isoTime(written)} {
		if got := h.item(body).Sent.String(); got != want {
			t.Errorf("%s was sent %s, want %s", body, got, want)
		}
	}
}
