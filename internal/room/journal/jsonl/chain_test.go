package jsonl

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

var lastPath = filepath.Join(memPath, lastName)

// chainOf returns a file with the first n notes in this version's format.
func chainOf(n int) string {
	var b []byte
	var last item
	for i := range n {
		e := note(i)
		payload, err := appendPayload(nil, &e)
		if err != nil {
			panic(err)
		}
		start := len(b)
		b = appendLine(b, last.end+1, last.crc, payload)
		last, _, _ = inspect(b[start : len(b)-1])
	}
	return string(b)
}

// filled returns a disk with a closed journal of n notes.
func filled(t *testing.T, n int) *memDisk {
	t.Helper()
	d := newMemDisk()
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	newClerk().append(t, j, n)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if got := string(d.content(mainPath)); got != chainOf(n) {
		t.Fatalf("the journal of %d notes is\n%s", n, got)
	}
	return d
}

// ranges returns the missing ranges among problems.
func ranges(problems []mail.Problem) (out []string) {
	for _, p := range problems {
		if p.First != 0 {
			out = append(out, fmt.Sprintf("%d-%d", p.First, p.Last))
		}
	}
	return out
}

// news returns the journal's notices.
func news(j *Journal) []journal.News {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	n, _ := j.News(ctx)
	return n
}

// Open names everything missing from a closed journal and tells it once; verify names it ever after. New sequence
// numbers are higher than the last one assigned.
func TestAbsences(t *testing.T) {
	lines := strings.SplitAfter(chainOf(9), "\n")[:9]
	text := func(from, to int) string { return strings.Join(lines[from:to], "") }
	tests := []struct {
		name, content string
		missing       []string
	}{
		{"nothing", text(0, 9), nil},
		{"a deleted line", text(0, 3) + text(4, 9), []string{"4-4"}},
		{"the first line deleted", text(1, 9), []string{"1-1"}},
		{"cut in the middle", text(0, 2) + text(6, 9), []string{"3-6"}},
		{"two cuts", text(0, 1) + text(3, 4) + text(6, 9), []string{"2-3", "5-6"}},
		{"tail cut between lines", text(0, 5), []string{"6-9"}},
		{"tail cut within a line", text(0, 5) + lines[5][:30], []string{"6-9"}},
		{"emptied", "", []string{"1-9"}},
		{"zeroed", strings.Repeat("\x00", len(text(0, 9))), []string{"1-9"}},
		{"one line left", lines[4], []string{"1-4", "6-9"}},
		{"a line of version 1 left", lineOf(0, 1), []string{"2-9"}},
		{"deleted", "deleted", []string{"1-9"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := filled(t, 9)
			if d.put(mainPath, []byte(test.content)); test.content == "deleted" {
				_ = d.Remove(mainPath)
			}
			for round := range 3 {
				j, err := openMem(d)
				if err != nil {
					t.Fatal(err)
				}
				var want []string
				if round == 0 {
					want = test.missing
				}
				if diff := cmp.Diff(want, ranges(j.Recovery().Missing)); diff != "" {
					t.Errorf("opening (round %d) finds missing (-want +got):\n%s", round, diff)
				}
				if got := news(j); len(got) != len(want) {
					t.Errorf("news (round %d): %v, want of %v", round, got, want)
				}
				v, err := j.Verify(t.Context())
				if diff := cmp.Diff(test.missing, ranges(v.Problems)); err != nil || diff != "" ||
					len(v.Problems) != len(test.missing) {
					t.Errorf("Verify (round %d): %v, %+v (-want +got):\n%s", round, err, v.Problems, diff)
				}
				if seq, err := j.Append(t.Context(), note(100+round)); err != nil || seq < 10 {
					t.Errorf("Append = %d, %v, want a place behind 9", seq, err)
				}
				if err := j.Compact(t.Context(), noteFate); err != nil {
					t.Errorf("Compact: %v", err)
				}
				j.Close()
			}
		})
	}
}

