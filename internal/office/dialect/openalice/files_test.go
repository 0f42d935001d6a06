package openalice

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pennypost/internal/base/confined"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// line returns a stranger's line.
func line(id, comments string) string {
	return `{"id":"` + id + `","ts":1715789012345,"workspaceId":"ws-old","workspaceLabel":"Old","comments":"` +
		comments + `"}` + "\n"
}

// all returns the comments in the room, oldest first.
func (b *fixture) all() string {
	b.T.Helper()
	var out []string
	for _, it := range b.History() {
		out = append(out, it.Body)
	}
	return strings.Join(out, " ")
}

// replace puts a new file in place of entries.jsonl, as OpenAlice does when it deletes.
func (b *fixture) replace(text string) {
	b.T.Helper()
	b.write("theirs.tmp", text)
	if err := os.Rename(b.path("theirs.tmp"), b.path("entries.jsonl")); err != nil {
		b.T.Fatal(err)
	}
}

func (b *fixture) restart() {
	b.Stop()
	b.Start()
	b.Sync()
}

func (b *fixture) expect(want string) {
	b.T.Helper()
	b.Sync()
	if got := b.all(); got != want {
		b.T.Errorf("the room has %q, want %q", got, want)
	}
}

// Other programs append, delete and edit.
func TestStrangers(t *testing.T) {
	t.Run("OA-12 lines come in once", func(t *testing.T) {
		b := newFixture(t)
		b.says("ws-abc", "ours")
		text := b.file("entries.jsonl") + line("x1", "theirs")
		b.write("entries.jsonl", text)
		b.expect("ours theirs")
		b.write("entries.jsonl", text+line("x2", "more")+`{"id":"x3","ts":`)
		b.expect("ours theirs more")
		b.restart()
		b.expect("ours theirs more")
		it := b.History()[1]
		if it.ID != "x1" || it.Sent != 1715789012345 || it.From != "agent:ws-old" || it.Via != "openalice" {
			t.Errorf("the message is %+v", it.Message)
		}
	})
	t.Run("O5 a torn line of theirs stays a line of its own", func(t *testing.T) {
		b := newFixture(t)
		b.write("entries.jsonl", line("x1", "theirs")+`{"id":"x2","ts":17`)
		b.expect("theirs")
		b.says("ws-abc", "ours")
		b.Sync() // it first waits for the rest of their line
		if got, want := b.file("entries.jsonl"), line("x1", "theirs")+
			"{\"id\":\"x2\",\"ts\":17\n{"; !strings.HasPrefix(got, want) {
			t.Errorf("entries.jsonl says %q, want %q…", got, want)
		}
		if st := b.Sync(); st.Rejected != 1 || st.Failing != "" {
			t.Errorf("the bridge fares %+v", st)
		}
	})
	t.Run("a deletion of theirs is one here", func(t *testing.T) {
		b := newFixture(t)
		a, m, z := line("x1", "a"), line("x2", "m"), line("x3", "z")
		b.write("entries.jsonl", a+m+z)
		b.expect("a m z")
		b.replace(a + z)
		b.expect("a z")
		b.replace(a)
		b.expect("a")
		b.replace("")
		b.expect("")
		nowhere(t, b.State, `"z"`)
	})
	t.Run("a deletion of theirs while no post office runs is one here", func(t *testing.T) {
		b := newFixture(t)
		b.write("entries.jsonl", line("x1", "a")+line("x2", "m")+line("x3", "z"))
		b.expect("a m z")
		b.Stop()
		b.replace(line("x1", "a") + line("x3", "z"))
		b.Start()
		b.expect("a z")
	})
	t.Run("a file that was cut, damaged or lost deletes nothing", func(t *testing.T) {
		a, m, z := line("x1", "a"), line("x2", "m"), line("x3", "z")
		for name, change := range map[string]func(*fixture){
			"emptied":     func(b *fixture) { b.write("entries.jsonl", "") },
			"cut":         func(b *fixture) { b.write("entries.jsonl", a) },
			"cut by one":  func(b *fixture) { b.write("entries.jsonl", a+m) },
			"damaged":     func(b *fixture) { b.replace(a + "{\"id\":\"x2\",\n" + z) },
			"older copy":  func(b *fixture) { b.replace(a) },
			"another":     func(b *fixture) { b.replace("") },
			"gone":        func(b *fixture) { _ = os.Remove(b.path("entries.jsonl")) },
			"gone for us": func(b *fixture) { b.Stop(); _ = os.Remove(b.path("entries.jsonl")); b.Start() },
		} {
			b := newFixture(t)
			b.write("entries.jsonl", a+m+z)
			b.expect("a m z")
			change(b)
			b.expect("a m z")
			if st := b.Sync(); !strings.Contains(st.Notice, "are missing in") {
				t.Errorf("%s: the notice is %q", name, st.Notice)
			}
			b.restart()
			b.expect("a m z")
			b.replace(a + m + z)
			b.expect("a m z")
			if st := b.Sync(); st.Notice != "" {
				t.Errorf("%s: all is well again, and the notice is %q", name, st.Notice)
			}
		}
	})
	t.Run("O2 markers of theirs come in, and are taken back", func(t *testing.T) {
		b := newFixture(t)
		id := b.says("ws-abc", "ours")
		marked := func(ids ...string) {
			t.Helper()
			var text []string
			for _, id := range ids {
				text = append(text, "    \""+id+"\": 1715789099999")
			}
			b.write("read-state.json", "{\n  \"version\": 1,\n  \"read\": {\n"+strings.Join(text, ",\n")+"\n  }\n}\n")
		}
		check := func(want int) {
			t.Helper()
			before := b.file("read-state.json")
			b.Sync()
			if got := len(b.Inbox(mail.User)); got != want {
				t.Errorf("%d are unread, want %d", got, want)
			}
			if after := b.file("read-state.json"); after != before {
				t.Errorf("their file was changed from %s to %s", before, after)
			}
		}
		marked("x1", "nobody") // before its entry, so that both arrive together
		b.write("entries.jsonl", b.file("entries.jsonl")+line("x1", "theirs"))
		check(1)
		if entries, _ := b.list("workspaceId=ws-old"); entries[0].ReadAt != 1715789099999 {
			t.Errorf("theirs was read at %d", entries[0].ReadAt)
		}
		marked("x1", "nobody", id)
		check(0)
		marked("nobody", id)
		check(1)
		b.Sync() // after which the room must have the news
		b.Stop()
		marked("nobody", "x1")
		b.Start()
		check(1)
		if entries, _ := b.list(""); entries[0].ReadAt != 0 || entries[1].ReadAt == 0 {
			t.Errorf("the entries are %+v", entries)
		}
		b.write("read-state.json", "") // from a program about to write; this withdraws no mark
		check(1)
		marked("nobody", "x1")
		check(1)
		if err := os.Remove(b.path("read-state.json")); err != nil { // neither does this
			t.Fatal(err)
		}
		b.Sync()
		if got := len(b.Inbox(mail.User)); got != 1 {
			t.Errorf("%d are unread, want 1", got)
		}
	})
	t.Run("O2 a read-state.json that is broken stays, and marks wait for its repair", func(t *testing.T) {
		b := newFixture(t)
		id := b.says("ws-abc", "ours")
		b.write("read-state.json", "{broken")
		b.route(200, "PUT", "/api/inbox/"+id+"/read", "")
		if st := b.Sync(); b.file("read-state.json") != "{broken" ||
			!strings.Contains(st.Failing, "stays unchanged") || st.Rejected != 1 {
			t.Errorf("%s, and the bridge fares %+v", b.file("read-state.json"), st)
		}
		b.write("read-state.json", `{"version":1,"read":{}}`)
		st := b.Sync()
		for n := 0; n < 20 && st.Failing != ""; n++ { // an attempt from before the repair may have ended just now
			st = b.Sync()
		}
		if st.Failing != "" || !strings.Contains(b.file("read-state.json"), id) {
			t.Errorf("%s, and the bridge fares %+v", b.file("read-state.json"), st)
		}
	})
}

