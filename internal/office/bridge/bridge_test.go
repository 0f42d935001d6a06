package bridge

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pennypost/internal/base/lines"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hanging is notes with files that block while gate is locked.
func hanging(gate *sync.Mutex) dialect.Dialect {
	d := notes()
	d.Files = func(o dialect.FilesOptions) (dialect.Files, error) {
		return &hangingFiles{noteFiles{file: lines.Open(o.Dir, "notes", 0o600),
			has: make(map[string]bool)}, gate}, nil
	}
	return d
}

type hangingFiles struct {
	noteFiles
	gate *sync.Mutex
}

func (f *hangingFiles) Read(ctx context.Context) (dialect.News, error) {
	f.gate.Lock()
	defer f.gate.Unlock()
	return f.noteFiles.Read(ctx)
}

func (f *hangingFiles) Write(ctx context.Context, changes []dialect.Change) (int, error) {
	f.gate.Lock()
	defer f.gate.Unlock()
	return f.noteFiles.Write(ctx, changes)
}

// notes is the smallest foreign mailbox: lines "id from to body" and "read id reader" in the file notes.
func notes() dialect.Dialect {
	return dialect.Dialect{Name: "notes", Files: func(o dialect.FilesOptions) (dialect.Files, error) {
		return &noteFiles{file: lines.Open(o.Dir, "notes", 0o600), has: make(map[string]bool)}, nil
	}}
}

type noteFiles struct {
	file *lines.File
	has  map[string]bool
	bad  int
	news dialect.News // seen, but not returned yet
}

func (f *noteFiles) Read(context.Context) (dialect.News, error) {
	err := f.look()
	n := f.news
	f.news, n.Rejected = dialect.News{}, f.bad
	return n, err
}

func (f *noteFiles) look() error {
	all, _, err := f.file.Read()
	n := &f.news
	for _, l := range all {
		word := strings.SplitN(string(l), " ", 4)
		switch {
		case f.has[string(l)]:
		case len(word) == 3 && word[0] == "read":
			f.has[string(l)] = true
			n.Receipts = append(n.Receipts,
				mail.Receipt{Message: mail.ID(word[1]), Reader: mail.AgentAddress(mail.Name(word[2])),
					Mark: mail.MarkRead})
		case len(word) == 4:
			f.has[string(l)] = true
			n.Items = append(n.Items, mail.Item{Message: mail.Message{
				ID: mail.ID(word[0]), From: mail.AgentAddress(mail.Name(word[1])),
				To:   []mail.Address{mail.AgentAddress(mail.Name(word[2]))},
				Body: word[3], Sent: mail.TimeOf(time.Now()),
			}})
		default:
			f.bad++
		}
	}
	return err
}

func (f *noteFiles) Write(_ context.Context, changes []dialect.Change) (int, error) {
	if err := f.look(); err != nil { // lines already in the file are not written again
		return 0, err
	}
	for i, c := range changes {
		var line string
		switch {
		case c.Message != nil:
			line = fmt.Sprintf("%s %s %s %s", c.Message.ID, c.Message.From.Signer(), c.Message.To[0].Signer(),
				c.Message.Body)
		case c.Receipt != nil && c.Receipt.Mark == mail.MarkRead:
			line = fmt.Sprintf("read %s %s", c.Receipt.Message, c.Receipt.Reader.Signer())
		}
		if line == "" || f.has[line] {
			continue
		}
		if err := f.file.Append([]byte(line)); err != nil {
			return i, err
		}
		f.has[line] = true
	}
	return len(changes), nil
}

func (f *noteFiles) Watch() []string { return []string{f.file.Path()} }
func (f *noteFiles) Close() error    { return nil }

func (f *noteFiles) Rejected() ([]mail.BadLine, error) {
	return make([]mail.BadLine, f.bad, max(f.bad, 1)), nil
}

// desk is a room with a set of bridges.
type desk struct {
	*testing.T
	room *mailroom.Room
	set  *Set
	dir  string // the foreign mailbox
	ours string // the set's own directory
	kind dialect.Dialect
}

func newDesk(t *testing.T) *desk { return newDeskOf(t, notes()) }

func newDeskOf(t *testing.T, kind dialect.Dialect) *desk {
	return newDeskThat(t, kind, policy.Retention{})
}