// The text of a problem gives the period and the affected messages, as far as other lines tell.
func TestAbsenceText(t *testing.T) {
	d := newMemDisk()
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	c := newClerk()
	c.append(t, j, 5)
	read := mail.Event{At: note(6).At, Receipt: &mail.Receipt{Message: noteID(2), Reader: "agent:b",
		Mark: mail.MarkRead}}
	if _, err := j.Append(t.Context(), read); err != nil {
		t.Fatal(err)
	}
	j.Close()
	lines := bytes.SplitAfter(d.content(mainPath), []byte("\n"))
	d.put(mainPath, bytes.Join(slices.Delete(lines, 2, 4), nil))
	if j, err = openMem(d); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	v, err := j.Verify(t.Context())
	want := []mail.Problem{{File: mainName, Line: 3, First: 3, Last: 4,
		Text: "lines 3 to 4 are missing, from between 2026-05-10T12:00:00.001Z and " +
			"2026-06-19T12:00:00.004Z; messages that later lines mention but that are missing: note_2_ (read by " +
			"agent:b)"}}
	if diff := cmp.Diff(want, v.Problems); err != nil || diff != "" {
		t.Errorf("Verify: %v (-want +got):\n%s", err, diff)
	}
	if got := j.Condition().Missing; got != 2 {
		t.Errorf("Condition counts %d missing lines, want 2", got)
	}
}

// A lost journal, whose last sequence number only the archive shows, does not start at 1 again.
func TestGoesOnAboveArchive(t *testing.T) {
	d := newMemDisk()
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	c := newClerk()
	c.append(t, j, 9)
	if err := j.Compact(t.Context(), noteFate); err != nil {
		t.Fatal(err)
	}
	j.Close()
	_, _ = d.Remove(mainPath), d.Remove(lastPath)
	if j, err = openMem(d); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if seq, err := j.Append(t.Context(), note(20)); err != nil || seq < 9 {
		t.Errorf("Append = %d, %v, want a place behind the archive's", seq, err)
	}
	v, err := j.Verify(t.Context())
	// The archive has notes 1, 4 and 7 at sequence numbers 2, 5 and 8, each followed by a stub for dropped ones.
	if diff := cmp.Diff([]string{"1-1", "4-4", "7-7"}, ranges(v.Problems)); err != nil || diff != "" {
		t.Errorf("Verify: %v, %+v (-want +got):\n%s", err, v.Problems, diff)
	}
}

// TestDeleteAnyLine deletes each line of a compacted and erased journal, and of its archive, in turn: verify names its
// sequence number.
func TestDeleteAnyLine(t *testing.T) {
	make := func(t *testing.T) *memDisk {
		d := newMemDisk()
		j, err := openMem(d)
		if err != nil {
			t.Fatal(err)
		}
		c := newClerk()
		c.work(t, j)
		if v, err := j.Verify(t.Context()); err != nil || len(v.Problems) > 0 {
			t.Fatalf("Verify = %+v, %v", v, err)
		}
		j.Close()
		return d
	}
	tried := 0
	for _, path := range make(t).files(".jsonl") {
		for i := 0; ; i++ {
			d := make(t)
			lines := bytes.SplitAfter(d.content(path), []byte("\n"))
			if i == len(lines)-1 {
				break
			}
			it, _, err := inspect(bytes.TrimSpace(lines[i]))
			if err != nil {
				t.Fatalf("%s: %q: %v", path, lines[i], err)
			}
			d.put(path, bytes.Join(slices.Delete(lines, i, i+1), nil))
			j, err := openMem(d)
			if err != nil {
				t.Fatal(err)
			}
			v, err := j.Verify(t.Context())
			want := []string{fmt.Sprintf("%d-%d", it.seq, it.end)}
			if it.gone == archived {
				want = nil // the archive has its events
			}
			if diff := cmp.Diff(want, ranges(v.Problems)); err != nil || diff != "" {
				t.Errorf("%s without line %d (%s%d): %v, %+v (-want +got):\n%s", path, i+1, it.gone, it.seq, err,
					v.Problems, diff)
			}
			j.Close()
			tried++
		}
	}
	if tried < 12 {
		t.Errorf("only %d lines were deleted", tried)
	}
}