// Entries pass from one inbox through the room to another unchanged, to the byte.
func TestTwoInboxes(t *testing.T) {
	b := newFixture(t)
	other := t.TempDir()
	if _, err := b.As(mail.User).AddBridge(t.Context(), mail.Bridge{Dialect: "openalice", Dir: other}); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(samples[:1], "") + "\n" + line("x1", "<b> & c")
	b.write("entries.jsonl", text)
	b.expect("c <b> & c")
	b.route(200, "PUT", "/api/inbox/x1/read", "")
	got, err := os.ReadFile(other + "/data/inbox/entries.jsonl")
	if string(got) != text || err != nil {
		t.Errorf("the other file says %q, %v; want %q", got, err, text)
	}
	reads, err := os.ReadFile(other + "/data/inbox/read-state.json")
	if string(reads) != b.file("read-state.json") || err != nil {
		t.Errorf("the other file says %s, %v; want %s", reads, err, b.file("read-state.json"))
	}
}

// erasing tells a process of this test to erase, and where.
const erasing = "PENNYPOST_TEST_ERASING"

func TestMain(m *testing.M) {
	if dir := os.Getenv(erasing); dir != "" {
		eraseAll(dir)
	}
	os.Exit(m.Run())
}

// eraseAll erases entries until it is killed.
func eraseAll(dir string) {
	f, err := openFiles(dialect.FilesOptions{Dir: confined.At(dir), State: dir})
	for i := 0; err == nil; i++ {
		change := dialect.Change{Event: mail.Event{Erased: &mail.Erasure{Message: mail.ID("x" + strconv.Itoa(i))}}}
		_, err = f.Write(context.Background(), []dialect.Change{change})
	}
	panic(err)
}

