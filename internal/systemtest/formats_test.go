package systemtest

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// formats are the commits that began to write something new into a journal, and a description of that. For each,
// testdata has a room that its program made: agents with a role, mail of several kinds, marks, an idempotency key, a
// compaction and later events, and what the commit began. The sessions of its dialogs and claims have ended there.
// home-v1 and home-names are two more. No room here has events of bridges: these contain paths of files on a
// machine.
var formats = []struct{ commit, began string }{
	{"da27c4f0", "the first that worked: version 1, agents, messages, receipts, checkpoints"},
	{"ee028635", "turns of a session"},
	{"0846b83d", "version 2: lines are chained, stubs stand for what left; questions stay open"},
	{"9a7f38d4", "withdrawals"},
	{"1c2d0470", "machines that share a room"},
	{"08d27fc4", "how the user was known, suggestions"},
	{"e27247fa", "grants"},
	{"59544cc3", "the gate"},
	{"70cfeb9d", "claims, dialogs, what is sent later"},
}

// begun is how that appears in a room, in answers in JSON.
var begun = map[string][]struct {
	args []string
	has  string
}{
	"08d27fc4": {{[]string{"waiting"}, `"asked":"builder","chain":["ann","builder"],"suggestions":1`}},
	"e27247fa": {{[]string{"agents", "grants"}, `"agent":"builder","dir":"/srv/shop","client":"claude"`},
		{[]string{"agents", "grants"}, `"agent":"ann","role":"orchestrator","refused":true`}},
	"70cfeb9d": {{[]string{"agents"}, `"name":"clerk","roles":[],"tags":[],"state":"gone"`},
		{[]string{"agents"}, `"last_session":"session-of-clerk"`}, {[]string{"dialogs"}, `"dialogs":[]`}},
}

// TestFormats opens a room of each format, reads its mail, adds to it, and opens it again.
func TestFormats(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.keepForever(t)
	for _, f := range formats {
		from := os.DirFS(filepath.Join("testdata", "formats", f.commit))
		if err := os.CopyFS(filepath.Join(o.home, "rooms", f.commit), from); err != nil {
			t.Fatal(err)
		}
	}
	listed, err := os.ReadDir("testdata/formats")
	if err != nil || len(listed) != len(formats) {
		t.Errorf("testdata/formats has %v, %v; want those of the list", listed, err)
	}
	for round := range 2 {
		d := o.mustServe(t)
		for _, f := range formats {
			if t.Run(f.commit, func(t *testing.T) { o.readFormat(t, f.commit, round) }); t.Failed() {
				t.Logf("the room of %s is a home of before: %s", f.commit, f.began)
			}
		}
		if err := d.terminate(); err != nil {
			t.Fatal(err)
		}
	}
}

// keepForever disables expiry and archiving by age: homes in testdata keep getting older.
func (o *office) keepForever(t *testing.T) {
	t.Helper()
	const config = "[room.retention]\nage = \"40000d\"\n[room.ttl]\nagent = \"40000d\"\nall = \"40000d\"\n"
	err := os.MkdirAll(o.home, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(o.home, "config.toml"), []byte(config), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// readFormat examines a room of testdata/formats after round openings.
func (o *office) readFormat(t *testing.T, room string, round int) {
	bodies := func(args ...string) (all []string) {
		for _, it := range ask[mail.Page](t, o, append(args, "--room", room)...).Messages {
			all = append(all, it.Body)
		}
		return all
	}
	has := func(what string, got []string, want ...string) {
		t.Helper()
		for _, body := range want {
			if n := len(slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s != body })); n != 1 {
				t.Errorf("%s has %q %d times: %q", what, body, n, got)
			}
		}
	}
	unread := bodies("inbox", "--as", "builder")
	has("builder's inbox", unread, "Which port, 小克?", "for the role", "Never mind?", "after the archive ran")
	if slices.Contains(unread, "Write the parser.") || slices.Contains(unread, "put away") {
		t.Errorf("what builder had read or put away is unread: %q", unread)
	}
	has("ann's inbox", bodies("inbox", "--as", "ann"), "Done.")
	has("the person's inbox", bodies("inbox"), "for the person")
	has("the history", bodies("history", "--archive", "--limit", "100"), "Which port, 小克?", "Write the parser.",
		"for the role", "hello, all", "for the person", "Done.", "Never mind?", "put away", "after the archive ran")
	if sent := ask[mail.Sent](t, o, "send", "--room", room, "--as", "ann", "--to", "builder", "--type", "question",
		"--subject", "A question", "--body", "Which port, 小克?", "--key", "k1"); !sent.Duplicate {
		t.Errorf("what was sent with a key is sent again: %+v", sent)
	}
	for _, b := range begun[room] {
		if got := o.must(t, append(b.args, "--json", "--room", room)...); !strings.Contains(got, b.has) {
			t.Errorf("%s has no %s: %s", b.args, b.has, got)
		}
	}
	if round == 0 {
		past := o.must(t, "claims", "--past", "--room", room)
		if strings.Contains(past, "clerk") != (room == "70cfeb9d") {
			t.Errorf("past claims: %s", past)
		}
		o.must(t, "send", "--room", room, "--as", "ann", "--to", "builder", "--body", "goes on")
		o.must(t, "archive", "--room", room)
	} else {
		has("builder's inbox", unread, "goes on")
	}
	if r := o.run("verify", "--room", room); r.code != 0 {
		t.Errorf("verify: %+v", r)
	}
}

