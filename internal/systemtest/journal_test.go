package systemtest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// TestHomeOfVersion1 opens a home of the version before the chained journal (c022e87): unread mail is unread, read
// mail is read, the archive is there, and the token opens its mailbox. The home works, and nothing is missing.
func TestHomeOfVersion1(t *testing.T) {
	t.Parallel()
	const token = "pp.bGFi.3OSIC6462FPJZT4W6PGHSZEV73" // of builder
	o := newOffice(t)
	if err := os.CopyFS(o.home, os.DirFS("testdata/home-v1")); err != nil {
		t.Fatal(err)
	}
	bodies := func(page mail.Page) (out []string) {
		for _, it := range page.Messages {
			out = append(out, it.Body)
		}
		return out
	}
	want := []string{"waits unread, 小克", "role mail", "after the archive ran"}
	for round := range 3 {
		d := o.mustServe(t, loopback)
		got := bodies(fetch[mail.Page](t, d.door(token), http.StatusOK, http.MethodGet, "/api/v1/rooms/lab/inbox", ""))
		if !slices.Equal(got, want) {
			t.Errorf("start %d: builder's unread mail is %q, want %q", round, got, want)
		}
		if got := bodies(ask[mail.Page](t, o, "inbox", "--room", "lab")); !slices.Equal(got,
			[]string{"to the person"}) {
			t.Errorf("start %d: the person's unread mail is %q", round, got)
		}
		if got := bodies(ask[mail.Page](t, o, "history", "--room", "lab", "--archive")); !slices.Contains(got,
			"long ago") || !slices.Contains(got, "was read") {
			t.Errorf("start %d: history and archive have %q", round, got)
		}
		if r := o.run("verify", "--room", "lab"); r.code != 0 {
			t.Errorf("start %d: verify: %+v", round, r)
		}
		more := fmt.Sprint("sent since ", round)
		o.must(t, "send", "--room", "lab", "--to", "builder", "--body", more)
		want = append(want, more)
		if err := d.terminate(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHomeOfManyNames opens a home of a Pennypost that kept marks by name: ann was shown two letters, became bea,
// read one of them under that name, and the journal was compacted, which removed the renaming; then she became cleo
// and archived the other. Her mail, her marks, everything bound to her and her keys belong to one agent.
func TestHomeOfManyNames(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if err := os.CopyFS(o.home, os.DirFS("testdata/home-names")); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		d := o.mustServe(t, loopback)
		var got []string
		for _, it := range ask[mail.Page](t, o, "inbox", "--room", "lab", "--as", "cleo").Messages {
			got = append(got, it.Body)
		}
		if want := []string{"role mail", "to the old name"}; !slices.Equal(got, want) {
			t.Errorf("start %d: cleo's unread mail is %q, want %q", round, got, want)
		}
		for id, want := range map[mail.ID]mail.DeliveryState{
			"msg_1gLBEwl0JdT03TJNonhhy": mail.Read, "msg_X3uHTechRDqjATaL2Yrxr": mail.Archived,
			"msg_Q7F2tgMZ8pzCQnX5ONjX2": mail.Read, "msg_lYf_8YyU2amFrEjJvj8Mk": mail.Queued,
		} {
			it := fetch[mail.Item](t, d.door(o.operator(t)), http.StatusOK, http.MethodGet,
				"/api/v1/rooms/lab/messages/"+string(id), "")
			i := slices.IndexFunc(it.Deliveries, func(d mail.Delivery) bool { return d.Agent == "cleo" })
			if i < 0 || it.Deliveries[i].State != want {
				t.Errorf("start %d: %q stands as %+v, want %s by cleo", round, it.Body, it.Deliveries, want)
			}
		}
		for _, name := range []string{"ann", "bea", "cleo"} {
			sent := ask[mail.Sent](t, o, "send", "--room", "lab", "--as", name, "--to", "zoe", "--key", "once",
				"--body",
				"from ann")
			if !sent.Duplicate || sent.ID != "msg_yzkkW5LSmXh37jO3PxBrk" {
				t.Errorf("start %d: what ann sent, sent again by %s, is %+v", round, name, sent)
			}
		}
		o.must(t, "archive", "--room", "lab")
		if r := o.run("verify", "--room", "lab"); r.code != 0 {
			t.Errorf("start %d: verify: %+v", round, r)
		}
		if err := d.terminate(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestChangedWhileOpen changes the files of a running post office as people and programs do, and sends three
// messages: acknowledged messages are there after a restart, the person is told, and a file that replaced the
// journal is kept.
func TestChangedWhileOpen(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(o *office, path string) error{
		"sed -i": func(_ *office, path string) error {
			b, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path+".new", bytes.Replace(b, []byte("before 1"), []byte("changed!"), 1), 0o600)
			}
			return errors.Join(err, os.Rename(path+".new", path))
		},
		"rm":            func(_ *office, path string) error { return os.Remove(path) },
		"rm -r of room": func(_ *office, path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"rm -r of home": func(o *office, _ string) error { return os.RemoveAll(o.home) },
		"emptied":       func(_ *office, path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			d := o.mustServe(t, loopback)
			door := d.door(o.operator(t))
			fetch[mail.Agent](t, door, http.StatusOK, http.MethodPost, "/api/v1/rooms/lab/agents",
				`{"name":"builder"}`)
			var want []mail.ID
			send := func(body string) {
				sent := fetch[mail.Sent](t, door, http.StatusCreated, http.MethodPost, "/api/v1/rooms/lab/messages",
					`{"to":"builder","body":"`+body+`"}`)
				want = append(want, sent.ID)
			}
			send("before 1")
			send("before 2")
			if err := do(o, filepath.Join(o.home, "rooms", "lab", "mailbox.jsonl")); err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				send(fmt.Sprint("after ", i))
			}
			told := func() bool {
				inbox := fetch[mail.Page](t, door, http.StatusOK, http.MethodGet, "/api/v1/rooms/lab/inbox", "")
				return slices.ContainsFunc(inbox.Messages, func(it mail.Item) bool {
					return it.From == mail.FromSystem && strings.Contains(it.Subject, "mailbox file")
				})
			}
			eventually(t, "a notice to the person", told)
			if err := d.terminate(); err != nil {
				t.Fatal(err)
			}
			o.mustServe(t)
			got := there(t, o.socket(""), "lab")
			got = slices.DeleteFunc(got, func(id mail.ID) bool { return !slices.Contains(want, id) })
			if !slices.Equal(got, want) {
				t.Errorf("after a restart there are %v, want %v", got, want)
			}
			if found, err := grep(o.home, "changed!"); name == "sed -i" && (err != nil || len(found) != 1) {
				t.Errorf("the file of sed is kept in %v, %v", found, err)
			}
			if r := o.run("verify", "--room", "lab", "--repair"); r.code != 0 && name != "sed -i" {
				t.Errorf("verify --repair: %+v", r)
			}
		})
	}
}

// TestVerifyNamesAbsences damages journals of a stopped post office as an editor, a bad disk or a backup does: an
// earlier verify said "0 problems" to each.
func TestVerifyNamesAbsences(t *testing.T) {
	t.Parallel()
	d := newDamaged(t)
	all := bytes.Join(d.lines, nil)
	last, err := os.ReadFile(filepath.Join(d.home, "rooms", "origin", "mailbox.last"))
	if err != nil {
		t.Fatal(err)
	}
	damages := map[string][]byte{
		"deleted-line": bytes.Join(slices.Delete(slices.Clone(d.lines), 2, 3), nil),
		"cut-within":   bytes.Join(slices.Delete(slices.Clone(d.lines), 2, 5), nil),
		"cut-tail":     bytes.Join(d.lines[:5], nil),
		"emptied":      nil,
		"zeroed":       make([]byte, len(all)),
	}
	for room, text := range damages {
		d.write(t, room, text)
		if err := os.WriteFile(filepath.Join(d.home, "rooms", room, "mailbox.last"), last, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reversed := slices.Clone(d.lines)
	slices.Reverse(reversed)
	d.write(t, "reversed", bytes.Join(reversed, nil))
	d.mustServe(t)
	for room := range damages {
		r := d.run("verify", "--room", room)
		if r.code != 1 || !strings.Contains(r.stdout, " missing, ") || !strings.Contains(r.stdout, ", from ") {
			t.Errorf("%s: verify: %+v, want exit 1 and what is missing", room, r)
		}
		sent := fetch[mail.Sent](t, d.socket(""), http.StatusCreated, http.MethodPost, "/api/v1/rooms/"+room+
			"/messages", `{"to":"user","body":"goes on"}`)
		if int(sent.Seq) <= len(d.lines) {
			t.Errorf("%s goes on at %d, and %d had been given", room, sent.Seq, len(d.lines))
		}
	}
	if got := there(t, d.socket(""), "reversed"); len(got) != 1 {
		t.Errorf("of the reversed journal %d messages can be read; this test is made for one", len(got))
	}
	if r := d.run("verify", "--room", "reversed", "--repair"); r.code != 0 ||
		!strings.Contains(r.stdout, "Restored 6 lines.") {
		t.Errorf("verify --repair of the reversed journal: %+v", r)
	}
	if got, want := there(t, d.socket(""), "reversed"), ids(t, d.lines); !slices.Equal(got, want) {
		t.Errorf("after the repair there are %v, want %v", got, want)
	}
	if r := d.run("verify", "--room", "origin", "--repair", "--as", "builder"); r.code == 0 {
		t.Error("an agent may repair")
	}
}
