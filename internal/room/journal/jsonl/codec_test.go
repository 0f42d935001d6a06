package jsonl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/journaltest"
)

// The format of docs/journal.md, byte by byte. Another program computed the checksums.
func TestFormat(t *testing.T) {
	task := "Parser"
	tests := []struct {
		event mail.Event
		want  string
	}{
		{mail.Event{Seq: 41, At: 1778421600123, Message: &mail.Message{
			ID: "msg_V1StGXR8_Z5jdHi6B-myT", Type: mail.TaskAssigned, From: "orchestrator",
			To: []mail.Address{"agent:ag_x1"}, Subject: "Parser", Body: "…",
		}},
			`{"seq":41,"at":"2026-05-10T14:00:00.123Z","message":{"id":"msg_V1StGXR8_Z5jdHi6B-myT","type":"task-assigned","from":"orchestrator","to":["agent:ag_x1"],"subject":"Parser","body":"…"},"crc":"b062317a"}`},
		{mail.Event{Seq: 42, Receipt: &mail.Receipt{Message: "m", Reader: "agent:ag_x1", Mark: mail.MarkRead}},
			`{"seq":42,"at":"1970-01-01T00:00:00.000Z","receipt":{"message":"m","reader":"agent:ag_x1","mark":"read"},"crc":"9aaa1e2a"}`},
		{mail.Event{Seq: 42, Receipt: &mail.Receipt{Message: "m", Reader: "user", Mark: mail.MarkSnoozed,
			Until: 1778421600123}},
			`{"seq":42,"at":"1970-01-01T00:00:00.000Z","receipt":{"message":"m","reader":"user","mark":"snoozed","until":"2026-05-10T14:00:00.123Z"},"crc":"0226cae2"}`},
		{mail.Event{Seq: 43, Agent: &mail.AgentChange{
			Name: "ag_x1", Roles: []string{"builder"}, Tags: []string{"project:inscription"}, State: mail.Idle,
			Task: &task,
		}},
			`{"seq":43,"at":"1970-01-01T00:00:00.000Z","agent":{"name":"ag_x1","roles":["builder"],"tags":["project:inscription"],"state":"idle","task":"Parser"},"crc":"b73fed3d"}`},
		{mail.Event{Seq: 1, Message: &mail.Message{
			ID: "<&>\u2028", To: []mail.Address{}, Body: "a\"\\\b\f\n\r\t\x00\x1f\x7f/",
			Metadata: mail.Metadata(`{ "b":1,"a":"\u00e9" }`), TTLSeconds: 60,
		}}, `{"seq":1,"at":"1970-01-01T00:00:00.000Z","message":{"id":"<&>` + "\u2028" +
			`","type":"","from":"","to":[],"body":"a\"\\\b\f\n\r\t\u0000\u001f` + "\x7f" +
			`/","metadata":{ "b":1,"a":"\u00e9" },"ttl_seconds":60},"crc":"23d469c1"}`},
		{mail.Event{Seq: 9007199254740992},
			`{"seq":9007199254740992,"at":"1970-01-01T00:00:00.000Z","crc":"5df5df85"}`},
	}
	for _, test := range tests {
		payload, err := appendPayload(nil, &test.event)
		if err != nil {
			t.Errorf("appendPayload(%+v): %v", test.event, err)
			continue
		}
		if got := string(oldLine(test.event.Seq, payload)); got != test.want+"\n" {
			t.Errorf("line of %+v:\n got %s\nwant %s", test.event, got, test.want)
		}
	}
}

