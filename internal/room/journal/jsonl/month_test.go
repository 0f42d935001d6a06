package jsonl

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// filler is the number of the note with the last sequence number.
const filler = 999_999

// archiveAll appends n messages of two months, each with a receipt, and archives all but the last event.
func archiveAll(tb testing.TB, j *Journal, from, n int) {
	tb.Helper()
	var events []mail.Event
	for i := from; i < from+n; i++ {
		e := note(i)
		events = append(events, e, mail.Event{At: e.At, Receipt: &mail.Receipt{Message: noteID(i), Reader: "agent:a",
			Mark: mail.MarkRead}})
	}
	if _, err := j.Append(tb.Context(), append(events, note(filler))...); err != nil {
		tb.Fatal(err)
	}
	if err := j.Compact(tb.Context(), func(mail.Event) journal.Fate { return journal.Archive }); err != nil {
		tb.Fatal(err)
	}
}

// wantFound fails the test unless the journal finds the messages in [from, to) with their receipts, and no others.
func wantFound(t *testing.T, j *Journal, from, to int) {
	t.Helper()
	for n := from - 1; n <= to; n++ {
		var want, got []string
		if n >= from && n < to {
			want = []string{secret(n), "read"}
		}
		events, err := j.ArchivedOf(t.Context(), noteID(n))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Message != nil {
				got = append(got, e.Message.Body)
			} else {
				got = append(got, string(e.Receipt.Mark))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("message %d is found as (-want +got):\n%s", n, diff)
		}
	}
}

