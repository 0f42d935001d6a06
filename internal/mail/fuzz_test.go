package mail

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzWords checks that a parser returns the text that it accepts unchanged, and accepts it again.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"ann", "小克 builder", "us\u200der", "agent:x", "a@b", "..", "CON.txt",
		"msg_V1StGXR8_Z5jdHi6B-myT", "role:x", "project:a b", "urgent", "\xff", "read", "held"} {
		f.Add(s)
	}
	same := func(t *testing.T, what, in, out string, err error) {
		t.Helper()
		if err != nil && CodeOf(err) == Internal {
			t.Errorf("%s of %q: %v", what, in, err)
		}
		if err == nil && (out != in && in != "" || !utf8.ValidString(out)) {
			t.Errorf("%s of %q = %q", what, in, out)
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		name, err := ParseName(s)
		same(t, "ParseName", s, string(name), err)
		id, err := ParseID(s)
		same(t, "ParseID", s, string(id), err)
		room, err := ParseRoom(s)
		same(t, "ParseRoom", s, string(room), err)
		kind, err := ParseType(s)
		same(t, "ParseType", s, string(kind), err)
		mark, err := ParseMark(s)
		same(t, "ParseMark", s, string(mark), err)
		state, err := ParseState(s)
		same(t, "ParseState", s, string(state), err)
		delivery, err := ParseDeliveryState(s)
		same(t, "ParseDeliveryState", s, string(delivery), err)
		place, err := ParsePlace(s)
		same(t, "ParsePlace", s, string(place), err)
		if role, err := ParseRole(s); err == nil {
			again, err := ParseRole(role)
			same(t, "ParseRole", role, again, err)
		}
		if tag, err := ParseTag(s, TagNamespaces()); err == nil {
			again, err := ParseTag(tag, TagNamespaces())
			same(t, "ParseTag", tag, again, err)
		}
	})
}

// FuzzTime checks that a parsed time is written in a form that parses to the same time.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"2026-05-10T14:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.9999-00:01",
		"2026-05-10", "2026-02-30T00:00:00Z", "1970-01-01T00:00:00Z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, err := ParseTime(s)
		if err != nil || at == 0 { // the zero Time means none
			return
		}
		again, err := ParseTime(at.String())
		if err != nil || again != at || len(at.String()) != len(timeLayout) {
			t.Errorf("%q is read as %d, written as %q, read as %d: %v", s, at, at, again, err)
		}
	})
}

// FuzzEvent checks that an event, which may come from archives, exports and other post offices, survives a round
// trip through JSON.
func FuzzEvent(f *testing.F) {
	for _, s := range []string{
		`{"seq":41,"at":"2026-05-10T14:00:00.123Z","message":{"id":"msg_1","type":"status","from":"agent:a",` +
			`"to":["all"],"body":"Hi","metadata":{"a":1e99999}}}`,
		`{"receipt":{"message":"m","reader":"agent:a","mark":"read"}}`,
		`{"agent":{"name":"a","roles":[],"task":""}}`, `{"checkpoint":{"after":1}}`,
		`{"message":{"metadata":null}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var e Event
		if json.Unmarshal(text, &e) != nil {
			return
		}
		once, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("%q is read as %+v and cannot be written: %v", text, e, err)
		}
		var again Event
		if err := json.Unmarshal(once, &again); err != nil {
			t.Fatalf("%q is written as %q and cannot be read: %v", text, once, err)
		}
		if twice, err := json.Marshal(again); err != nil || string(twice) != string(once) {
			t.Errorf("%q is written as %q, then as %q: %v", text, once, twice, err)
		}
	})
}

// FuzzWhen: no text makes ParseWhen panic, "ago" is never in the future, and an error comes without a time.
func FuzzWhen(f *testing.F) {
	now := time.Date(2026, 5, 10, 14, 0, 0, 0, time.UTC)
	for _, s := range []string{"2h", "65535w", "0m", "2026-05-10", "2026-05-10 14:00", "last week", "yesterday 9:00",
		"w", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, err := ParseWhen(s, now, Since)
		if err == nil && strings.HasSuffix(s, " ago") && at > TimeOf(now) {
			t.Errorf("%q is %v", s, at)
		}
		if at, err = ParseWhen(s, now, Until); err != nil && at != 0 {
			t.Errorf("%q is %v and an error", s, at)
		}
	})
}