// The lines that only this version and later ones write. Another program computed the checksums.
func TestFormatOfChain(t *testing.T) {
	const at = 1778421600123
	stub := func(it item) string {
		it.setTime(at)
		return string(it.line())
	}
	message := mail.Event{At: at, Message: &mail.Message{ID: "msg_1", Type: mail.Status, From: "agent:a",
		To: []mail.Address{"all"}, Body: "Hi"}}
	payload, err := appendPayload(nil, &message)
	if err != nil {
		t.Fatal(err)
	}
	nothing, _ := appendPayload(nil, &mail.Event{})
	last := item{seq: 42, crc: 0x58daf147}
	last.setTime(at)
	for _, test := range []struct{ got, want string }{
		{string(appendLine(nil, 41, 0x58daf147, payload)),
			`{"seq":41,"prev":"58daf147","at":"2026-05-10T14:00:00.123Z","message":{"id":"msg_1","type":"status","from":"agent:a","to":["all"],"body":"Hi"},"crc":"20230aa6"}`},
		{string(appendLine(nil, 1, 0, nothing)),
			`{"seq":1,"prev":"00000000","at":"1970-01-01T00:00:00.000Z","crc":"7956ed7a"}`},
		{string(appendLine(nil, maxSeq, 0xffffffff, nothing)),
			`{"seq":9007199254740992,"prev":"ffffffff","at":"1970-01-01T00:00:00.000Z","crc":"c80adf22"}`},
		{stub(item{seq: 5, end: 7, prev: 0x58daf147, chained: true, crc: 0x0a1b2c3d, gone: dropped}),
			`{"seq":5,"prev":"58daf147","at":"2026-05-10T14:00:00.123Z","gone":{"why":"dropped","to":7,"crc":"0a1b2c3d"},"crc":"8c05d976"}`},
		{stub(item{seq: 5, end: 5, crc: 0x0a1b2c3d, gone: archived}),
			`{"seq":5,"at":"2026-05-10T14:00:00.123Z","gone":{"why":"archived","to":5,"crc":"0a1b2c3d"},"crc":"a63cfdd7"}`},
		{stub(item{seq: 6, end: 1000009, prev: 0x0a1b2c3d, chained: true, gone: missing, known: 9}),
			`{"seq":6,"prev":"0a1b2c3d","at":"2026-05-10T14:00:00.123Z","gone":{"why":"missing","to":1000009,"last":9,"crc":"00000000"},"crc":"b16ff822"}`},
		{string(last.lastLine()), `{"seq":42,"at":"2026-05-10T14:00:00.123Z","last":"58daf147","crc":"c886130e"}`},
	} {
		if test.got != test.want+"\n" {
			t.Errorf("got  %swant %s", test.got, test.want)
		}
		it, _, err := inspect([]byte(test.want))
		if err != nil || !strings.Contains(test.want, `"last":"`) && it.gone != "" && string(it.line()) != test.got {
			t.Errorf("%s is read as %+v, %v", test.want, it, err)
		}
	}
}

// TestOneLineOfACheckpoint checks that the same event always makes the same line, including its map.
func TestOneLineOfACheckpoint(t *testing.T) {
	rotation := map[string]mail.Name{}
	for n := range 9 {
		rotation[fmt.Sprint("role", 8-n)] = "a"
	}
	payload, err := appendPayload(nil, &mail.Event{Checkpoint: &mail.Checkpoint{Rotation: rotation}})
	want := []string{"role0", "role1", "role2", "role3", "role4", "role5", "role6", "role7", "role8"}
	if got := regexp.MustCompile(`role\d`).FindAllString(string(payload), -1); err != nil || !cmp.Equal(got, want) {
		t.Errorf("%s, %v, want the roles in order", payload, err)
	}
}

// Stubs in other forms than this version's are events with unknown content; nothing panics.
func TestOddStubs(t *testing.T) {
	for _, covered := range []string{
		`{"seq":5,"prev":"58daf147`, `{"seq":5,"prev":"58daf1`, `{"seq":5,"prev":7`, `{"seq":5,"at":"`,
		`{"seq":5,"at":"2026-05-10T14:00:00.123Z`,
		`{"seq":5,"gone":{"why":"`, `{"seq":5,"gone":{"why":"dropped`, `{"seq":5,"gone":{"why":"dropped","to":`,
		`{"seq":5,"gone":{"why":"dropped","to":4,"crc":"0a1b2c3d"}`,
		`{"seq":5,"gone":{"why":"dropped","to":99999999999999999999,"crc":"0a1b2c3d"}`,
		`{"seq":5,"gone":{"why":"dropped","to":7,"crc":"0a1b2c3d"},"more":1`,
		`{"seq":5,"gone":{"why":"dropped","to":7,"crc":"0a1b"`,
	} {
		if it, _, err := inspect(appendCRC([]byte(covered), 0)); err != nil || it.gone != "" || it.seq != 5 ||
			it.end != 5 {
			t.Errorf("%s is read as %+v, %v", covered, it, err)
		}
	}
}

