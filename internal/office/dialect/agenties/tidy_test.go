package agenties

import (
	"bytes"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/base/confined"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
	"pennypost/internal/office/dialect/dialecttest"
)

const day = 24 * time.Hour

// aged returns the line of a message of this age.
func aged(id string, age time.Duration, read bool) string {
	return strings.Replace(foreign(id, "agent:ag_x1", read, dialecttest.Began), "2026-05-10T14:00:00Z",
		dialecttest.Began.Add(-age).Format("2006-01-02T15:04:05.000Z"), 1)
}

// files opens a fixture's files as a starting post office does.
func (b *fixture) files(edit func(*dialect.FilesOptions)) *files {
	b.T.Helper()
	o := dialect.FilesOptions{
		Dir: confined.At(b.Dir), State: b.State, Service: b.As(mail.User),
		Bridge: mail.Bridge{ID: "agenties", Mode: mail.BridgeBoth},
		Now:    b.Now, Log: slog.New(slog.DiscardHandler), Getenv: func(string) string { return "" },
	}
	if edit != nil {
		edit(&o)
	}
	if err := os.WriteFile(filepath.Join(o.State, begunFile), nil, 0o600); err != nil { // it is not the first start
		b.T.Fatal(err)
	}
	f, err := open(o)
	if err != nil {
		b.T.Fatal(err)
	}
	return f.(*files)
}

func TestRetention(t *testing.T) { // A3, A4, A5
	few := func(o *dialect.FilesOptions) { o.RetainCount = 3 }
	for _, c := range []struct {
		name       string
		edit       func(*dialect.FilesOptions)
		lines      []string
		keep, gone string // first letters of the ids
	}{
		{"AG-25 age, read or not", nil, []string{
			aged("a", 8*day, true), aged("b", 8*day, false), aged("c", 6*day, false),
		}, "c", "ab"},
		{"AG-25 exactly seven days stay", nil, []string{
			aged("a", 7*day+time.Millisecond, false), aged("b", 7*day, false),
			aged("c", 7*day-time.Millisecond, false),
		}, "bc", "a"},
		{"AG-25 a small mailbox keeps what was read", nil,
			[]string{aged("a", 25*time.Hour, true), aged("b", 0, false)}, "ab", ""},
		{"AG-25 exactly the count stays", few, []string{aged("a", 2*day, true), aged("b", 0, true),
			aged("c", 0, false)}, "abc", ""},
		{"AG-25 over it, what was read and is older than a day, oldest first, only as many as needed", few, []string{
			aged("a", 3*day, false), aged("b", 25*time.Hour, true), aged("c", 2*day, true),
			aged("d", 26*time.Hour, true), aged("e", time.Hour, false),
		}, "abe", "cd"},
		{"AG-25 exactly a day is not older", few, []string{
			aged("a", 2*day, false), aged("b", day, true), aged("c", 0, false), aged("d", 0, false),
		}, "bcd", "a"},
		{"AG-25 then the oldest", few, []string{
			aged("a", 3*day, false), aged("b", 2*day, true), aged("c", time.Hour, true), aged("d", 2*time.Hour, false),
			aged("e", 0, false), aged("f", 0, false),
		}, "cef", "abd"},
		{"AG-25 the newest survives, wherever it stands", func(o *dialect.FilesOptions) {
			o.RetainCount = 1
		}, []string{
			aged("a", 0, true), aged("b", time.Minute, false), aged("c", day, false),
		}, "a", "bc"},
		{"AG-25 other limits", func(o *dialect.FilesOptions) {
			o.RetainAge = time.Hour
		}, []string{aged("a", 2*time.Hour, false), aged("b", 0, false)}, "b", "a"},
		{"AG-25 no limits", func(o *dialect.FilesOptions) {
			o.RetainAge, o.RetainCount = -1, -1
		}, []string{aged("a", 900*day, true), aged("b", 0, false)}, "ab", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			b.write(mailboxFile, "garbage\n"+strings.Join(c.lines, "")+"torn")
			var log bytes.Buffer
			b.files(func(o *dialect.FilesOptions) {
				o.Log = slog.New(slog.NewTextHandler(&log, nil))
				if c.edit != nil {
					c.edit(o)
				}
			})
			want := "garbage\n"
			var archived []string
			for _, line := range c.lines {
				if strings.Contains(c.keep, string(idOf([]byte(line)))) {
					want += line
				} else {
					archived = append(archived, line)
				}
			}
			if diff := cmp.Diff(want+"torn", b.text(mailboxFile)); diff != "" {
				t.Errorf("the mailbox (-want +got):\n%s", diff)
			}
			var got []string
			for _, name := range slices.Sorted(maps.Keys(b.tree(archiveDir))) {
				got = append(got, slices.Collect(strings.Lines(b.text(archiveDir+"/"+name)))...)
			}
			slices.Sort(archived)
			slices.Sort(got)
			if diff := cmp.Diff(archived, got); diff != "" || len(archived) != len(c.gone) {
				t.Errorf("the archive (-want +got):\n%s", diff)
			}
			if reported := strings.Contains(log.String(), "mailbox trimmed"); reported != (c.gone != "") {
				t.Errorf("the log says %q", log.String())
			}
		})
	}
}

