package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGitHubSection checks that a section is read, that its errors are reported, and that its printed form is
// equivalent.
func TestGitHubSection(t *testing.T) {
	load := func(text string) (Config, error) {
		home := Home(t.TempDir())
		if err := os.WriteFile(home.File(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return Load(home, func(string) string { return "" })
	}
	const good = "[rooms.shop.github]\nrepos = [\"me/shop\"]\nsecret_file = \"/s\"\npoll = \"2m\"\n"
	c, err := load(good)
	if g := c.For("shop").GitHub; err != nil || g == nil || g.SecretFile != "/s" || c.For("other").GitHub != nil {
		t.Fatalf("%+v, %v", g, err)
	}
	var b strings.Builder
	if err := c.Print(&b); err != nil {
		t.Fatal(err)
	}
	if again, err := load(b.String()); err != nil || again.For("shop").GitHub.Poll != c.For("shop").GitHub.Poll {
		t.Errorf("printed and read again: %v\n%s", err, b.String())
	}
	for text, want := range map[string]string{
		strings.Replace(good, "rooms.shop", "room", 1):           "[rooms.NAME.github]",
		strings.Replace(good, `"me/shop"`, "", 1):                "names 0 repositories",
		strings.Replace(good, "me/shop", "me/shop/x", 1):         "is not a repository",
		strings.Replace(good, "me/shop", "me/..", 1):             "is not a repository",
		strings.Replace(good, `"/s"`, `"s"`, 1):                  "absolute path",
		strings.Replace(good, "2m", "1s", 1):                     "use 30s or more",
		"[rooms.shop.github]\nrepos = [\"me/shop\"]\n":           "neither secret_file",
		strings.Replace(good, "secret_file", "secretfile", 1):    "secret_file",
		strings.Replace(good, "poll = \"2m\"", "poll = 120", 1):  "string",
		strings.Replace(good, "[\"me/shop\"]", "\"me/shop\"", 1): "a list",
	} {
		if _, err := load(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestCheckout checks the branch and repository of a directory.
func TestCheckout(t *testing.T) {
	for _, test := range []struct{ head, origin, branch, repo string }{
		{"ref: refs/heads/main\n", "git@github.com:me/shop.git", "main", "me/shop"},
		{"ref: refs/heads/a/b\n", "https://user:word@github.com/me/shop", "a/b", "me/shop"},
		{"ref: refs/heads/a\n", "ssh://git@github.com:22/me/shop.git", "a", "me/shop"},
		{"0123456789abcdef0123456789abcdef01234567\n", "git@github.com:me/shop.git", "", "me/shop"},
		{"ref: refs/tags/main\n", "/srv/me/shop", "", ""}, {"ref: refs/heads/a\n", "file:///srv/me/shop", "a", ""},
		{"ref: ../../heads/main\n", "", "", ""},
	} {
		dir := t.TempDir()
		git := filepath.Join(dir, ".git")
		if err := os.MkdirAll(git, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"HEAD": test.head,
			"config": fmt.Sprintf("[remote \"origin\"]\n\turl = %s\n", test.origin)} {
			if err := os.WriteFile(filepath.Join(git, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if branch, repo := Checkout(dir); branch != test.branch || repo != test.repo {
			t.Errorf("%q, %q: %q of %q, want %q of %q", test.head, test.origin, branch, repo, test.branch, test.repo)
		}
		below := filepath.Join(dir, "below")
		if err := os.Mkdir(below, 0o700); err != nil {
			t.Fatal(err)
		}
		if branch, _ := Checkout(below); branch != test.branch {
			t.Errorf("below it the branch is %q, want %q", branch, test.branch)
		}
	}
	if branch, repo := Checkout(t.TempDir()); branch != "" || repo != "" {
		t.Errorf("a directory that is no checkout: %q of %q", branch, repo)
	}
}
