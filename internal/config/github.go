package config

import (
	"cmp"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/mail"
)

// Limits of a GitHub section.
const (
	maxRepos    = 20
	minPoll     = Duration(30 * time.Second) // GitHub counts requests by the hour
	minHookWord = 16                         // bytes of a secret
)

// GitHub configures which of GitHub's news become mail in a room, and how they are received.
type GitHub struct {
	Repos      []string `toml:"repos"`       // OWNER/NAME
	SecretFile string   `toml:"secret_file"` // its first line is the secret of the webhook; "": no webhook
	Poll       Duration `toml:"poll"`        // how often gh is asked; 0: never
	Program    string   `toml:"gh"`          // GitHub's own command line; default gh
}

var repoName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}$`)
})

// checkGitHub returns what is wrong with the section.
func (r *Room) checkGitHub(section string) error {
	g := r.GitHub
	if g == nil {
		return nil
	}
	at := section + ".github"
	switch {
	case section == "room":
		return bad(at, "applies to one room: write [rooms.NAME.github]")
	case len(g.Repos) == 0 || len(g.Repos) > maxRepos:
		return bad(at, "names %d repositories; write up to %d, like repos = [\"me/shop\"]", len(g.Repos), maxRepos)
	case g.SecretFile == "" && g.Poll == 0:
		return bad(at, "has neither secret_file, for a webhook, nor poll, like \"2m\", for gh")
	case g.SecretFile != "" && !filepath.IsAbs(g.SecretFile):
		return bad(at, "secret_file is %q; write an absolute path", g.SecretFile)
	case g.Poll != 0 && g.Poll < minPoll:
		return bad(at, "poll is %s; use 30s or more", g.Poll)
	}
	for _, repo := range g.Repos {
		if _, name, _ := strings.Cut(repo, "/"); !repoName().MatchString(repo) || name == "." || name == ".." {
			return bad(at, "%q is not a repository; write OWNER/NAME", repo)
		}
	}
	return nil
}

// Secret reads the secret of the webhook. It is not cached: it may change while the post office runs.
func (g *GitHub) Secret() ([]byte, error) {
	text, err := durable.ReadFile(g.SecretFile)
	if err != nil {
		return nil, err
	}
	word, _, _ := strings.Cut(string(text), "\n")
	if word = strings.TrimSpace(word); len(word) < minHookWord {
		return nil, mail.Errorf(mail.Invalid, "the first line of %s must be a secret of at least %d "+
			"bytes", g.SecretFile,
			minHookWord)
	}
	return []byte(word), nil
}

func (g *GitHub) rows() []row {
	return []row{
		{name: "repos", value: g.Repos, about: "their reviews, comments and checks become mail"},
		{name: "secret_file", value: given(g.SecretFile), about: "file with the secret of the webhook"},
		{name: "poll", value: g.Poll, about: "interval for asking gh; 0s: never"},
		{name: "gh", value: cmp.Or(g.Program, "gh"), about: "the gh program"},
	}
}

// Checkout returns the branch that is checked out in a directory, and the repository, as OWNER/NAME, from which it
// came; "" for a missing one.
func Checkout(dir string) (branch, repo string) {
	git := gitDir(ProjectDir(dir))
	if git == "" {
		return "", ""
	}
	heads := filepath.Join(git, "refs", "heads") + string(filepath.Separator)
	if ref, ok := strings.CutPrefix(pointer(filepath.Join(git, "HEAD"), "ref:"), heads); ok {
		branch = filepath.ToSlash(ref)
	}
	origin := normalURL(originURL(resolveCommon(git)))
	parts := strings.FieldsFunc(origin, func(r rune) bool { return r == '/' || r == ':' })
	if len(parts) < 3 || strings.HasPrefix(origin, "/") || parts[0] == "file" { // else a host, owner and name
		return branch, ""
	}
	return branch, strings.Join(parts[len(parts)-2:], "/")
}
