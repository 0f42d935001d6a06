package config

import (
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
		if got, err := FindProject(filepath.Join(root, c.dir)); got != c.want || err != nil {
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