// A range of lines cut out of any journal is named, despite any compaction and erasure before and after.
func TestCutModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newMemDisk()
		j, err := openMem(d)
		if err != nil {
			t.Fatal(err)
		}
		next := 0
		work := func() {
			for range rapid.IntRange(1, 6).Draw(t, "steps") {
				switch rapid.IntRange(0, 3).Draw(t, "step") {
				case 0:
					if err := j.Compact(context.Background(), noteFate); err != nil {
						t.Fatal(err)
					}
				case 1:
					id := noteID(rapid.IntRange(0, next).Draw(t, "note"))
					if _, err := j.Erase(context.Background(), id, func(e mail.Event) bool {
						return e.Message != nil && e.Message.ID == id
					}); err != nil {
						t.Fatal(err)
					}
				default:
					if _, err := j.Append(context.Background(), note(next), note(next+1)); err != nil {
						t.Fatal(err)
					}
					next += 2
				}
			}
		}
		work()
		j.Close()
		lines := bytes.SplitAfter(d.content(mainPath), []byte("\n"))
		lines = lines[:len(lines)-1]
		from := rapid.IntRange(0, len(lines)).Draw(t, "from")
		to := rapid.IntRange(from, len(lines)).Draw(t, "to")
		missing := make(map[mail.Seq]bool)
		for _, l := range lines[from:to] {
			if it, _, _ := inspect(l[:len(l)-1]); it.gone != archived {
				for seq := it.seq; seq <= it.end; seq++ {
					missing[seq] = true
				}
			}
		}
		d.put(mainPath, bytes.Join(slices.Delete(lines, from, to), nil))
		for range 2 {
			if j, err = openMem(d); err != nil {
				t.Fatal(err)
			}
			work()
			named := make(map[mail.Seq]bool)
			v, err := j.Verify(context.Background())
			for _, p := range v.Problems {
				for seq := p.First; seq <= p.Last; seq++ {
					named[seq] = true
				}
			}
			if diff := cmp.Diff(missing, named); err != nil || diff != "" {
				t.Fatalf("Verify: %v, %+v (-missing +named):\n%s", err, v.Problems, diff)
			}
			j.Close()
		}
	})
}

// A journal of version 1 continues in this version's format. Events compacted away before are not missing; later
// losses are.
func TestOlderVersionGoesOn(t *testing.T) {
	d := diskWith(lineOf(0, 1) + lineOf(3, 4) + lineOf(6, 7))
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	c := newClerk()
	c.next = 7
	c.append(t, j, 5)
	for range 2 {
		if v, err := j.Verify(t.Context()); err != nil || len(v.Problems) > 0 {
			t.Errorf("Verify = %+v, %v", v, err)
		}
		if err := j.Compact(t.Context(), noteFate); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	lines := bytes.SplitAfter(d.content(mainPath), []byte("\n"))
	i := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte("note_9_")) })
	d.put(mainPath, bytes.Join(slices.Delete(lines, i, i+1), nil))
	if j, err = openMem(d); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if got := ranges(j.Recovery().Missing); !slices.Equal(got, []string{"10-10"}) {
		t.Errorf("missing: %v, want 10", got)
	}
}

// A changed line with a correct crc is not taken for the original.
func TestChangedLine(t *testing.T) {
	lines := strings.SplitAfter(chainOf(5), "\n")
	covered, _, _ := splitCRC([]byte(strings.TrimSpace(lines[2])))
	forged := appendCRC(bytes.Replace(covered, []byte("secret"), []byte("sacred"), 1), 0)
	d := diskWith(strings.Join(lines[:2], "") + string(forged) + "\n" + strings.Join(lines[3:], ""))
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	v, err := j.Verify(t.Context())
	if err != nil || len(v.Problems) != 1 || v.Problems[0].Line != 4 || j.Recovery().Differ != 1 {
		t.Errorf("Verify = %+v, %v; recovery %+v; want that line 4 does not follow", v, err, j.Recovery())
	}
}

// Members that later versions add stay in place, byte for byte, whatever happens around them.
func TestReservedMembers(t *testing.T) {
	d := newMemDisk()
	var b []byte
	var last item
	for _, payload := range []string{
		`,"at":"2026-05-10T14:00:00.123Z","host":"h1","agent":{"id":"ag_1","name":"ann"}`,
		`,"at":"2026-05-10T14:00:00.124Z","host":"h1","message":{"id":"note_1_","type":"status","from":"agent:ann","to":["all"],"subject":"keep","body":"secret-1-of-nobody","from_id":"ag_1"}`,
		`,"at":"2026-05-10T14:00:00.125Z","later":{"message":"note_1_","by":"agent:ann","as":"answered"}`,
	} {
		start := len(b)
		b = appendLine(b, last.end+1, last.crc, []byte(payload))
		last, _, _ = inspect(b[start : len(b)-1])
	}
	d.put(mainPath, b)
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	c := newClerk()
	c.next = 10
	c.append(t, j, 3)
	if err := j.Compact(t.Context(), noteFate); err != nil {
		t.Fatal(err)
	}
	_ = d.Remove(mainPath)
	c.append(t, j, 1)
	if _, err := j.Repair(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := d.content(mainPath); !bytes.HasPrefix(got, b) {
		t.Errorf("the file begins with\n%s\nwant\n%s", got[:min(len(b), len(got))], b)
	}
}
