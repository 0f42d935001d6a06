package daemon

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/backup"
)

// restoreElsewhere makes another home from a backup.
func restoreElsewhere(t *testing.T, file []byte) (config.Config, backup.Restored) {
	t.Helper()
	other := testConfig(t)
	other.Home = config.Home(filepath.Join(string(other.Home), "h"))
	restored, err := backup.Restore(t.Context(), other.Home, bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return other, restored
}

// backUp makes a backup and expects it to name these rooms as not opened.
func (r *running) backUp(t *testing.T, want string) []byte {
	t.Helper()
	var file bytes.Buffer
	if raw, err := r.office.Backup(t.Context(), &file); err != nil || raw != want {
		t.Fatalf("Backup = %q, %v, want %q", raw, err, want)
	}
	return file.Bytes()
}

// conversation is one of those that continue during a backup: each message replies to the one before it.
type conversation struct {
	mu  sync.Mutex
	ids []mail.ID // acknowledged, in order
}

// goesOn sends until done is closed. No send may be refused.
func (c *conversation) goesOn(t *testing.T, number int, user mail.Service, done <-chan struct{}) {
	var last mail.ID
	for n := 0; ; n++ {
		select {
		case <-done:
			return
		default:
		}
		sent, err := user.Send(t.Context(), mail.Draft{To: []string{"bob"}, Body: fmt.Sprintf("%d %d", number, n),
			ReplyTo: last})
		if err != nil {
			t.Error(err)
			return
		}
		last = sent.ID
		c.mu.Lock()
		c.ids = append(c.ids, last)
		c.mu.Unlock()
	}
}

func (c *conversation) acknowledged() []mail.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.ids)
}

// While eight conversations and retention run all the time, a backup has every message that was acknowledged before
// it began, each conversation without a gap up to its state at one moment, the archive, the settings, and tokens
// that are valid in the restored home.
func TestBackupWhileSending(t *testing.T) {
	cfg := testConfig(t)
	cfg.Room.Retention.Count = 1
	cfg.Room.Limits = config.Limits{Exchanges: -1, RepeatWindow: -1, PerMinute: -1, Depth: -1}
	const settings = "# what the user has set\n"
	if err := os.WriteFile(cfg.Home.File(), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, Options{Config: cfg, Version: "v1"})
	r.register(t, "lab", "bob")
	user := r.room(t, "lab", mail.User)
	token, err := user.Token(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	talks := make([]conversation, 8)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for i := range talks {
		wg.Go(func() { talks[i].goesOn(t, i, user, done) })
	}
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if _, err := user.Archive(t.Context()); err != nil {
				t.Error(err)
				return
			}
		}
	})
	var file []byte
	before := make([][]mail.ID, len(talks))
	for range 5 {
		for i := range talks {
			eventually(t, "the conversation goes on", func() bool {
				return len(talks[i].acknowledged()) >= len(before[i])+10
			})
			before[i] = talks[i].acknowledged()
		}
		file = r.backUp(t, "")
	}
	close(done)
	wg.Wait()

	other, restored := restoreElsewhere(t, file)
	if len(restored.Rooms) != 1 || len(restored.Rooms[0].Verification.Problems) > 0 {
		t.Fatalf("Restore = %+v", restored)
	}
	if months, err := filepath.Glob(filepath.Join(other.Home.Rooms(), "lab", "archive", "*.jsonl")); len(months) == 0 {
		t.Errorf("there is no archive: %v", err)
	}
	if text, err := os.ReadFile(other.Home.File()); err != nil || string(text) != settings {
		t.Errorf("the settings are %q, %v", text, err)
	}
	r2 := start(t, Options{Config: other, Version: "v1"})
	var all []mail.Item
	for it, err := range r2.room(t, "lab", mail.User).Export(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, it)
	}
	slices.SortFunc(all, func(a, b mail.Item) int { return cmp.Compare(a.Seq, b.Seq) }) // archived ones come first
	there := make([][]mail.Item, len(talks))
	for _, it := range all {
		var i, n int
		if _, err := fmt.Sscanf(it.Body, "%d %d", &i, &n); err != nil {
			t.Fatalf("%q: %v", it.Body, err)
		}
		if n != len(there[i]) {
			t.Fatalf("of conversation %d there is message %d where %d is due", i, n, len(there[i]))
		}
		if n > 0 && it.ReplyTo != there[i][n-1].ID {
			t.Errorf("message %q replies to %s, want %s", it.Body, it.ReplyTo, there[i][n-1].ID)
		}
		there[i] = append(there[i], it)
	}
	for i, ids := range before {
		for n, id := range ids {
			if n >= len(there[i]) || there[i][n].ID != id {
				t.Fatalf("message %d of conversation %d was acknowledged before the backup, and is not in it", n, i)
			}
		}
	}
	for _, credential := range []string{token, r.token} {
		if code, body := r2.get(t, "/api/v1/rooms/lab/inbox", credential); code != http.StatusOK {
			t.Errorf("a token of before: %d %s", code, body)
		}
	}
}