func TestRetentionOfSixThousand(t *testing.T) {
	t.Run("AG-25 six thousand lines of ten days", func(t *testing.T) {
		b := newFixture(t)
		var text strings.Builder
		var want []mail.ID
		for i := range 6000 { // from ten days old to new; every tenth was read
			age := 10 * day / 6000 * time.Duration(6000-i)
			text.WriteString(aged(fmt.Sprint("m", i), age, i%10 == 0))
			if age <= 7*day {
				want = append(want, mail.ID(fmt.Sprint("m", i)))
			}
		}
		b.write(mailboxFile, text.String())
		var log bytes.Buffer
		b.files(func(o *dialect.FilesOptions) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		if diff := cmp.Diff(want, b.ids(mailboxFile)); diff != "" {
			t.Errorf("survivors:\n%s", diff)
		}
		kept := 6000 - len(want)
		if line := fmt.Sprintf("age=%d read24h=0 oldest=0 unread=%d kept=%d", kept, kept*9/10,
			len(want)); !strings.Contains(log.String(), line) {
			t.Errorf("the log says %q, want %q", log.String(), line)
		}
	})
	t.Run("AG-25 six thousand lines of five days", func(t *testing.T) {
		b := newFixture(t)
		var text strings.Builder
		var want []mail.ID
		// a thousand too many: of the 4,800 older than a day every sixth was read, so 200 unread ones go too
		for i := range 6000 {
			age := 5 * day / 6000 * time.Duration(6000-i)
			read := i%6 == 0
			text.WriteString(aged(fmt.Sprint("m", i), age, read))
			if old := age > day; old && read || i < 240 {
				continue
			}
			want = append(want, mail.ID(fmt.Sprint("m", i)))
		}
		b.write(mailboxFile, text.String())
		b.files(nil)
		if diff := cmp.Diff(want, b.ids(mailboxFile)); diff != "" || len(want) != 5000 {
			t.Errorf("%d survivors wanted:\n%s", len(want), diff)
		}
	})
}

// begun marks the bridge's files as known to the room.
func (b *fixture) begun() {
	b.T.Helper()
	dir := filepath.Join(b.State, "agenties")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.T.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, begunFile), nil, 0o600); err != nil {
		b.T.Fatal(err)
	}
}

func TestArchive(t *testing.T) {
	b := newFixture(t)
	old := dialecttest.Began.AddDate(0, 0, -15) // in April
	b.write(mailboxFile, foreign("msg_1", "agent:ag_x1", false, old)+foreign("msg_2", "agent:ag_x1", true, old)+
		foreign("msg_3", "agent:ag_x1", false, old.AddDate(0, 0, 6))+foreign("msg_4", "agent:ag_x1", false,
		dialecttest.Began))
	b.begun()
	st := b.Bridge("")
	want := map[string]string{
		"2026-04.jsonl": foreign("msg_1", "agent:ag_x1", false, old) + foreign("msg_2", "agent:ag_x1", true, old),
		"2026-05.jsonl": foreign("msg_3", "agent:ag_x1", false, old.AddDate(0, 0, 6)),
	}
	if diff := cmp.Diff(want, b.tree(archiveDir)); diff != "" {
		t.Errorf("AG-25 the archive by month (-want +got):\n%s", diff)
	}
	// The room also gets messages that were trimmed before it read them: it has more than the file, never less.
	if ids := historyIDs(b); len(ids) != 4 || st.Imported != 4 {
		t.Errorf("the room has %v; %+v", ids, st)
	}
	b.Advance(8 * day)
	b.Stop()
	b.Start()
	b.Sync()
	if b.text(mailboxFile) != "" || len(historyIDs(b)) != 4 {
		t.Errorf("the room has %v and the file\n%s", historyIDs(b), b.text(mailboxFile))
	}
}

