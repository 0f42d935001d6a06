package haak_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
	"pennypost/internal/office/dialect/dialecttest"
	"pennypost/internal/office/dialect/haak"
)

// desk is a fixture with a bridge, and helpers for these tests.
type desk struct{ *dialecttest.Fixture }

func newDesk(t *testing.T) desk {
	d := desk{dialecttest.New(t, haak.Dialect())}
	d.Bridge(mail.BridgeBoth)
	return d
}

// ok runs a verb that must succeed and returns its output.
func (d desk) ok(words ...string) string {
	d.T.Helper()
	out, errs, err := d.Verb(words...)
	if err != nil {
		d.T.Fatalf("%q: %v\n%s", words, err, errs)
	}
	return out
}

// notes runs a verb that must succeed and returns its standard error.
func (d desk) notes(words ...string) string {
	d.T.Helper()
	_, errs, err := d.Verb(words...)
	if err != nil {
		d.T.Fatalf("%q: %v\n%s", words, err, errs)
	}
	return errs
}

// refused runs a verb that must fail.
func (d desk) refused(code mail.Code, words ...string) string {
	d.T.Helper()
	out, _, err := d.Verb(words...)
	if mail.CodeOf(err) != code {
		d.T.Fatalf("%q: %v, want %s\n%s", words, err, code, out)
	}
	return err.Error()
}

func (d desk) register(id string, flags ...string) {
	d.T.Helper()
	d.ok(append([]string{"roster", "register", "--session-id", id}, flags...)...)
}

// send sends a message and returns its id.
func (d desk) send(from, to, body string, flags ...string) mail.ID {
	d.T.Helper()
	out := d.ok(append([]string{"mailbox", "send", "--json", "--from", from, "--to", to, "--body", body}, flags...)...)
	var sent struct {
		ID mail.ID `json:"id"`
	}
	if err := jsonx.Unmarshal([]byte(out), &sent); err != nil || sent.ID == "" {
		d.T.Fatalf("send prints %q: %v", out, err)
	}
	return sent.ID
}

// unread returns the bodies of a session's unread mail, without marking them.
func (d desk) unread(id string) []string {
	d.T.Helper()
	var bodies []string
	for _, it := range d.Inbox(mail.Name(id)) {
		bodies = append(bodies, it.Body)
	}
	return bodies
}

func (d desk) wantUnread(id string, want ...string) {
	d.T.Helper()
	if diff := cmp.Diff(want, d.unread(id)); diff != "" {
		d.T.Errorf("unread of %s (-want +got):\n%s", id, diff)
	}
}

func (d desk) path(name string) string { return filepath.Join(d.Dir, "data", name) }

const (
	mailbox = "agent-mailbox.jsonl"
	reads   = "agent-mailbox-reads.jsonl"
	roster  = "agent-roster.jsonl"
)

func (d desk) text(name string) string {
	d.T.Helper()
	text, err := os.ReadFile(d.path(name))
	if err != nil && !os.IsNotExist(err) {
		d.T.Fatal(err)
	}
	return string(text)
}

// file returns the lines of a file.
func (d desk) file(name string) []map[string]any {
	d.T.Helper()
	var all []map[string]any
	for l := range strings.Lines(d.text(name)) {
		var m map[string]any
		if err := jsonx.Unmarshal([]byte(l), &m); err != nil {
			d.T.Fatalf("%s: %v: %s", name, err, l)
		}
		all = append(all, m)
	}
	return all
}

func (d desk) last(name string) map[string]any {
	d.T.Helper()
	all := d.file(name)
	if len(all) == 0 {
		d.T.Fatalf("%s is empty", name)
	}
	return all[len(all)-1]
}

// stranger appends lines as another program would, and syncs the bridge.
func (d desk) stranger(name string, lines ...string) mail.BridgeStatus {
	d.T.Helper()
	if err := os.MkdirAll(d.path("."), 0o755); err != nil {
		d.T.Fatal(err)
	}
	f, err := os.OpenFile(d.path(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		d.T.Fatal(err)
	}
	defer f.Close()
	for _, l := range lines {
		if _, err := f.WriteString(l + "\n"); err != nil {
			d.T.Fatal(err)
		}
	}
	return d.Sync()
}

func foreign(id, sender, recipient, at, content string) string {
	return fmt.Sprintf(
		`{"id":%q,"sender":%q,"recipient":%q,"timestamp":%q,"content":%q,"thread":null,"ttl_hours":null,"read_by":[]}`,
		id, sender, recipient, at, content)
}

var uuid4 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// unseen appends a line while no bridge looks.
func (d desk) unseen(name string, line string) {
	d.T.Helper()
	f, err := os.OpenFile(d.path(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		d.T.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(line + "\n"); err != nil {
		d.T.Fatal(err)
	}
}

// offline runs a verb without a post office.
func (d desk) offline(words ...string) (stdout, stderr string, err error) {
	d.T.Helper()
	var verb *dialect.Verb
	n := 0
	for i, v := range d.Dialect.Verbs {
		if path := strings.Fields(v.Path); len(path) <= len(words) && slices.Equal(path, words[:len(path)]) {
			verb, n = &d.Dialect.Verbs[i], len(path)
		}
	}
	fs := pflag.NewFlagSet(verb.Path, pflag.ContinueOnError)
	json := fs.Bool("json", false, "")
	collect := verb.Bind(fs)
	if err := fs.Parse(words[n:]); err != nil {
		return "", "", err
	}
	down := mail.Errorf(mail.Unavailable, "there is no post office")
	var out, errs bytes.Buffer
	in := &dialect.Invocation{
		Args: fs.Args(), Stdout: &out, Fenced: &out, Stderr: &errs, JSON: *json, Dir: d.Dir, Project: d.Dir,
		Now:    d.Now(),
		Getenv: func(string) string { return "" }, Program: func() string { return "" },
		Caller: func(context.Context) (mail.Name, error) { return mail.User, nil },
		As:     func(context.Context, mail.Name) (mail.Service, error) { return nil, down },
		Bridge: func(context.Context, string, mail.BridgeMode) (mail.BridgeStatus, error) {
			return mail.BridgeStatus{}, down
		},
	}
	if err = collect(in); err == nil {
		err = verb.Run(d.T.Context(), in)
	}
	return out.String(), errs.String(), err
}
