package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

func TestFindProject(t *testing.T) {
	root := tree(t, map[string]string{
		".pennypost.toml":           "agent = \"above\"",
		"p/.git/HEAD":               "ref: refs/heads/main\n",
		"p/.pennypost.toml":         "# ours\nagent = \"builder\"\nroom = \"shop\"\n",
		"p/src/x.go":                "",
		"p/web/.pennypost.toml":     "agent = \"painter\"",
		"q/.git/HEAD":               "",
		"odd/.pennypost.toml":       "agnet = \"x\"",
		"torn/.pennypost.toml":      "agent = \"x",
		"user/.pennypost.toml":      "agent = \"user\"",
		"badroom/.pennypost.toml":   "room = \"a/b\"",
		"dir/.pennypost.toml/x.txt": "",
	})
	for _, c := range []struct {
		dir  string
		want Project
	}{
		{"p", Project{Room: "shop", Agent: "builder"}}, {"p/src", Project{Room: "shop", Agent: "builder"}},
		{"p/web", Project{Agent: "painter"}}, {"q", Project{}},
	} {
		got, err := FindProject(filepath.Join(root, c.dir))
		if got.Dir = ""; got != c.want || err != nil {
			t.Errorf("FindProject(%s) = %+v, %v, want %+v", c.dir, got, err, c.want)
		}
	}
	for _, dir := range []string{"odd", "torn", "user", "badroom", "dir"} {
		_, err := FindProject(filepath.Join(root, dir))
		if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, ProjectFile)) {
			t.Errorf("FindProject(%s): %v, want an error that names the file", dir, err)
		}
	}
	if got, err := FindRoom("", env(nil), filepath.Join(root, "p/src")); got != "shop" || err != nil {
		t.Errorf("FindRoom = %q, %v, want that of the file", got, err)
	}
	if got, err := FindRoom("", env(nil), filepath.Join(root, "p/web")); got == mail.DefaultRoom || got == "shop" ||
		err != nil {
		t.Errorf("FindRoom = %q, %v, want the repository's", got, err)
	}
}

// TestWriteProject: the file's content stays, and different settings are not overwritten.
func TestWriteProject(t *testing.T) {
	p := Project{Room: "lab", Agent: `ws"1\`}
	const both = "room = \"lab\"\nagent = \"ws\\\"1\\\\\"\n"
	for _, tt := range []struct {
		name, old, want string
		changed         bool
		err             string
	}{
		{name: "no file", want: both, changed: true},
		{name: "only a comment", old: "# ours", want: "# ours\n" + both, changed: true},
		{name: "the room stands there", old: "room='lab' # ours\n",
			want: "room='lab' # ours\nagent = \"ws\\\"1\\\\\"\n", changed: true},
		{name: "all of it stands there", old: "agent='ws\"1\\'\nroom='lab'", want: "agent='ws\"1\\'\nroom='lab'"},
		{name: "another room", old: "room='shop'", want: "room='shop'", err: `contains room = "shop", not "lab"`},
		{name: "another agent", old: "agent='ann'", want: "agent='ann'", err: `contains agent = "ann"`},
		{name: "no TOML", old: "agent=", want: "agent=", err: ProjectFile},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, ProjectFile)
		if tt.old != "" {
			if err := os.WriteFile(file, []byte(tt.old), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		path, changed, err := WriteProject(dir, p)
		if path != file || changed != tt.changed || (err == nil) != (tt.err == "") ||
			err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %s, %v, %v", tt.name, path, changed, err)
		}
		text, err := os.ReadFile(file)
		if string(text) != tt.want || err != nil {
			t.Errorf("%s: the file says %q, %v; want %q", tt.name, text, err, tt.want)
		}
		got, err := FindProject(dir)
		if got.Dir = ""; tt.err == "" && (got != p || err != nil) {
			t.Errorf("%s: it is read as %+v, %v", tt.name, got, err)
		}
	}
}