// OA-13: after a killed deletion the file is the old one or the new one.
func TestKilledWhileErasing(t *testing.T) {
	const entries = 300
	var text strings.Builder
	for i := range entries {
		text.WriteString(line("x"+strconv.Itoa(i), "secret "+strconv.Itoa(i)))
	}
	text.WriteString("garbage\xff\n")
	for n := range 4 {
		dir := t.TempDir()
		path := filepath.Join(dir, "data", "inbox", "entries.jsonl")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), erasing+"="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		erased := func() int {
			content, err := os.ReadFile(path)
			rest, whole := strings.CutPrefix(text.String(), strings.TrimSuffix(text.String(), string(content)))
			if err != nil || !whole || rest != string(content) || !strings.HasPrefix(rest, "{") {
				t.Fatalf("the file is not what is left of it: %.200q, %v", content, err)
			}
			return entries + 1 - strings.Count(rest, "\n")
		}
		for erased() <= n { // observed by a reader in the meantime
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		k := erased()
		f, err := openFiles(dialect.FilesOptions{Dir: confined.At(dir), State: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		again := dialect.Change{Event: mail.Event{Erased: &mail.Erasure{Message: mail.ID("x" + strconv.Itoa(k))}}}
		if done, err := f.Write(t.Context(), []dialect.Change{again}); done != 1 || err != nil {
			t.Fatalf("Write = %d, %v", done, err)
		}
		if erased() != k+1 {
			t.Errorf("%d are erased, want %d", erased(), k+1)
		}
		nowhere(t, dir, `"secret `+strconv.Itoa(k)+`"`)
	}
}

// written returns a function that opens a fixture's files directly, and the changes of its room.
func written(b *fixture) (open func() dialect.Files, changes []dialect.Change) {
	svc := b.As(mail.User)
	w, err := svc.Watch(b.T.Context(), 0)
	if err != nil {
		b.T.Fatal(err)
	}
	defer w.Close()
	for last := mail.Seq(0); last < b.Room.Shown(); {
		events, err := w.Next(b.T.Context())
		if err != nil {
			b.T.Fatal(err)
		}
		for _, e := range events {
			c := dialect.Change{Event: e}
			if e.Message != nil {
				it, err := svc.Message(b.T.Context(), e.Message.ID)
				if err == nil {
					c.Item = &it
				}
			}
			changes, last = append(changes, c), e.Seq
		}
	}
	dir, state := b.T.TempDir(), b.T.TempDir()
	return func() dialect.Files {
		f, err := openFiles(dialect.FilesOptions{Dir: confined.At(dir), State: state, Service: svc, Now: b.Now,
			Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.T.Fatal(err)
		}
		return f
	}, changes
}

// Changes written again after a crash at any point leave the same files.
func TestWriteAgain(t *testing.T) {
	b := newFixture(t)
	id := b.says("ws-abc", "one")
	b.says("ws-def", "two")
	gone := b.says("ws-def", "erased")
	b.route(200, "PUT", "/api/inbox/"+id+"/read", "")
	b.route(200, "PUT", "/api/inbox/"+gone+"/read", "")
	b.route(204, "DELETE", "/api/inbox/"+gone, "")
	b.Advance(time.Minute)
	b.says("ws-abc", "three")
	open, changes := written(b)
	var want [2]string
	for cut := 0; cut <= len(changes); cut++ {
		f := open().(*files) // never closed: a crash
		if n, err := f.Write(t.Context(), changes[:cut]); n != cut || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
		if n, err := f.Write(t.Context(), changes[cut/2:]); n != len(changes)-cut/2 || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
		f = open().(*files)
		if n, err := f.Write(t.Context(), changes); n != len(changes) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
		entries, err := os.ReadFile(f.entries.Path())
		if err != nil {
			t.Fatal(err)
		}
		reads, err := f.dir.ReadFile(readsFile)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{string(entries), string(reads)}; cut == 0 {
			want = [2]string{b.file("entries.jsonl"), b.file("read-state.json")}
		} else if got != want {
			t.Errorf("cut at %d: the files say %q, want %q", cut, got, want)
		}
		news, err := f.Read(t.Context())
		if err != nil || len(news.Erased) > 0 || len(news.Items) != 3 {
			t.Errorf("cut at %d: Read = %+v, %v", cut, news, err)
		}
	}
}

// The next process reads news again that the room did not get before the crash.
func TestReadAgain(t *testing.T) {
	b := newFixture(t)
	open, _ := written(b)
	f := open().(*files)
	if err := os.MkdirAll(b.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(text string) {
		t.Helper()
		if err := os.MkdirAll(strings.TrimSuffix(f.dir.Path(readsFile), "read-state.json"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f.entries.Path(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() dialect.News {
		t.Helper()
		n, err := f.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	put(line("x1", "a") + line("x2", "b"))
	if n := read(); len(n.Items) != 2 {
		t.Errorf("Read = %+v", n)
	}
	if n := read(); !n.Empty() {
		t.Errorf("Read = %+v", n)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	put(line("x2", "b"))
	for range 2 {
		f = open().(*files)
		if n := read(); len(n.Erased) != 1 || n.Erased[0] != "x1" {
			t.Errorf("Read = %+v", n)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	f = open().(*files)
	if n := read(); len(n.Erased) != 1 {
		t.Errorf("Read = %+v", n)
	}
	if n := read(); !n.Empty() {
		t.Errorf("Read = %+v", n)
	}
	f = open().(*files)
	if n := read(); len(n.Erased) != 0 {
		t.Errorf("what was taken comes again: %+v", n)
	}
}

// Marks cost one look at the files, however many there are.
func TestManyMarks(t *testing.T) {
	b := newFixture(t)
	var ids []string
	for i := range 30 {
		ids = append(ids, b.says("ws-abc", strconv.Itoa(i)))
	}
	if _, err := b.As(mail.User).Mark(t.Context(), mail.Marking{All: true, Mark: mail.MarkRead}); err != nil {
		t.Fatal(err)
	}
	text := b.file("read-state.json")
	for _, id := range ids {
		if !strings.Contains(text, id) {
			t.Errorf("%s has no marker", id)
		}
	}
}