// The line in the documentation is correct, so that readers can check their own code with it.
func TestDocumentedLine(t *testing.T) {
	doc, err := os.ReadFile("../../../../docs/journal.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(doc)) {
		if strings.HasPrefix(line, head) {
			seq, covered, err := check([]byte(strings.TrimSpace(line)))
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			e, err := decodeSlowly(seq, covered)
			if err != nil {
				t.Fatal(err)
			}
			roundTrip(t, e)
			return
		}
	}
	t.Error("docs/journal.md shows no line")
}

func TestSamplesRoundTrip(t *testing.T) {
	for _, e := range journaltest.Samples() {
		roundTrip(t, e)
	}
}

// roundTrip writes e and reads it back in every way.
func roundTrip(t *testing.T, e mail.Event) {
	t.Helper()
	e = settle(e)
	e.Seq = 7
	payload, err := appendPayload(nil, &e)
	if err != nil {
		t.Fatalf("appendPayload(%+v): %v", e, err)
	}
	line := bytes.TrimSuffix(appendLine(nil, e.Seq, 0x58daf147, payload), []byte("\n"))
	if !json.Valid(line) || bytes.ContainsAny(line, "\r\n") {
		t.Fatalf("not one line of JSON: %q", line)
	}
	seq, covered, err := check(line)
	if err != nil || seq != e.Seq {
		t.Fatalf("check(%q) = %d, %v", line, seq, err)
	}
	slow, err := decodeSlowly(seq, covered)
	if err != nil {
		t.Fatalf("jsonx cannot read %q: %v", line, err)
	}
	if diff := cmp.Diff(e, slow); diff != "" {
		t.Errorf("jsonx reads %q differently (-want +got):\n%s", line, diff)
	}
	var p parser
	fast, ok := p.decodeFast(seq, covered)
	byHand := e.Agent == nil && e.Erased == nil && e.Checkpoint == nil && e.Bridge == nil && e.Workspace == nil &&
		e.Settled == nil && e.Machine == nil && e.Grant == nil && e.Dialog == nil
	byHand = byHand && (e.Message == nil || !bytes.ContainsRune(e.Message.Metadata, '\t'))
	if ok != byHand {
		t.Errorf("decodeFast takes %q: %v, want %v", line, ok, byHand)
	}
	if ok && !cmp.Equal(e, fast) {
		t.Errorf("decodeFast of %q differs (-want +got):\n%s", line, cmp.Diff(e, fast))
	}
	again := p.decode(seq, covered)
	payload, err = appendPayload(nil, &again)
	if got := bytes.TrimSuffix(appendLine(nil, seq, 0x58daf147, payload), []byte("\n")); err != nil ||
		!bytes.Equal(got, line) {
		t.Errorf("written again:\n got %s\nwant %s\n%v", got, line, err)
	}
	// A line that jsonx would have written must mean the same to us.
	if b, err := jsonx.Marshal(e); err != nil {
		t.Errorf("jsonx cannot write what we wrote: %v", err)
	} else if got := p.decode(seq, bytes.TrimSuffix(b, []byte("}"))); !cmp.Equal(got.Receipt, e.Receipt) ||
		got.At != e.At {
		t.Errorf("decode of %s = %+v, want %+v", b, got, e)
	}
}