// TestNewerJournal: a room that a newer Pennypost has written is refused by name, and left unchanged byte for byte,
// whatever the request; the other rooms still work.
func TestNewerJournal(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	dir := filepath.Join(o.home, "rooms", "newer")
	if err := os.CopyFS(dir, os.DirFS("testdata/newer")); err != nil {
		t.Fatal(err)
	}
	before := filesBelow(t, dir)
	o.must(t, "send", "--room", "lab", "--as", "ann", "--to", "user", "--body", "another room")
	for _, args := range [][]string{{"inbox"}, {"history", "--archive"}, {"verify"}, {"verify", "--repair"},
		{"archive"}, {"send", "--as", "ann", "--to", "user", "--body", "x"}, {"agents"}} {
		r := o.run(append(args, "--room", "newer")...)
		if r.code != 6 || !strings.Contains(flat(r.stderr), "by a newer Pennypost (v9.0.0) and needs "+
			"rooms-in-rooms, which") {
			t.Errorf("%s: %+v", args, r)
		}
	}
	if got := ask[mail.Page](t, o, "inbox", "--room", "lab").Messages; len(got) != 1 {
		t.Errorf("the other room has %+v", got)
	}
	o.must(t, "stop")
	after := filesBelow(t, dir)
	delete(after, "LOCK")
	if !maps.EqualFunc(before, after, bytes.Equal) {
		t.Errorf("there was %q and is %q", before, after)
	}
}

// TestNewerRoomOnServers: a machine with a newer Pennypost has recorded its requirement in a room on the servers.
// This one refuses the room by name, immediately and after a restart, and continues with the others; the room on the
// servers stays as it is.
func TestNewerRoomOnServers(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{})
	o := newOffice(t)
	onServers(t, o, servers, "laptop-1", "jetstream")
	o.must(t, "send", "--room", "newer", "--as", "ann", "--to", "user", "--body", "from before")
	o.must(t, "send", "--room", "lab", "--as", "ann", "--to", "user", "--body", "another room")
	newer, err := jetstream.Connect(t.Context(), jetstream.Config{URLs: servers.URLs(), Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer newer.Close()
	reply, err := newer.Conn().Request("pennypost.shard.1.newer.1.log", []byte(
		`{"at":"2026-05-10T14:00:00.125Z","needs":{"features":["rooms-in-rooms"],"by":"v9.0.0"}}`), patience)
	if err != nil || bytes.Contains(reply.Data, []byte("error")) {
		t.Fatalf("%v %s", err, reply.Data)
	}
	before, err := newer.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refused := func(args ...string) bool {
		r := o.run(append(args, "--room", "newer")...)
		return r.code == 6 && strings.Contains(flat(r.stderr), "room newer on the NATS servers was written by a "+
			"newer Pennypost (v9.0.0) and needs rooms-in-rooms, which")
	}
	eventually(t, "the room is refused", func() bool { return refused("inbox") })
	for range 2 {
		for _, args := range [][]string{{"inbox"}, {"history"}, {"verify"}, {"archive"}, {"agents"},
			{"send", "--as", "ann", "--to", "user", "--body", "x"}} {
			if !refused(args...) {
				t.Errorf("%s is not refused", args)
			}
		}
		for _, args := range [][]string{{"rooms", "move", "newer", "--to", "file"}, {"rooms", "remove", "newer",
			"--yes"}} {
			if r := o.run(args...); r.code != 6 || !strings.Contains(flat(r.stderr), "by a newer Pennypost") {
				t.Errorf("%s: %+v", args, r)
			}
		}
		if got := ask[mail.Page](t, o, "inbox", "--room", "lab").Messages; len(got) != 1 {
			t.Errorf("the other room has %+v", got)
		}
		o.must(t, "stop")
	}
	after, err := newer.List(t.Context())
	if err != nil || !reflect.DeepEqual(after["newer"], before["newer"]) {
		t.Errorf("the room was %+v and is %+v, %v", before["newer"], after["newer"], err)
	}
}

func filesBelow(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := make(map[string][]byte)
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		all[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