// newDeskThat returns a desk whose room has the given retention.
func newDeskThat(t *testing.T, kind dialect.Dialect, retention policy.Retention) *desk {
	t.Helper()
	d := &desk{T: t, dir: t.TempDir(), ours: filepath.Join(t.TempDir(), "bridges"), kind: kind}
	room, err := mailroom.Open(t.Context(), "lab", new(journaltest.Store).Open(),
		mailroom.Options{Retention: retention, Written: func() mail.Seq { return d.set.Written() }})
	if err != nil {
		t.Fatal(err)
	}
	d.room = room
	for _, n := range []mail.Name{"ann", "bob"} {
		if _, err := room.As(mail.User).Register(t.Context(), mail.Presence{Name: n}); err != nil {
			t.Fatal(err)
		}
	}
	d.start()
	t.Cleanup(func() {
		d.set.Close()
		if err := room.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func (d *desk) start() {
	d.Helper()
	d.set = NewSet([]dialect.Dialect{d.kind}, d.ours,
		Options{Room: d.room, Log: slog.New(slog.NewTextHandler(d.Output(), nil))})
	d.reconcile()
}

func (d *desk) reconcile() {
	d.Helper()
	if err := d.set.Reconcile(func() ([]mail.BridgeStatus, error) {
		return d.room.As(mail.User).Bridges(context.Background())
	}); err != nil {
		d.Fatal(err)
	}
}

func (d *desk) bridge(mode mail.BridgeMode) {
	d.Helper()
	b := mail.Bridge{Dialect: "notes", Dir: d.dir, Mode: mode}
	if err := Check([]dialect.Dialect{notes()}, &b); err != nil {
		d.Fatal(err)
	}
	if _, err := d.room.As(mail.User).AddBridge(d.Context(), b); err != nil {
		d.Fatal(err)
	}
	d.reconcile()
	d.sync()
}

func (d *desk) sync() mail.BridgeStatus {
	d.Helper()
	st, err := d.set.Sync(d.Context(), "notes")
	if err != nil {
		d.Fatal(err)
	}
	return st
}

// send sends a message and waits as a post office does.
func (d *desk) send(body string) mail.ID {
	d.Helper()
	sent, err := d.room.As("ann").Send(d.Context(), mail.Draft{To: mail.Recipients{"bob"}, Body: body})
	if err != nil {
		d.Fatal(err)
	}
	// longer than a post office would
	for began := time.Now(); time.Since(began) < 5*time.Second; time.Sleep(5 * time.Millisecond) {
		d.set.Await(d.Context(), d.room.Shown())
		if st := d.set.Statuses(); len(st) == 0 || st[0].Behind == 0 || st[0].Failing != "" {
			break
		}
	}
	return sent.ID
}

func (d *desk) path() string { return filepath.Join(d.dir, "notes") }

// bodies returns the last word of each line in the file.
func (d *desk) bodies() string {
	d.Helper()
	text, err := os.ReadFile(d.path())
	if err != nil && !os.IsNotExist(err) {
		d.Fatal(err)
	}
	var out []string
	for l := range bytes.Lines(text) {
		f := strings.Fields(string(l))
		out = append(out, f[len(f)-1])
	}
	return strings.Join(out, " ")
}

func (d *desk) want(bodies string) {
	d.Helper()
	if got := d.bodies(); got != bodies {
		d.Errorf("the file says %q, want %q", got, bodies)
	}
}

// inbox returns the bodies of bob's unread mail.
func (d *desk) inbox() (out []string) {
	d.Helper()
	p, err := d.room.As("bob").Inbox(d.Context(), mail.InboxQuery{})
	if err != nil {
		d.Fatal(err)
	}
	for _, it := range p.Messages {
		out = append(out, it.Body)
	}
	return out
}

func (d *desk) write(text string) {
	d.Helper()
	f, err := os.OpenFile(d.path(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		d.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		d.Fatal(err)
	}
}

func TestBothWays(t *testing.T) {
	d := newDesk(t)
	d.send("before")
	d.bridge(mail.BridgeBoth)
	d.want("before")
	d.send("after")
	d.want("before after") // before the sender got its answer
	place := d.room.Shown()
	d.write("x1 bob bob theirs\ngarbage\n")
	it, err := d.room.As("bob").Wait(t.Context(), mail.WaitQuery{After: place}) // file events trigger it
	if err != nil || it.ID != "x1" || it.Via != "notes" {
		t.Fatalf("wait = %+v, %v", it, err)
	}
	if st := d.sync(); st.Rejected != 1 || st.Failing != "" || st.Imported != 1 || st.Behind != 0 || !st.Running {
		t.Errorf("status = %+v", st)
	}
	if _, err := d.room.As("bob").Mark(t.Context(),
		mail.Marking{IDs: []mail.ID{"x1"}, Mark: mail.MarkRead}); err != nil {
		t.Fatal(err)
	}
	d.write("read " + string(d.send("last")) + " bob\n")
	d.sync()
	if got := d.inbox(); !slices.Equal(got, []string{"before", "after"}) {
		t.Errorf("unread: %q", got)
	}
	if got := d.bodies(); got != "before after theirs garbage bob last bob" {
		t.Errorf("the file says %q", got)
	}
}

// TestQuestionsToOtherRooms: a foreign mailbox, which knows no other rooms, sees nothing of them.
func TestQuestionsToOtherRooms(t *testing.T) {
	d := newDesk(t)
	d.bridge(mail.BridgeBoth)
	var items []mail.Item
	for i, to := range [][]mail.Address{{"far:ann@lab"}, {"far:ann@lab", "agent:bob"}, {"agent:bob"}} {
		items = append(items, mail.Item{Message: mail.Message{ID: mail.ID(fmt.Sprint("q", i)), Type: mail.Question,
			From: "agent:bob", To: to, Body: fmt.Sprint("question", i), Sent: 1}})
	}
	if _, err := d.room.As(mail.User).Import(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	if st := d.sync(); st.Failing != "" || st.Behind != 0 {
		t.Errorf("status = %+v", st)
	}
	d.want("question1 question2")
}

// Events that cannot be written are written later, in order and once; meanwhile sends succeed without delay.
func TestFailing(t *testing.T) {
	d := newDesk(t)
	d.bridge(mail.BridgeBoth)
	d.send("one")
	if err := os.Rename(d.dir, d.dir+".away"); err != nil {
		t.Fatal(err)
	}
	for d.set.Statuses()[0].Failing == "" {
		d.sync()
	}
	began := time.Now()
	d.send("two")
	d.send("three")
	if took := time.Since(began); took > 2*patience {
		t.Errorf("two senders waited %v for files that fail", took)
	}
	if st := d.sync(); st.Failing == "" || st.Since == 0 || st.Behind == 0 {
		t.Errorf("status = %+v, want it failing and behind", st)
	}
	if got := d.inbox(); len(got) != 3 {
		t.Errorf("unread: %q", got)
	}
	if err := os.Rename(d.dir+".away", d.dir); err != nil {
		t.Fatal(err)
	}
	if st := d.sync(); st.Failing != "" || st.Behind != 0 || st.Since != 0 {
		t.Errorf("status = %+v, want it well", st)
	}
	d.want("one two three")
}

// TestHanging: files that hang delay no one, are reported, and are brought up to date, once, when they answer.
func TestHanging(t *testing.T) {
	t.Parallel()
	var gate sync.Mutex
	d := newDeskOf(t, hanging(&gate))
	d.bridge(mail.BridgeBoth)
	d.send("one")
	gate.Lock()
	for _, body := range []string{"two", "three", "four"} {
		if _, err := d.room.As("ann").Send(t.Context(),
			mail.Draft{To: mail.Recipients{"bob"}, Body: body}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		d.set.Await(t.Context(), d.room.Shown())
		if took := time.Since(began); took > 2*patience {
			t.Errorf("a sender waited %v", took)
		}
	}
	st := d.sync()
	if !strings.Contains(st.Failing, "reading its files") || st.Since == 0 || st.Behind == 0 {
		t.Errorf("status = %+v, want it to say that the files hang", st)
	}
	// Stop the set, as with the post office, and start it again while the call still hangs.
	began := time.Now()
	d.set.Close()
	if took := time.Since(began); took > 2*stopPatience {
		t.Errorf("stopping took %v", took)
	}
	d.reconcile()
	if st := d.set.Statuses()[0]; !st.Running {
		t.Errorf("status = %+v", st)
	}
	gate.Unlock()
	for range 100 {
		if st = d.sync(); st.Failing == "" && st.Behind == 0 {
			break
		}
	}
	if st.Failing != "" || st.Behind != 0 {
		t.Errorf("status = %+v, want it well", st)
	}
	d.want("one two three four")
}

// A process that dies between writing and saving its cursor neither writes nor imports anything twice.
func TestCrash(t *testing.T) {
	d := newDesk(t)
	d.bridge(mail.BridgeBoth)
	d.write("x1 bob bob theirs\n")
	d.sync()
	var want []string
	for i := range 20 {
		d.send(fmt.Sprint(i))
		want = append(want, fmt.Sprint(i))
		d.set.Close()
		old := []string{"0", "3", "9999", "torn\x00"}[i%4]
		if err := os.WriteFile(filepath.Join(d.ours, "notes", "cursor"), []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		d.start()
	}
	d.sync()
	d.want("theirs " + strings.Join(want, " "))
	if got := len(d.inbox()); got != 21 {
		t.Errorf("%d unread, want 21", got)
	}
}

// notingFiles record the changes passed to them.
type notingFiles struct {
	noteFiles
	handed *[]string
}

func (f *notingFiles) Write(ctx context.Context, changes []dialect.Change) (int, error) {
	for _, c := range changes {
		if c.Message != nil {
			*f.handed = append(*f.handed, c.Message.Body)
		}
	}
	return f.noteFiles.Write(ctx, changes)
}

// A restarted bridge continues from its cursor: otherwise files without ids would get everything twice, and a long
// history would be compared with them at each start.
func TestCursor(t *testing.T) {
	var handed []string
	kind := notes()
	kind.Files = func(o dialect.FilesOptions) (dialect.Files, error) {
		return &notingFiles{noteFiles{file: lines.Open(o.Dir, "notes", 0o600),
			has: make(map[string]bool)}, &handed}, nil
	}
	d := newDeskOf(t, kind)
	d.bridge(mail.BridgeBoth)
	d.send("one")
	d.send("two")
	d.set.Close()
	was := d.room.Shown()
	if got := d.set.Len(); got != 0 {
		t.Fatalf("%d bridges run on", got)
	}
	handed = nil
	d.start()
	if st := d.set.Statuses()[0]; st.Seq != was || st.Behind != 0 {
		t.Errorf("started again, the files are at %d and %d behind, want %d", st.Seq, st.Behind, was)
	}
	d.send("three")
	d.set.Close()
	if !slices.Equal(handed, []string{"three"}) {
		t.Errorf("started again, the files were handed %q", handed)
	}
}

func TestModes(t *testing.T) {
	d := newDesk(t)
	d.write("x1 bob bob theirs\n")
	d.bridge(mail.BridgeMirror)
	d.send("ours")
	if st := d.sync(); st.Imported != 0 {
		t.Errorf("a mirror imported: %+v", st)
	}
	d.want("theirs ours")
	d.bridge(mail.BridgeFollow)
	d.send("unseen")
	if st := d.sync(); st.Imported != 1 {
		t.Errorf("it did not follow: %+v", st)
	}
	d.want("theirs ours")
	d.bridge(mail.BridgeBoth)
	d.want("theirs ours unseen")
	if err := d.room.As(mail.User).RemoveBridge(t.Context(), "notes"); err != nil {
		t.Fatal(err)
	}
	d.reconcile()
	if entries, err := os.ReadDir(d.ours); !os.IsNotExist(err) {
		t.Errorf("a bridge that was removed left %v, %v", entries, err)
	}
	d.want("theirs ours unseen")
}

// A message that the room refuses does not block the others.
func TestRefused(t *testing.T) {
	d := newDesk(t)
	d.write("x1 bob bob good\nx2 bob bob " + strings.Repeat("x", 2<<20) + "\nx3 bob bob better\n")
	d.bridge(mail.BridgeBoth)
	if got := d.inbox(); !slices.Equal(got, []string{"good", "better"}) {
		t.Errorf("unread: %.80q", got)
	}
	if st := d.sync(); st.Rejected != 1 || st.Imported != 2 || st.Failing != "" {
		t.Errorf("status = %+v", st)
	}
	bad, err := d.set.RejectedLines(t.Context(), "notes")
	if err != nil || len(bad) != 1 || bad[0].Text != "x2" || !strings.Contains(bad[0].Why, "the room refuses") {
		t.Errorf("what was refused is %.300v, %v", bad, err)
	}
}

func TestCheck(t *testing.T) {
	known := append([]dialect.Dialect{notes()}, dialect.Dialect{Name: "talk"})
	for _, c := range []struct {
		b    mail.Bridge
		want mail.Code
	}{
		{mail.Bridge{Dialect: "notes", Dir: t.TempDir()}, ""},
		{mail.Bridge{Dialect: "nodes", Dir: t.TempDir()}, mail.NotFound},
		{mail.Bridge{Dialect: "talk", Dir: t.TempDir()}, mail.Invalid},
		{mail.Bridge{Dialect: "notes", Dir: "/no/such/place"}, mail.NotFound},
		{mail.Bridge{Dialect: "notes", Dir: "x"}, mail.Invalid},
	} {
		if err := Check(known, &c.b); mail.CodeOf(err) != c.want {
			t.Errorf("Check(%+v) = %v, want %q", c.b, err, c.want)
		}
	}
}
