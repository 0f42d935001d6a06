package install

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// sample is a configuration with content, chosen by the file's extension.
func sample(path string) string {
	all := odd(path)
	return all[len(all)-2]
}

// lay writes a text to the path of a client's file.
func (p *place) lay(f file, text string, perm fs.FileMode) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(f.path, []byte(text), perm); err != nil {
		p.t.Fatal(err)
	}
}

// refused checks that the plan fails and that nothing changes.
func (p *place) refused(c Client, o *Options, code mail.Code, plan func(Client, *Options) (*Plan, error)) {
	p.t.Helper()
	before := p.files()
	if _, err := plan(c, o); mail.CodeOf(err) != code {
		p.t.Errorf("%s with %q: %v, want %s", c.Name, before, err, code)
	} else if !strings.Contains(err.Error(), o.Home) && !strings.Contains(err.Error(), o.Root) {
		p.t.Errorf("%s: %v names no file", c.Name, err)
	}
	if diff := cmp.Diff(before, p.files()); diff != "" {
		p.t.Errorf("%s: a refusal changed files:\n%s", c.Name, diff)
	}
}

// A file of any client that is torn, of another kind, or not text is refused, and so are its other files.
func TestNotUnderstood(t *testing.T) {
	eachFile(t, func(t *testing.T, p *place, c Client, o *Options, f file) {
		p.t = t
		torn := []string{"{\"a\": ", "<<<<<<< HEAD\n{}\n=======\n", "\x00\x01\x02", "\xff\xfe{\x00}\x00"}
		switch filepath.Ext(f.path) {
		case ".toml":
			torn = []string{"a = \n", "<<<<<<< HEAD\na = 1\n=======\n", "\x00\x01\x02", "[a\nb = 1\n"}
		case ".yaml":
			torn = []string{"a: \"b\n", "<<<<<<< HEAD\na: 1\n=======\n", "\x00\x01\x02", "a:\n\tb: 1\n"}
		}
		for _, text := range torn {
			p.lay(f, text, 0o644)
			p.refused(c, o, mail.Invalid, Install)
		}
		_ = os.Remove(f.path)
	})
}

// A read-only file does not change, neither by installing nor by uninstalling.
func TestReadOnly(t *testing.T) {
	eachFile(t, func(t *testing.T, p *place, c Client, o *Options, f file) {
		p.t = t
		if strings.HasSuffix(f.path, "config.toml") || !strings.Contains(put(t, f, sample(f.path)), "pennypost") {
			return // a file that gets no entry is not checked
		}
		p.lay(f, sample(f.path), 0o444)
		p.refused(c, o, mail.Denied, Install)
		if err := os.Chmod(f.path, 0o644); err != nil {
			t.Fatal(err)
		}
		p.install(c, o)
		if err := os.Chmod(f.path, 0o444); err != nil {
			t.Fatal(err)
		}
		p.refused(c, o, mail.Denied, Uninstall)
		if err := os.Chmod(f.path, 0o644); err != nil {
			t.Fatal(err)
		}
		p.uninstall(c, o)
		if text, err := read(f.path); err != nil || string(text) != sample(f.path) {
			t.Errorf("in the end the file says %q (%v)", text, err)
		}
		_ = os.Remove(f.path)
	})
}

// A configuration that is a link into someone's dotfiles stays one, and its target gets its bytes back.
func TestLinked(t *testing.T) {
	eachFile(t, func(t *testing.T, p *place, c Client, o *Options, f file) {
		p.t = t
		text := sample(f.path)
		target := filepath.Join(o.Home, "dotfiles", c.Name+"-"+filepath.Base(f.path))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		_ = os.MkdirAll(filepath.Dir(f.path), 0o755)
		if err := os.Symlink(target, f.path); err != nil {
			t.Skip(err)
		}
		p.install(c, o)
		if with, _ := read(target); put(t, f, text) != text && bytes.Equal(with, []byte(text)) {
			t.Error("the file behind the link was not edited")
		}
		p.uninstall(c, o)
		info, err := os.Lstat(f.path)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("the link became %v (%v)", info, err)
		}
		behind, err := os.Stat(target)
		if got, _ := read(target); err != nil || string(got) != text || behind.Mode().Perm() != 0o640 {
			t.Errorf("behind the link is %q, %v (%v)", got, behind, err)
		}
		_ = os.Remove(f.path)
	})
}