// tree returns the files below a directory.
func (b *fixture) tree(dir string) map[string]string {
	b.T.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(b.path(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(b.path(dir), path)
		out[name] = string(text)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		b.T.Fatal(err)
	}
	return out
}

// The next start finishes one that died between any two of its writes: each state in between is the final one with
// the later files unchanged.
func TestTidyCrash(t *testing.T) {
	t.Parallel()
	reads := `{"id":"msg_2","reader":"agent:ag_x1","read":true,"all":true,"at":"2026-05-10T13:00:00.000Z"}` + "\n" +
		`{"id":"msg_1","reader":"agent:ag_x1","read":true,"all":true,"at":"2026-05-10T13:00:00.000Z"}` + "\n"
	lines := aged("msg_1", 9*day, false) + "garbage\n" + aged("msg_2", day, false) + aged("msg_3", 8*day, false)
	setUp := func() *fixture {
		b := newFixture(t)
		b.write(mailboxFile, lines)
		b.write(readsFile, reads)
		return b
	}
	whole := setUp()
	whole.files(nil)
	want := map[string]string{
		"mailbox.jsonl":                 "garbage\n" + aged("msg_2", day, true),
		"mailbox-reads.jsonl":           reads[:strings.Index(reads, "\n")+1],
		"mailbox-archive/2026-05.jsonl": aged("msg_1", 9*day, true) + aged("msg_3", 8*day, false),
	}
	if diff := cmp.Diff(want, whole.tree(".agenties")); diff != "" {
		t.Fatalf("after a whole start (-want +got):\n%s", diff)
	}
	archive, trimmed := want["mailbox-archive/2026-05.jsonl"], aged("msg_1", 9*day, true)+aged("msg_3", 8*day, false)
	for name, crashed := range map[string]func(b *fixture){
		"before anything":           func(*fixture) {},
		"behind our own list":       func(b *fixture) { b.own(trimmed) },
		"in the middle of our list": func(b *fixture) { b.own(trimmed[:20]) },
		"in the middle of a line": func(b *fixture) {
			b.own(trimmed)
			b.write(archiveDir+"/2026-05.jsonl", archive[:40])
		},
		"between two lines": func(b *fixture) {
			b.own(trimmed)
			b.write(archiveDir+"/2026-05.jsonl", archive[:strings.Index(archive, "\n")+1])
		},
		"behind the archive": func(b *fixture) { b.own(trimmed); b.write(archiveDir+"/2026-05.jsonl", archive) },
		"behind the mailbox": func(b *fixture) {
			b.own(trimmed)
			b.write(archiveDir+"/2026-05.jsonl", archive)
			b.write(mailboxFile, want["mailbox.jsonl"])
		},
		"with everything but a sync": func(b *fixture) { b.files(nil) },
	} {
		t.Run("AG-25 "+name, func(t *testing.T) {
			b := setUp()
			crashed(b)
			b.files(nil)
			got := b.tree(".agenties")
			if torn, line, ok := strings.Cut(got["mailbox-archive/2026-05.jsonl"], "\n"); ok &&
				!strings.HasSuffix(torn, "}") {
				got["mailbox-archive/2026-05.jsonl"] = line // a torn line stays, with a newline
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("after another start (-want +got):\n%s", diff)
			}
			b.Bridge("") // it uses another directory: move the list of trimmed lines there
			b.Stop()     // otherwise its next look would take the list as known to the room
			if err := os.Rename(filepath.Join(b.State, "trimmed.jsonl"),
				filepath.Join(b.State, "agenties", "trimmed.jsonl")); err != nil {
				t.Fatal(err)
			}
			b.Start()
			b.Sync()
			ids := historyIDs(b)
			slices.Sort(ids)
			if diff := cmp.Diff([]mail.ID{"msg_1", "msg_2", "msg_3"}, ids); diff != "" {
				t.Errorf("the room (-want +got):\n%s", diff)
			}
		})
	}
}

// own writes the list of trimmed lines.
func (b *fixture) own(text string) {
	b.T.Helper()
	if err := os.WriteFile(filepath.Join(b.State, "trimmed.jsonl"), []byte(text), 0o600); err != nil {
		b.T.Fatal(err)
	}
}