func FuzzEncode(f *testing.F) {
	f.Add(int64(1778421600123), "msg_1", "task-assigned", "agent:a", "all", "Subject",
		"Body\n\"quoted\" \\ \u2028 <b>", "urgent", "msg_0", "#7", "docs/a.md", `{"a":[1,{"b":null}]}`, int64(60),
		"present", "key", int64(5))
	f.Add(int64(-62135596800000), "", "\x00", "\x1f", "", "", "", "", "", "", "", "{\n\t\"a\"\r:\n1}", int64(-1), "",
		"", int64(-1))
	f.Fuzz(func(t *testing.T, at int64, id, kind, from, to, subject, body, priority, thread, issue, path,
		metadata string, ttl int64, audience, key string, sent int64) {
		e := mail.Event{At: mail.Time(at), Message: &mail.Message{
			ID: mail.ID(id), Type: mail.Type(kind), From: mail.Address(from),
			To: []mail.Address{mail.Address(to), mail.Address(from)}, Subject: subject, Body: body,
			Priority: mail.Priority(priority), Thread: mail.ID(thread), ReplyTo: mail.ID(thread + id), Issue: issue,
			Metadata: mail.Metadata(metadata), TTLSeconds: ttl,
			Audience: audience, Key: key, Sent: mail.Time(sent),
		}}
		if path != "" {
			e.Message.Docs = []mail.Doc{{Path: path, Revision: key}, {Path: id}}
		}
		if n := len(body) % 3; n > 0 {
			e.Receipt = &mail.Receipt{Message: mail.ID(thread), Reader: mail.Address(to), Mark: mail.Mark(kind),
				Door: path, Until: mail.Time(ttl)}
		}
		settled := settle(e)
		if _, err := appendPayload(nil, &settled); err == nil {
			roundTrip(t, e)
			return
		}
		texts := []string{id, kind, from, to, subject, body, priority, thread, issue, path, audience, key}
		valid := !strings.Contains(strings.Join(texts, ""), "\x00\xff\x00")
		for _, s := range texts {
			valid = valid && utf8.ValidString(s)
		}
		inTime := func(t int64) bool { return t >= int64(minTime) && t <= int64(maxTime) }
		object := strings.TrimSpace(metadata)
		if valid && inTime(at) && inTime(sent) && (e.Receipt == nil || inTime(ttl)) &&
			(object == "" || object[0] == '{' && jsonx.Value(object).IsValid()) {
			t.Errorf("refused for no reason: %+v", e.Message)
		}
	})
}

