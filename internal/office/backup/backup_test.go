package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"pennypost/internal/base/durable"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

// testHome returns a missing home whose path is short enough for a socket.
func testHome(tb testing.TB) config.Home {
	tb.Helper()
	dir, err := os.MkdirTemp("", "pp")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	return config.Home(filepath.Join(dir, "home"))
}

// small returns a backup of one room with three messages, a token and a configuration.
func small(tb testing.TB) []byte {
	tb.Helper()
	home := testHome(tb)
	j, err := jsonl.Open(filepath.Join(home.Rooms(), "lab"), jsonl.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	defer j.Close()
	for _, id := range []mail.ID{"msg_1", "msg_2", "msg_3"} {
		if _, err := j.Append(tb.Context(), mail.Event{At: 1, Message: &mail.Message{ID: id, Body: "b"}}); err != nil {
			tb.Fatal(err)
		}
	}
	if err := os.MkdirAll(home.Dialogs(), 0o700); err != nil {
		tb.Fatal(err)
	}
	asked := filepath.Join(home.Dialogs(), "d-1.json") // not backed up
	for path, text := range map[string]string{home.Token(): "pp-operator.secret\n", home.File(): "# mine\n",
		home.Outbox(): "what waits\n", asked: `{"text":"what a client asks"}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	s, err := j.Snapshot(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	defer s.Close()
	var b bytes.Buffer
	w := NewWriter(&b, "v1")
	for _, err := range []error{w.Settings(home), w.Room("lab", s, nil, nil), w.Close()} {
		if err != nil {
			tb.Fatal(err)
		}
	}
	return b.Bytes()
}

// wantNothing checks that a restore left nothing behind.
func wantNothing(t *testing.T, home config.Home) {
	t.Helper()
	left, err := os.ReadDir(filepath.Dir(string(home)))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRestore(t *testing.T) {
	home := testHome(t)
	r, err := Restore(t.Context(), home, bytes.NewReader(small(t)))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rooms) != 1 || r.Rooms[0].Verification.Lines != 3 || len(r.Rooms[0].Verification.Problems) > 0 {
		t.Errorf("Restore = %+v, want one sound room of three lines", r.Rooms)
	}
	if text, err := os.ReadFile(home.Token()); err != nil || string(text) != "pp-operator.secret\n" {
		t.Errorf("the token is %q, %v", text, err)
	}
	if text, err := os.ReadFile(home.File()); err != nil || string(text) != "# mine\n" {
		t.Errorf("the configuration is %q, %v", text, err)
	}
	if text, err := os.ReadFile(home.Outbox()); err != nil || string(text) != "what waits\n" {
		t.Errorf("the outbox is %q, %v", text, err)
	}
	if _, err := os.Stat(home.Dialogs()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what clients ask is in a backup: %v", err)
	}
	if info, err := os.Stat(string(home)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the home has mode %v, %v", info.Mode(), err)
	}
	_, err = Restore(t.Context(), home, bytes.NewReader(small(t)))
	if mail.CodeOf(err) != mail.Conflict {
		t.Errorf("a second Restore = %v, want a conflict", err)
	}
	if text, err := os.ReadFile(home.Token()); err != nil || string(text) != "pp-operator.secret\n" {
		t.Errorf("after that the token is %q, %v", text, err)
	}
}

// A home that is a link stays one: its target is restored. A dangling link is left alone.
func TestRestoreOntoLink(t *testing.T) {
	home, elsewhere := testHome(t), testHome(t)
	if err := os.Symlink(string(elsewhere), string(home)); err != nil {
		t.Skip(err)
	}
	_, err := Restore(t.Context(), home, bytes.NewReader(small(t)))
	if mail.CodeOf(err) != mail.Conflict || !strings.Contains(err.Error(), "dangling") {
		t.Errorf("Restore onto a link that leads nowhere = %v", err)
	}
	wantNothing(t, elsewhere)
	if err := os.Mkdir(string(elsewhere), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), home, bytes.NewReader(small(t))); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(string(home)); to != string(elsewhere) || err != nil {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if text, err := os.ReadFile(elsewhere.Token()); err != nil || string(text) != "pp-operator.secret\n" {
		t.Errorf("where it leads to, the token is %q, %v", text, err)
	}
}

// A restore that was killed leaves its directory, which another restore does not touch.
func TestRestoreBesidePart(t *testing.T) {
	home := testHome(t)
	if err := os.Mkdir(string(home)+".part", 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Restore(t.Context(), home, bytes.NewReader(small(t)))
	if mail.CodeOf(err) != mail.Conflict || !strings.Contains(err.Error(), ".part") {
		t.Errorf("Restore = %v", err)
	}
	if _, err := os.Stat(string(home) + ".part"); err != nil {
		t.Error(err)
	}
}

func unzip(archive []byte) ([]byte, error) {
	zip, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(zip)
}

// A backup that is cut, or has a changed byte, at any of many places is refused, and leaves nothing behind.
func TestCutBackup(t *testing.T) {
	whole := small(t)
	plain, err := unzip(whole)
	if err != nil {
		t.Fatal(err)
	}
	home := testHome(t)
	for n := 0; n < len(whole); n += 5 {
		if _, err := Restore(t.Context(), home, bytes.NewReader(whole[:n])); mail.CodeOf(err) != mail.Invalid {
			t.Fatalf("cut after %d bytes of %d: %v", n, len(whole), err)
		}
		wantNothing(t, home)
		if n < 10 { // the header of gzip, whose time and system do not matter
			continue
		}
		spoilt := bytes.Clone(whole)
		spoilt[n] ^= 0x10
		if same, err := unzip(spoilt); err == nil && bytes.Equal(same, plain) {
			continue // a bit that only pads a byte
		}
		if _, err := Restore(t.Context(), home, bytes.NewReader(spoilt)); mail.CodeOf(err) != mail.Invalid {
			t.Fatalf("byte %d of %d changed: %v", n, len(whole), err)
		}
		wantNothing(t, home)
	}
}

// entry is a file of an archive.
type entry struct {
	header tar.Header
	text   string
}

// entries returns the files of an archive.
func entries(t *testing.T, archive []byte) (all []entry) {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry{*h, string(text)})
	}
}

// pack makes an archive, which ends early if a file is shorter than its header says.
func pack(all []entry) []byte {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	w := tar.NewWriter(zip)
	for _, e := range all {
		if e.header.Size == 0 {
			e.header.Size = int64(len(e.text))
		}
		e.header.Format = tar.FormatUnknown
		_ = w.WriteHeader(&e.header)
		_, _ = io.WriteString(w, e.text)
	}
	_ = w.Close()
	_ = zip.Close()
	return b.Bytes()
}

// A hostile archive is refused for its fault, and no file is written outside the restore's directory.
func TestHostileBackup(t *testing.T) {
	good := entries(t, small(t))
	file := func(name string) entry {
		return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600}, "x"}
	}
	link := func(kind byte, name, to string) entry {
		return entry{header: tar.Header{Typeflag: kind, Name: name, Linkname: to}}
	}
	before := func(e entry) []entry { return append([]entry{e}, good...) }
	manifest := func(change func(*Manifest)) []entry {
		var m Manifest
		last := good[len(good)-1]
		if err := json.Unmarshal([]byte(last.text), &m); err != nil {
			t.Fatal(err)
		}
		change(&m)
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		last.text, last.header.Size = string(text), 0
		return append(append([]entry{}, good[:len(good)-1]...), last)
	}
	huge := file("rooms/lab/mailbox.rejected.jsonl")
	huge.header.Size = 1 << 20
	largeToken := file("token")
	largeToken.text = strings.Repeat("x", maxSetting+1)
	attribute := file("rooms/x/mailbox.jsonl")
	attribute.header.PAXRecords = map[string]string{"SCHILY.xattr.user.x": "y"}
	for _, c := range []struct {
		name    string
		entries []entry
		want    string
	}{
		{"above", before(file("../x")), "in a data directory"},
		{"above a room", before(file("rooms/lab/../../../x")), "in a data directory"},
		{"room above", before(file("rooms/../mailbox.jsonl")), "in a data directory"},
		{"absolute", before(file("/tmp/x")), "in a data directory"},
		{"backslash", before(file(`rooms\lab\mailbox.jsonl`)), "in a data directory"},
		{"socket of the post office", before(file("pennypost.sock")), "in a data directory"},
		{"lock", before(file("rooms/lab/LOCK")), "in a data directory"},
		{"script", before(file("rooms/lab/archive/run.sh")), "in a data directory"},
		{"above the bridges", before(file("rooms/lab/bridges/../mailbox")), "in a data directory"},
		{"above a bridge", before(file("rooms/lab/bridges/haak/..")), "in a data directory"},
		{"below a bridge", before(file("rooms/lab/bridges/haak/cursor/x")), "in a data directory"},
		{"symbolic link", before(link(tar.TypeSymlink, "rooms/lab/archive", "/tmp")), "not a regular file"},
		{"link under a good name", before(link(tar.TypeSymlink, "token", "/tmp/x")), "not a regular file"},
		{"hard link", before(link(tar.TypeLink, "token", "config.toml")), "not a regular file"},
		{"directory", before(link(tar.TypeDir, "rooms/", "")), "not a regular file"},
		{"pipe", before(link(tar.TypeFifo, "token", "")), "not a regular file"},
		{"attribute", before(attribute), "attribute"},
		{"huge", before(huge), "unexpected EOF"},
		{"large token", before(largeToken), "too large"},
		{"twice", before(good[0]), "twice"},
		{"not listed", before(file("rooms/other/mailbox.jsonl")), "does not match the manifest"},
		{"missing", good[1:], "does not match the manifest"},
		{"no manifest", good[:len(good)-1], "its manifest is missing"},
		{"behind the manifest", append(append([]entry{}, good...), file("rooms/x/mailbox.jsonl")), "follows"},
		{"newer", manifest(func(m *Manifest) { m.Format++ }), "format 2"},
		{"other events", manifest(func(m *Manifest) { m.Rooms[0].Seq++ }), "last event"},
		{"other room", manifest(func(m *Manifest) { m.Rooms[0].Name = "../../x" }), "not a room name"},
		{"room that is not there", manifest(func(m *Manifest) { m.Rooms[0].Name = "x" }), "room x is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := testHome(t)
			_, err := Restore(t.Context(), home, bytes.NewReader(pack(c.entries)))
			if mail.CodeOf(err) != mail.Invalid || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Restore = %v, want %q", err, c.want)
			}
			wantNothing(t, home)
		})
	}
}

// No data may follow the end of a backup: neither another archive nor endless zeros.
func TestRestOfBackup(t *testing.T) {
	var zeros bytes.Buffer
	zip := gzip.NewWriter(&zeros)
	_, _ = zip.Write(make([]byte, 2*maxRest))
	_ = zip.Close()
	for _, rest := range [][]byte{[]byte("garbage"), zeros.Bytes()} {
		home := testHome(t)
		_, err := Restore(t.Context(), home, bytes.NewReader(append(small(t), rest...)))
		if mail.CodeOf(err) != mail.Invalid {
			t.Errorf("Restore = %v", err)
		}
		wantNothing(t, home)
	}
}

// An archive that expands too far is refused before it is written: the disk is not filled, whoever made it.
func TestBombIsRefused(t *testing.T) {
	home := testHome(t)
	if free, _, err := durable.Space(filepath.Dir(string(home))); err != nil || free == math.MaxInt64 {
		t.Skip("nobody knows here what is free: ", err)
	}
	bomb := func(to io.Writer) {
		zip := gzip.NewWriter(to)
		w := tar.NewWriter(zip)
		_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "rooms/lab/mailbox.jsonl", Mode: 0o600,
			Size: 1 << 60})
		for zeros, err := make([]byte, 1<<20), error(nil); err == nil; {
			_, err = w.Write(zeros)
		}
	}
	from, to := io.Pipe()
	go bomb(to)
	_, err := Restore(t.Context(), home, from)
	from.Close()
	if mail.CodeOf(err) != mail.TooLarge || !strings.Contains(err.Error(), "may use only") {
		t.Errorf("Restore = %v", err)
	}
	wantNothing(t, home)
}

// A restore leaves space for other programs on the disk, but a large disk that is nearly full accepts a small backup.
func TestUsable(t *testing.T) {
	const gb = 1 << 30
	for _, c := range []struct{ free, total, want int64 }{
		{10 * gb, 10 * gb, 10*gb - gb/2},
		{12 * gb, 252 * gb, 11 * gb},
		{gb / 2, 252 * gb, 0},
		{0, 10 * gb, 0},
	} {
		if got := usable(c.free, c.total); got != c.want {
			t.Errorf("of %d free bytes of %d, %d are usable, want %d", c.free, c.total, got, c.want)
		}
	}
}

// The memory of a backup and a restore does not grow with the files.
func TestStream(t *testing.T) {
	const size = 128 << 20
	s := &jsonl.Snapshot{Files: []jsonl.SnapshotFile{{Name: "mailbox.jsonl",
		SectionReader: io.NewSectionReader(endless{}, 0, size)}}}
	from, to := io.Pipe()
	go func() {
		w := NewWriter(to, "v1")
		to.CloseWithError(errors.Join(w.Room("lab", s, nil, nil), w.Close()))
	}()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, err := unpack(t.TempDir(), from)
	runtime.ReadMemStats(&after)
	from.Close()
	if err != nil || len(m.Files) != 1 || m.Files[0].Bytes != size {
		t.Errorf("unpack = %+v, %v", m, err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
		t.Errorf("backup and restore of %d MB allocated %d MB", size>>20, took>>20)
	}
}

// endless has the same text everywhere.
type endless struct{}

func (endless) ReadAt(p []byte, _ int64) (int, error) {
	for i := range p {
		p[i] = "0123456789abcde\n"[i%16]
	}
	return len(p), nil
}

// badDisk cannot read one block.
type badDisk struct{ *strings.Reader }

func (d badDisk) ReadAt(p []byte, off int64) (int, error) {
	if bad := int64(40 << 10); off <= bad && bad < off+int64(len(p)) {
		n, _ := d.Reader.ReadAt(p[:bad-off], off)
		return n, syscall.EIO
	}
	return d.Reader.ReadAt(p, off)
}

// An unreadable block is zeros in the backup, the data before and after it is there, and the room is named.
func TestBadBlock(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 16<<10)
	s := &jsonl.Snapshot{Seq: 7, Files: []jsonl.SnapshotFile{{Name: "mailbox.jsonl",
		SectionReader: io.NewSectionReader(badDisk{strings.NewReader(text)}, 0, int64(len(text)))}}}
	var b bytes.Buffer
	w := NewWriter(&b, "v1")
	if err := errors.Join(w.Room("lab", s, nil, nil), w.Close()); err != nil {
		t.Fatal(err)
	}
	got := entries(t, b.Bytes())[0].text
	if len(got) != len(text) || got[:40<<10] != text[:40<<10] || got[64<<10:] != text[64<<10:] ||
		strings.Trim(got[40<<10:64<<10], "\x00") != "" {
		t.Error("the backup does not have what can be read")
	}
	if raw := w.Raw(); len(raw) != 1 || !strings.Contains(raw[0].Raw, "mailbox.jsonl") {
		t.Errorf("Raw = %+v, want the room and its file", raw)
	}
	r, err := Restore(t.Context(), testHome(t), &b)
	if err != nil || len(r.Rooms) != 1 || r.Rooms[0].Raw == "" {
		t.Errorf("Restore = %+v, %v, want the room, and what is wrong with it", r, err)
	}
}

// seeds returns inputs to try on the unpacker.
func seeds(f *testing.F) (plain [][]byte) {
	whole, err := unzip(small(f))
	if err != nil {
		f.Fatal(err)
	}
	plain = [][]byte{{}, whole, whole[:len(whole)/2], whole[:700], append(bytes.Clone(whole), whole...),
		make([]byte, 32<<10)}
	name := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600} }
	for _, h := range []tar.Header{
		name("../x"), name("/etc/x"), name("rooms/../../x"), name("rooms/lab/archive/../../../x"), name(`..\x`),
		name("rooms/lab"), name("rooms//mailbox.jsonl"), name("rooms/lab/mailbox.jsonl/x"), name("token/x"), name(""),
		name("rooms/lab/bridges/haak/cursor"), name("rooms/lab/bridges/../mailbox"),
		{Typeflag: tar.TypeSymlink, Name: "rooms", Linkname: "/"},
		{Typeflag: tar.TypeLink, Name: "token", Linkname: "../../x"},
		{Typeflag: tar.TypeChar, Name: "token", Devmajor: 1, Devminor: 3},
		{Typeflag: tar.TypeBlock, Name: "token", Devmajor: 8}, {Typeflag: tar.TypeFifo, Name: "token"},
		{Typeflag: tar.TypeReg, Name: "rooms/lab/mailbox.jsonl", Size: 1 << 60},
		{Typeflag: tar.TypeReg, Name: "rooms/lab/mailbox.jsonl", Size: 1<<63 - 1},
		{Typeflag: tar.TypeReg, Name: manifestName, Size: maxManifest + 1},
		{Typeflag: tar.TypeReg, Name: tokenName, PAXRecords: map[string]string{"GNU.sparse.realsize": "1"}},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		_ = w.WriteHeader(&h)
		plain = append(plain, append(b.Bytes(), whole...))
	}
	return append(plain, append(whole[:1024:1024], whole...)) // one file twice
}

// For any archive, the unpacked files are in the directory and match the manifest. If packed, text is already a gzip
// file.
func FuzzUnpack(f *testing.F) {
	for _, plain := range seeds(f) {
		f.Add(plain, false)
	}
	whole := small(f)
	f.Add(whole, true)
	f.Add(append(bytes.Clone(whole), whole...), true)
	f.Fuzz(func(t *testing.T, text []byte, packed bool) {
		var b bytes.Buffer
		if packed {
			b.Write(text)
		} else {
			zip, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
			_, _ = zip.Write(text)
			_ = zip.Close()
		}
		above := t.TempDir()
		dir := filepath.Join(above, "part")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		m, err := unpack(dir, &b)
		if names, bad := os.ReadDir(above); bad != nil || len(names) != 1 {
			t.Fatalf("beside the directory: %v, %v", names, bad)
		}
		if err != nil {
			if code := mail.CodeOf(err); code != mail.Invalid && code != mail.TooLarge {
				t.Errorf("unpack = %v, which is not said of the archive", err)
			}
			return
		}
		for _, file := range m.Files {
			info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(file.Name)))
			if err != nil || !info.Mode().IsRegular() || info.Size() != file.Bytes {
				t.Errorf("%s: %v, %v", file.Name, info, err)
			}
		}
	})
}