// A room that cannot be opened does not cost the backup: its files are in it as they are, it is named, and every
// other room is there.
func TestBackupOfRoomsThatCannotBeOpened(t *testing.T) {
	cfg := testConfig(t)
	first := start(t, Options{Config: cfg})
	names := []mail.RoomName{"closed", "locked", "nomain", "sound"}
	for _, name := range names {
		first.register(t, name, "bob")
		if _, err := first.room(t, name, mail.User).Send(t.Context(), mail.Draft{To: []string{"bob"},
			Body: "kept in " + string(name)}); err != nil {
			t.Fatal(err)
		}
	}
	first.stop(t)
	dir := func(name string) string { return filepath.Join(cfg.Home.Rooms(), name) }
	lock, err := durable.TryLock(filepath.Join(dir("locked"), "LOCK"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	main := filepath.Join(dir("nomain"), "mailbox.jsonl")
	for _, err := range []error{
		os.Rename(main, filepath.Join(dir("nomain"), "mailbox.foreign-1.jsonl")), os.Mkdir(main, 0o700),
		os.Chmod(filepath.Join(dir("closed"), "mailbox.jsonl"), 0), os.WriteFile(filepath.Join(dir("closed"),
			"mailbox.rejected.jsonl"), []byte("garbage\n"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := "closed, locked, nomain"
	if os.Getuid() == 0 {
		want = "locked, nomain" // no permission stops root
	}
	file := start(t, Options{Config: cfg}).backUp(t, want)

	other, restored := restoreElsewhere(t, file)
	for i, room := range restored.Rooms {
		raw := strings.Contains(want, string(room.Room))
		if room.Room != names[i] || (room.Raw != "") != raw {
			t.Errorf("restored room %d is %s, said to be raw: %q", i, room.Room, room.Raw)
		}
	}
	if len(restored.Rooms) != len(names) {
		t.Errorf("%d rooms were restored, want %d", len(restored.Rooms), len(names))
	}
	r := start(t, Options{Config: other})
	for _, name := range []mail.RoomName{"locked", "sound"} {
		page, err := r.room(t, name, "bob").Inbox(t.Context(), mail.InboxQuery{})
		if err != nil || len(page.Messages) != 1 || page.Messages[0].Body != "kept in "+string(name) {
			t.Errorf("the inbox in %s is %+v, %v", name, page.Messages, err)
		}
	}
	v, err := r.room(t, "nomain", mail.User).Verify(t.Context())
	if err != nil || len(v.Problems) == 0 {
		t.Errorf("Verify of a damaged room = %+v, %v, want problems", v, err)
	}
}

// A backup closes the rooms that it opened: there may be more of them than may be open at a time.
func TestBackupClosesRooms(t *testing.T) {
	cfg := testConfig(t)
	first := start(t, Options{Config: cfg})
	for _, name := range []mail.RoomName{"a", "b", "c"} {
		first.register(t, name, "bob")
	}
	first.stop(t)
	for _, name := range []string{"a", "b", "c"} { // a start opens rooms used today
		old := time.Now().Add(-72 * time.Hour)
		if err := os.Chtimes(filepath.Join(cfg.Home.Rooms(), name, "mailbox.jsonl"), old, old); err != nil {
			t.Fatal(err)
		}
	}
	r := start(t, Options{Config: cfg})
	r.register(t, "a", "ann")
	r.backUp(t, "")
	if _, body := r.get(t, "/metrics", r.token); !strings.Contains(body, "\npennypost_rooms_open 1\n") {
		t.Errorf("after a backup with one room open the metrics are\n%s", body)
	}
}

// On another machine the facts that only the first one knew are gone, and the journal's record of them does no harm:
// a program that does not run there, a socket, a bridge to a missing directory.
func TestRestoreElsewhere(t *testing.T) {
	cfg := testConfig(t)
	r := start(t, Options{Config: cfg})
	user := r.room(t, "lab", mail.User)
	for _, p := range []mail.Presence{{Name: "bob"}, {Name: "ann", Session: "s1", Process: "1.1@elsewhere"}} {
		if _, err := user.Register(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	foreign := t.TempDir()
	if _, err := user.AddBridge(t.Context(), mail.Bridge{Dialect: "agenties", Dir: foreign}); err != nil {
		t.Fatal(err)
	}
	file := r.backUp(t, "")
	r.stop(t)
	if err := os.RemoveAll(foreign); err != nil {
		t.Fatal(err)
	}

	other, _ := restoreElsewhere(t, file)
	var names []string
	err := filepath.WalkDir(string(other.Home), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(string(other.Home), path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	// The backup has it if the bridge had looked at its files twice before.
	names = slices.DeleteFunc(names, func(n string) bool { return n == "rooms/lab/bridges/agenties/begun" })
	want := []string{"rooms/lab/LOCK", "rooms/lab/bridges/agenties/cursor", "rooms/lab/mailbox.jsonl",
		"rooms/lab/mailbox.last", "token"}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("the home has %v, %v, want %v", names, err, want)
	}
	for _, name := range []string{"LOCK", "bridges/agenties/cursor"} {
		if text, err := os.ReadFile(filepath.Join(other.Home.Rooms(), "lab", name)); err != nil || len(text) > 0 {
			t.Errorf("%s speaks of the first machine: %q, %v", name, text, err)
		}
	}
	r2 := start(t, Options{Config: other})
	user = r2.room(t, "lab", mail.User)
	if _, err := user.Send(t.Context(), mail.Draft{To: []string{"ann", "bob"}, Body: "x"}); err != nil {
		t.Fatal(err)
	}
	bridges, err := user.Bridges(t.Context())
	if err != nil || len(bridges) != 1 {
		t.Fatalf("Bridges = %+v, %v", bridges, err)
	}
	if bridges[0], err = user.SyncBridge(t.Context(), bridges[0].ID); err != nil || bridges[0].Failing == "" {
		t.Errorf("a bridge to nowhere: %+v, %v, want that it fails", bridges[0], err)
	}
	if _, err := os.Stat(foreign); !os.IsNotExist(err) {
		t.Errorf("the bridge has made %s: %v", foreign, err)
	}
}
