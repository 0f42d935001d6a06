package jsonl

import (
	"bytes"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// Another program writes to the file while the journal is open.
func TestStrangers(t *testing.T) {
	tests := []struct {
		name   string
		change func(content []byte) []byte
		broken bool
	}{
		{"a line", func(b []byte) []byte { return append(b, "hello\n"...) }, false},
		{"part of a line", func(b []byte) []byte { return append(b, "hello"...) }, false},
		{"much", func(b []byte) []byte { return append(b, strings.Repeat("hello\n", chunkSize)...) }, false},
		{"an event", func(b []byte) []byte { return append(b, lineOf(50, 3)...) }, true},
		{"cut", func(b []byte) []byte { return b[:len(b)-1] }, false},
		{"emptied", func(b []byte) []byte { return nil }, false},
		{"a line put in front", func(b []byte) []byte { return append([]byte("hello\n"), b...) }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := newMemDisk()
			j, err := openMem(d)
			if err != nil {
				t.Fatal(err)
			}
			c := newClerk()
			c.append(t, j, 2)
			node := d.dirs[memPath].names[mainName]
			node.data = test.change(bytes.Clone(node.data))
			c.append(t, j, 1)
			if (c.poison != nil) != test.broken {
				t.Fatalf("Append = %v, want an error: %v", c.poison, test.broken)
			}
			if !test.broken {
				c.check(t, d, j)
				if err := c.compact(t, j); err != nil {
					t.Errorf("Compact: %v", err)
				}
				c.check(t, d, j)
			}
			j.Close()
			if !test.broken {
				c.reopen(t, d)
			}
		})
	}
}

// Lines of a newer version are neither judged nor changed.
func TestNewerVersion(t *testing.T) {
	future := []string{
		`,"at":"2026-05-10T14:00:00.123Z","reaction":{"message":"note_0_","emoji":"📮"}`,
		`,"at":"2026-05-10T14:00:00.123Z","message":{"id":7,"parts":[]}`,
		`,"at":"2026-05-10T14:00:00.123Z","checkpoint":{"after":"x"}`,
		`,"what":"ever"`,
	}
	content := ""
	for i, payload := range future {
		content += string(oldLine(mail.Seq(i+1), []byte(payload)))
	}
	// A message with unknown members is archived with all of them.
	e := note(1)
	payload, _ := appendPayload(nil, &e)
	more := string(oldLine(5, append(bytes.TrimSuffix(payload, []byte("}")), `,"mood":"good"}`...)))
	d := diskWith(content + more + lineOf(5, 6))
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	cursor := j.Follow(0)
	defer cursor.Close()
	events, err := cursor.Next(t.Context())
	if err != nil || len(events) != 6 {
		t.Fatalf("Next = %d events, %v, want 6", len(events), err)
	}
	for i, e := range events[:4] {
		want := mail.Event{Seq: mail.Seq(i + 1), At: 1778421600123}
		if i == 3 {
			want.At = 0
		}
		if e != want {
			t.Errorf("event %d = %+v, want %+v", i, e, want)
		}
	}
	if got := events[4].Message; got == nil || got.Body != secret(1) {
		t.Errorf("a message with an unknown member = %+v", got)
	}
	if err := j.Compact(t.Context(), noteFate); err != nil {
		t.Fatal(err)
	}
	if got, want := string(d.content(mainPath)), content+lineOf(5, 6); got != want {
		t.Errorf("after compaction:\n%s\nwant:\n%s", got, want)
	}
	if got := d.holds(strings.TrimSpace(more)); len(got) != 1 || !strings.Contains(got[0], archiveName) {
		t.Errorf("the archived line is in %v", got)
	}
	if v, err := j.Verify(t.Context()); err != nil || len(v.Problems) != 2 {
		t.Errorf("Verify = %+v, %v, want the two lines that cannot be read", v, err)
	}
}

// An older main file is restored: events archived since are not archived twice, and new events with the same sequence
// numbers are not taken for them. The sign of an interrupted compaction is removed too.
func TestOlderMainFile(t *testing.T) {
	d := newMemDisk()
	c := newClerk()
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	c.append(t, j, 9)
	old := d.content(mainPath)
	if err := c.compact(t, j); err != nil {
		t.Fatal(err)
	}
	j.Close()
	d.put(mainPath, old)
	if j, err = openMem(d); err != nil {
		t.Fatal(err)
	}
	c.next = 100 // other notes from sequence number 10 on
	c.append(t, j, 6)
	if err := j.Compact(t.Context(), noteFate); err != nil {
		t.Fatal(err)
	}
	seen := make(map[int]int)
	for name := range strings.FieldsFuncSeq(strings.Join(d.files(".jsonl"), " "), func(r rune) bool {
		return r == ' '
	}) {
		for n := range 106 {
			seen[n] += bytes.Count(d.content(name), []byte(secret(n)))
		}
	}
	for n, times := range seen {
		if _, told := c.told[n]; !told || n%3 == 2 {
			continue
		}
		if times != 1 && n != 9 {
			t.Errorf("note %d is there %d times, want once", n, times)
		}
	}
	j.Close()
}