// FuzzDecode gives the fast decoder any bytes: if it accepts them, jsonx must read the same event.
func FuzzDecode(f *testing.F) {
	for _, e := range journaltest.Samples() {
		payload, _ := appendPayload(nil, &e)
		line := oldLine(7, payload)
		f.Add(line[:len(line)-trailer-1])
	}
	for _, s := range []string{
		`{"seq":7,"prev":"58daf147","at":"2026-05-10T14:00:00.123Z","receipt":{"message":"a","reader":"user","mark":"read"}`,
		`{"seq":7,"prev":"58daf14","at":"2026-05-10T14:00:00.123Z"`,
		`{"seq":7,"at":"2026-02-29T14:00:00.123Z"`,
		`{"seq":7,"at":"2026-05-10T14:00:00.123Z","receipt":{"message":"a\"`,
		`{"seq":7,"at":"2026-05-10T14:00:00.123Z","receipt":{"message":"a\`,
		`{"seq":7,"at":"2024-02-29T23:59:59.999Z"`,
		`{"seq":7,"at":"2024-02-29T24:00:00.123Z"`,
		`{"seq":7,"at":"2024-02-2:T14:00:00.123Z"`,
		`{"seq":7,"at":"2024-02-29 14:00:00.123Z"`,
		`{"seq":7,"at":"2024-02-29T14:60:00.123Z"`,
		`{"seq":7,"at":"2024-02-29T14:00:60.123Z"`,
		`{"seq":7,"at":"2024-13-29T14:00:00.123Z"`,
		`{"seq":7,"at":"2024-00-29T14:00:00.123Z"`,
		`{"seq":7,"at":"0000-02-29T14:00:00.123Z"`,
		`{"seq":7,"at":"2026-05-10T14:00:00.123Z","receipt":{"message":"a\u0041\/","reader":"\ud83d\udcee","mark":"read"}`,
		`{"seq":7,"at":"2026-05-10T14:00:00.123Z","message":{"id":"a","type":"b","from":"c","to":["d"],"body":"e","metadata":{"a":1,"a":2}}`,
		`{"seq":7,"at":"2026-05-10T14:00:00.123Z","message":{"id":"a","type":"b","from":"c","to":["d"],"subject":"","body":"e","docs":[{"path":"p"}],"ttl_seconds":-0}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, covered []byte) {
		seq, err := leadingSeq(covered)
		if err != nil {
			return // check has refused it
		}
		var p parser
		fast, ok := p.decodeFast(seq, covered)
		if !ok {
			_ = p.decode(seq, covered) // must not panic either
			return
		}
		slow, err := decodeSlowly(seq, covered)
		if err != nil {
			t.Fatalf("decodeFast takes %q, and jsonx says %v", covered, err)
		}
		if !reflect.DeepEqual(fast, slow) {
			t.Errorf("decodeFast of %q differs from jsonx (-jsonx +fast):\n%s", covered, cmp.Diff(slow, fast))
		}
		// Events must not share memory with the line or the parser, which are reused.
		line := bytes.Clone(covered) // the fuzzer needs covered unchanged
		fast, _ = p.decodeFast(seq, line)
		before, _ := json.Marshal(fast)
		for i := range line {
			line[i] = '#'
		}
		for i := range p.scratch[:cap(p.scratch)] {
			p.scratch[:cap(p.scratch)][i] = '#'
		}
		if after, _ := json.Marshal(fast); !bytes.Equal(before, after) {
			t.Errorf("the event changed with the line: %s, was %s", after, before)
		}
	})
}

// Sequence numbers that no writer assigns, in lines with a correct crc.
func TestCheckRefuses(t *testing.T) {
	sign := func(covered string) []byte { return appendCRC([]byte(covered), 0) }
	if _, _, err := check(sign(head + `1,"at":0`)); err != nil {
		t.Fatalf("check of a good line: %v", err)
	}
	for _, covered := range []string{
		``, `{`, head, head + `,`, head + `0,`, head + `01,`, head + `1`, head + `1x,`, head + `1}`, head + `-1,`,
		head + `1.5,`, head + ` 1,`,
		` ` + head + `1,`, `{"Seq":1,`, head + `9007199254740993,`, head + `18446744073709551617,`,
		head + `99999999999999999999999999,`,
	} {
		if seq, _, err := check(sign(covered)); err == nil {
			t.Errorf("check(%q) = %d, want an error", covered, seq)
		}
	}
}

func TestPlain(t *testing.T) {
	for _, pad := range []int{0, 1, 7, 8, 15, 16} {
		for _, test := range []struct {
			text string
			want bool
		}{
			{"", true}, {" ~\x7f", true}, {"é…📮", true}, {"\x1f", false}, {"\x00", false}, {"\n", false},
			{"\xff", false}, {"\xc3", false}, {"\x80\x1f", false},
		} {
			text := strings.Repeat("a", pad) + test.text + strings.Repeat("é", pad)
			if got := plainText([]byte(text)); got != test.want {
				t.Errorf("plainText(%q) = %v, want %v", text, got, test.want)
			}
		}
		for _, s := range []string{"", "abc", `"`, `\`, "#", "]", "[", "!", "é\"", "\xdc\xa2\\"} {
			text := strings.Repeat("#]", pad) + s + "tail\x00\xff"
			if got, want := quoteOrBackslash([]byte(text)), strings.IndexAny(text, `"\`); got != want {
				t.Errorf("quoteOrBackslash(%q) = %d, want %d", text, got, want)
			}
		}
	}
}
