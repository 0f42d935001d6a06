package jsonl

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// TestVerifyKeepsLittle checks that verify keeps nothing for consecutive lines, in the journal and in the archive.
func TestVerifyKeepsLittle(t *testing.T) {
	dir := t.TempDir()
	j := openDir(t, dir, Options{})
	defer j.Close()
	for month := range 3 {
		var events []mail.Event
		for n := range 2000 {
			e := note(2000*month + n)
			e.At = mail.TimeOf(time.Date(2026, time.Month(1+month), 1, 0, 0, n, 0, time.UTC))
			events = append(events, e)
		}
		if _, err := j.Append(t.Context(), events...); err != nil {
			t.Fatal(err)
		}
		fate := func(e mail.Event) journal.Fate { return [...]journal.Fate{journal.Archive, journal.Drop}[e.Seq%2] }
		if month == 2 {
			break // these stay
		}
		if err := j.Compact(t.Context(), fate); err != nil {
			t.Fatal(err)
		}
	}
	names, _, err := j.listMonths()
	if err != nil {
		t.Fatal(err)
	}
	v := verifier{journal: j}
	if err := v.files(t.Context(), append([]string{mainName}, names...)); err != nil || len(v.Problems) > 0 {
		t.Fatalf("verify: %v, %v", v.Problems, err)
	}
	if v.Lines < 6000 || len(v.streaks) > 10 {
		t.Errorf("of %d lines %d streaks are kept, want next to none", v.Lines, len(v.streaks))
	}
}

// TestVerifyTellsWhatStandsTwice checks that verify names each duplicate line with its number, though its first pass
// keeps nothing for consecutive lines.
func TestVerifyTellsWhatStandsTwice(t *testing.T) {
	dir := t.TempDir()
	j := openDir(t, dir, Options{})
	archiveAll(t, j, 1, 50)
	j.Close()
	months, err := filepath.Glob(filepath.Join(dir, archiveName, "*.jsonl"))
	if err != nil || len(months) == 0 {
		t.Fatalf("months: %q, %v", months, err)
	}
	text, err := os.ReadFile(months[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.DeleteFunc(slices.Collect(bytes.Lines(text)), func(l []byte) bool {
		it, _, err := inspect(bytes.TrimSuffix(l, []byte("\n")))
		return err != nil || it.gone != ""
	})
	twice := slices.Concat(lines[3], lines[4])
	f, err := os.OpenFile(months[0], os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.Write(twice)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	j = openDir(t, dir, Options{})
	defer j.Close()
	found, err := j.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	told := slices.DeleteFunc(slices.Clone(found.Problems), func(p mail.Problem) bool {
		return !strings.Contains(p.Text, "occurs twice in this file")
	})
	if len(told) != 2 || len(found.Problems) != 2 || told[0].Line == told[1].Line {
		t.Errorf("found %+v, want the two lines that stand twice", found.Problems)
	}
}