// TestArchiveIndex checks that no damage to the index files, and no outside change to the archive, makes the journal
// contradict the archive.
func TestArchiveIndex(t *testing.T) {
	const month = "2026-06"
	index, archive := filepath.Join("index", month+".idx"), filepath.Join("archive", month+".jsonl")
	read := func(t *testing.T, path string) []byte {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	write := func(t *testing.T, path string, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	damages := map[string]func(t *testing.T, dir string, early []byte){
		"absent": func(t *testing.T, dir string, _ []byte) { os.RemoveAll(filepath.Join(dir, "index")) },
		"empty":  func(t *testing.T, dir string, _ []byte) { write(t, filepath.Join(dir, index), nil) },
		"garbage": func(t *testing.T, dir string, _ []byte) {
			write(t, filepath.Join(dir, index), make([]byte, 9999))
		},
		"torn": func(t *testing.T, dir string, _ []byte) {
			b := read(t, filepath.Join(dir, index))
			write(t, filepath.Join(dir, index), b[:len(b)-entryBytes])
		},
		"a bit flipped": func(t *testing.T, dir string, _ []byte) {
			b := read(t, filepath.Join(dir, index))
			b[len(b)/2] ^= 4
			write(t, filepath.Join(dir, index), b)
		},
		"older than the archive": func(t *testing.T, dir string, early []byte) {
			write(t, filepath.Join(dir, index), early)
		},
		"of another month": func(t *testing.T, dir string, _ []byte) {
			write(t, filepath.Join(dir, index), read(t, filepath.Join(dir, "index", "2026-05.idx")))
		},
		"no room for it": func(t *testing.T, dir string, _ []byte) {
			os.RemoveAll(filepath.Join(dir, "index"))
			write(t, filepath.Join(dir, "index"), nil)
		},
		// The file has the same length and end as before, so that only reading the lines shows the change.
		"of an archive whose lines were moved": func(t *testing.T, dir string, _ []byte) {
			lines := strings.SplitAfter(string(read(t, filepath.Join(dir, archive))), "\n")
			for i, j := 0, len(lines)-10; i < j; i, j = i+1, j-1 {
				lines[i], lines[j] = lines[j], lines[i]
			}
			write(t, filepath.Join(dir, archive), []byte(strings.Join(lines, "")))
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			for _, open := range []bool{true, false} {
				dir := t.TempDir()
				j := openDir(t, dir, Options{})
				archiveAll(t, j, 100, 40)
				early := read(t, filepath.Join(dir, index))
				archiveAll(t, j, 140, 40)
				if !open {
					j.Close()
				}
				damage(t, dir, early)
				if !open {
					j = openDir(t, dir, Options{})
				}
				wantFound(t, j, 100, 180)
				seen := 0
				for e, err := range j.Archived(t.Context(), 0, true) {
					if err != nil {
						t.Fatal(err)
					}
					if e.Message != nil && e.Message.ID != noteID(filler) {
						seen++
					}
				}
				if seen != 80 {
					t.Errorf("a walk sees %d messages, want 80", seen)
				}
				if _, err := j.Erase(t.Context(), noteID(150), func(e mail.Event) bool {
					return e.Message != nil && e.Message.ID == noteID(150) ||
						e.Receipt != nil && e.Receipt.Message == noteID(150)
				}); err != nil {
					t.Fatal(err)
				}
				wantFound(t, j, 151, 180)
			}
		})
	}
}

// meteredDisk counts the bytes read from archive and index.
type meteredDisk struct {
	osDisk
	bytes *int
}

func (d meteredDisk) Open(path string, flag int) (file, error) {
	f, err := d.osDisk.Open(path, flag)
	if dir := filepath.Base(filepath.Dir(path)); err == nil && (dir == archiveName || dir == indexName) {
		return meteredFile{f, d.bytes}, nil
	}
	return f, err
}

type meteredFile struct {
	file
	bytes *int
}

func (f meteredFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.file.ReadAt(b, off)
	*f.bytes += n
	return n, err
}

// TestUnknownIDReadsLittle checks that a lookup without a result reads a few pages, however large the archive: any
// caller may make one.
func TestUnknownIDReadsLittle(t *testing.T) {
	for _, n := range []int{50, 5000} {
		var bytes int
		j := openDir(t, t.TempDir(), Options{disk: meteredDisk{bytes: &bytes}})
		archiveAll(t, j, 0, n)
		bytes = 0
		const asks, months = 10, 2
		for i := range asks {
			if events, err := j.ArchivedOf(t.Context(), mail.ID(fmt.Sprint("nobody", i))); err != nil ||
				len(events) > 0 {
				t.Fatalf("ArchivedOf = %v, %v", events, err)
			}
		}
		if most := asks * months * (2*blockEntries*entryBytes + seenBytes); bytes > most {
			t.Errorf("asking %d times among %d messages reads %d bytes, want %d at most", asks, n, bytes, most)
		}
		bytes = 0
		for _, err := range j.Archived(t.Context(), mail.Seq(n), false) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if most := months * (2*blockEntries*entryBytes + seenBytes + 2*readAhead); bytes > most {
			t.Errorf("the first event behind the middle of %d messages takes %d bytes, want %d at most", n, bytes,
				most)
		}
	}
}

// TestIndexGrowsByParts checks that a compaction into a large archive neither rewrites nor reads the whole index, and
// that everything is found in its parts.
func TestIndexGrowsByParts(t *testing.T) {
	const rounds, each = 150, 20
	var bytes int
	dir := t.TempDir()
	j := openDir(t, dir, Options{disk: meteredDisk{bytes: &bytes}})
	for i := range rounds {
		archiveAll(t, j, i*each, each)
	}
	size := 0
	for _, month := range []string{"2026-05", "2026-06"} {
		for _, file := range []string{filepath.Join("index", month+".idx"), filepath.Join("archive", month+".jsonl")} {
			info, err := os.Stat(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			size += int(info.Size())
		}
		if n := len(j.indexes["archive/"+month+".jsonl"]); n > 8 {
			t.Errorf("%s has an index of %d parts", month, n)
		}
	}
	if bytes > 4*size {
		t.Errorf("%d compactions read %d bytes of archive and index, which have %d", rounds, bytes, size)
	}
	wantFound(t, j, 0, rounds*each)
	seen := 0
	for e, err := range j.Archived(t.Context(), 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Receipt != nil {
			seen++
		}
	}
	if seen != rounds*each {
		t.Errorf("a walk sees %d receipts, want %d", seen, rounds*each)
	}
}

// BenchmarkArchive looks up ids in an archive of PENNYPOST_BENCH_EVENTS messages.
func BenchmarkArchive(b *testing.B) {
	n := 100_000
	if s := os.Getenv("PENNYPOST_BENCH_EVENTS"); s != "" {
		fmt.Sscan(s, &n)
	}
	dir := b.TempDir()
	j := openDir(b, dir, Options{})
	for from := 0; from < n; from += 1000 {
		var events []mail.Event
		for i := from; i < from+1000; i++ {
			events = append(events, benchEvent(i))
		}
		if _, err := j.Append(b.Context(), events...); err != nil {
			b.Fatal(err)
		}
	}
	if err := j.Compact(b.Context(), func(mail.Event) journal.Fate { return journal.Archive }); err != nil {
		b.Fatal(err)
	}
	look := func(b *testing.B, want int, id func(i int) mail.ID) {
		for i := range b.N {
			if events, err := j.ArchivedOf(context.Background(), id(i)); err != nil || len(events) != want {
				b.Fatalf("%d events, %v", len(events), err)
			}
		}
	}
	b.Run("unknown", func(b *testing.B) { look(b, 0, func(i int) mail.ID { return mail.ID(fmt.Sprint("x", i)) }) })
	b.Run("known", func(b *testing.B) {
		look(b, 1, func(i int) mail.ID { return benchEvent(i * 7919 % (n - 1)).Message.ID })
	})
	b.Run("page", func(b *testing.B) {
		for i := range b.N {
			seen := 0
			for _, err := range j.Archived(context.Background(), mail.Seq(i*7919%(n-100)), false) {
				if seen++; err != nil || seen == 50 {
					break
				}
			}
		}
	})
	b.Run("index", func(b *testing.B) {
		for range b.N {
			j.forgetIndex("archive/2026-05.jsonl")
			if _, err := j.ArchivedOf(context.Background(), "x"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
