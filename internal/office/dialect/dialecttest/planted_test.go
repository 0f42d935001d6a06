//go:build unix

package dialecttest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
	"pennypost/internal/office/dialect/agenties"
	"pennypost/internal/office/dialect/claudeteams"
	"pennypost/internal/office/dialect/dialecttest"
	"pennypost/internal/office/dialect/haak"
	"pennypost/internal/office/dialect/openalice"
)

// plant replaces a file or directory of a mailbox.
type plant struct {
	name string
	put  func(path string, v *victims) error
}

// victims must stay unchanged: a file and a directory outside, and a hook inside the bridged directory.
type victims struct{ outside, inside string }

const kept = "#!/bin/sh\n"

func newVictims(t *testing.T, dir string) *victims {
	v := &victims{t.TempDir(), filepath.Join(dir, ".git", "hooks")}
	if err := os.MkdirAll(v.inside, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{v.outside + "/rc", v.inside + "/post-checkout"} {
		if err := os.WriteFile(file, []byte(kept), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func (v *victims) check(t *testing.T) {
	t.Helper()
	for _, file := range []string{v.outside + "/rc", v.inside + "/post-checkout"} {
		if text, err := os.ReadFile(file); string(text) != kept || err != nil {
			t.Errorf("%s says %q, %v", file, text, err)
		}
		if list, err := os.ReadDir(filepath.Dir(file)); len(list) != 1 {
			t.Errorf("beside %s there are %v, %v", file, list, err)
		}
	}
}

func plants() []plant {
	return []plant{
		{"link to a file outside", func(path string, v *victims) error { return os.Symlink(v.outside+"/rc", path) }},
		{"link to a file to be made outside", func(path string, v *victims) error {
			return os.Symlink(v.outside+"/new", path)
		}},
		{"link to a hook inside", func(path string, v *victims) error {
			return os.Symlink(v.inside+"/post-checkout", path)
		}},
		{"relative link to a hook inside", func(path string, v *victims) error {
			to, err := filepath.Rel(filepath.Dir(path), v.inside+"/post-checkout")
			if err != nil {
				return err
			}
			return os.Symlink(to, path)
		}},
		{"link to a directory outside", func(path string, v *victims) error { return os.Symlink(v.outside, path) }},
		{"link to a directory inside", func(path string, v *victims) error { return os.Symlink(v.inside, path) }},
		{"pipe", func(path string, _ *victims) error { return syscall.Mkfifo(path, 0o600) }},
		{"directory", func(path string, _ *victims) error { return os.MkdirAll(filepath.Join(path, "x"), 0o700) }},
	}
}

// box is a dialect's mailbox with some mail in it.
type box struct {
	*dialecttest.Fixture
	t        *testing.T
	from, to mail.Name
}

func newBox(t *testing.T, d dialect.Dialect) *box {
	t.Helper()
	b := &box{dialecttest.New(t, d), t, writer, reader}
	b.Dir = filepath.Join(b.Dir, team)
	if err := os.MkdirAll(b.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	switch d.Name {
	case "claudeteams":
		text := `{"name":"` + team + `","leadAgentId":"boss@` + team + `","members":[{"name":"boss","agentId":"boss@` +
			team + `"},{"name":"reader"}]}`
		if err := os.WriteFile(filepath.Join(b.Dir, "config.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	case "openalice":
		b.to = mail.User
		if _, err := b.As(mail.User).AddWorkspace(t.Context(),
			mail.Workspace{ID: writer, Label: "desk", Dir: t.TempDir()}); err != nil {
			t.Fatal(err)
		}
	}
	b.Register(writer)
	if b.to != mail.User {
		b.Register(reader)
	}
	b.Bridge(mail.BridgeBoth)
	b.use("before")
	return b
}

// use makes the bridge write, and rewrite, all its files. It does not wait for them.
func (b *box) use(body string) {
	b.t.Helper()
	b.Advance(time.Second)
	to := "agent:" + string(b.to)
	if b.to == mail.User {
		to = "user"
	}
	for _, text := range []string{body, body + " erased"} {
		sent, err := b.Room.As(b.from).Send(b.t.Context(), mail.Draft{To: mail.Recipients{to}, Body: text})
		// there read mail is not written any more
		if err == nil && text == body && b.Dialect.Name != "claudeteams" {
			_, err = b.Room.As(b.to).Mark(b.t.Context(), mail.Marking{IDs: []mail.ID{sent.ID}, Mark: mail.MarkRead})
		}
		if err == nil && text != body {
			b.Sync()
			err = b.Room.As(mail.User).Erase(b.t.Context(), sent.ID)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	b.Sync()
}

// paths returns the paths in the bridge's directory.
func (b *box) paths() (out []string) {
	err := filepath.WalkDir(b.Dir, func(path string, _ fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(b.Dir, path); rel != "." {
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// text returns the content of all files in the directory.
func (b *box) text() string {
	var all strings.Builder
	for _, rel := range b.paths() {
		if text, err := os.ReadFile(filepath.Join(b.Dir, rel)); err == nil {
			all.Write(text)
		}
	}
	return all.String()
}

// TestPlanted: anything put in place of a mailbox's file or directory, before a bridge opens it or while it runs,
// leads nowhere and stops nothing; when it is removed the bridge continues.
func TestPlanted(t *testing.T) {
	for _, d := range []dialect.Dialect{agenties.Dialect(), haak.Dialect(), openalice.Dialect(),
		claudeteams.Dialect()} {
		places := newBox(t, d).paths()
		if slices.IndexFunc(places, func(p string) bool {
			return strings.HasSuffix(p, ".json") || strings.HasSuffix(p, ".jsonl")
		}) < 0 {
			t.Fatalf("%s keeps only %v", d.Name, places)
		}
		for _, p := range plants() {
			t.Run(d.Name+" "+p.name, func(t *testing.T) {
				t.Parallel()
				for i, rel := range places {
					plantAt(t, d, p, rel, i%2 == 0)
				}
			})
		}
	}
}

func plantAt(t *testing.T, d dialect.Dialect, p plant, rel string, restart bool) {
	t.Helper()
	b := newBox(t, d)
	v := newVictims(t, b.Dir)
	path := filepath.Join(b.Dir, rel)
	aside := filepath.Join(t.TempDir(), "aside")
	if restart {
		b.Stop()
	}
	if info, err := os.Lstat(path); err != nil || info.IsDir() && p.name == "directory" {
		return // it belongs there, or it was a lock
	}
	if err := os.Rename(path, aside); err != nil {
		t.Fatalf("%s: %v", rel, err)
	}
	if err := p.put(path, v); err != nil {
		t.Fatalf("%s: %v", rel, err)
	}
	if restart {
		b.Start()
	}
	began := time.Now()
	b.use("meanwhile")
	b.Stop()
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("%s: it took %v", rel, took)
	}
	v.check(t)
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(aside, path); err != nil {
		t.Fatal(err)
	}
	b.Start()
	var st mail.BridgeStatus
	for range 50 {
		if st = b.Sync(); st.Failing == "" && st.Behind == 0 {
			break
		}
	}
	if st.Failing != "" || st.Behind != 0 {
		t.Errorf("%s: afterwards the bridge says %+v", rel, st)
	}
	v.check(t)
	if !strings.Contains(b.text(), `"meanwhile`) {
		t.Errorf("%s: what was sent meanwhile is nowhere:\n%s", rel, b.text())
	}
}
