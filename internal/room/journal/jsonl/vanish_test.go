package jsonl

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// TestArchiveVanishes removes the archive, or a part of it, while it is read. The reader ends with the remaining
// events, each once and in order, or with an error; verify names the missing ones; and the journal continues, archives
// more, and finds that.
func TestArchiveVanishes(t *testing.T) {
	month := func(dir string) string { return filepath.Join(dir, "archive", "2026-05.jsonl") }
	for name, harm := range map[string]func(dir string) error{
		"a month is removed": func(dir string) error { return os.Remove(month(dir)) },
		"a month is emptied": func(dir string) error { return os.Truncate(month(dir), 0) },
		"a month is cut":     func(dir string) error { return os.Truncate(month(dir), 1000) },
		"a month is overwritten": func(dir string) error {
			return os.WriteFile(month(dir), []byte(strings.Repeat("garbage\n", 4000)), 0o600)
		},
		"a month is renamed": func(dir string) error {
			return os.Rename(month(dir), filepath.Join(dir, "archive", "2026-04.jsonl"))
		},
		"the archive is removed": func(dir string) error { return os.RemoveAll(filepath.Join(dir, "archive")) },
		"the index is removed":   func(dir string) error { return os.RemoveAll(filepath.Join(dir, "index")) },
	} {
		for _, newest := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				j, err := Open(dir, Options{})
				if err != nil {
					t.Fatal(err)
				}
				var notes []mail.Event
				for i := range 600 {
					notes = append(notes, note(i))
				}
				if _, err := j.Append(t.Context(), notes...); err != nil {
					t.Fatal(err)
				}
				all := func(e mail.Event) journal.Fate { return journal.Archive }
				if err := j.Compact(t.Context(), all); err != nil {
					t.Fatal(err)
				}
				var seqs []mail.Seq
				for e, err := range j.Archived(t.Context(), 0, newest) {
					if err != nil {
						t.Log("the reader is told:", err)
						break
					}
					if seqs = append(seqs, e.Seq); len(seqs) == 20 {
						if err := harm(dir); err != nil {
							t.Skip(err) // Windows
						}
					}
				}
				if newest {
					slices.Reverse(seqs)
				}
				if !slices.IsSorted(seqs) || len(slices.Compact(seqs)) != len(seqs) || len(seqs) < 20 {
					t.Errorf("it is shown %v", seqs)
				}
				if _, err = j.ArchivedOf(t.Context(), noteID(1), noteID(2)); err != nil {
					t.Log("a look-up is told:", err)
				}
				if told := news(j); len(told) > 1 || (len(told) == 0) != strings.Contains(name, "index") {
					t.Errorf("the person is told %v", told)
				}
				for i := range 4 {
					if _, err := j.Append(t.Context(), note(1000+i)); err != nil {
						t.Error(err)
					}
				}
				if err := j.Compact(t.Context(), all); err != nil {
					t.Errorf("Compact: %v", err)
				}
				if got, err := j.ArchivedOf(t.Context(), noteID(1001)); err != nil || len(got) != 1 {
					t.Errorf("what was archived since: %v, %v", got, err)
				}
				v, err := j.Verify(t.Context())
				if whole := strings.Contains(name, "index") || strings.Contains(name, "renamed"); err != nil ||
					(len(v.Problems) == 0) != whole {
					t.Errorf("verify: %v, %d problems", err, len(v.Problems))
				}
				if err := j.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
