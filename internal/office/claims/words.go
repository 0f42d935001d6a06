package claims

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pennypost/internal/base/wording"
	"pennypost/internal/base/worktree"
	"pennypost/internal/mail"
)

// Resolve parses people's and models' words for targets: a path if a word looks like one or is a file in dir, a
// pattern, else a name.
func Resolve(words []string, dir string) (targets []mail.Target, err error) {
	for _, word := range words {
		t, err := resolve(word, dir)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	return targets, nil
}

func resolve(word, dir string) (mail.Target, error) {
	if word == "" || len(word) > mail.MaxPath || !mail.IsLine(word) {
		return mail.Target{}, mail.Errorf(mail.Invalid, "not a path or name that can be claimed: use one line "+
			"without control characters, at most %d bytes. Nothing was changed", mail.MaxPath)
	}
	path, pattern := split(word, dir)
	if pattern == "" && isName(word, path) {
		t := mail.Target{Name: word}
		return t, t.Check()
	}
	if dir == "" && !filepath.IsAbs(word) {
		return mail.Target{}, mail.Errorf(mail.Invalid, "the directory of %q is not known: use an absolute path. "+
			"Nothing was changed", word)
	}
	p, err := worktree.Find(path, dir)
	if err != nil {
		return mail.Target{}, mail.Errorf(mail.Invalid, "%s cannot be claimed: %s", word,
			wording.OneLine(err.Error(), ' ')) // it may contain the targets of links
	}
	if here, err := worktree.Find(dir, dir); dir != "" && (err != nil || here.Root != p.Root) {
		return mail.Target{}, mail.Errorf(mail.Invalid, "%s is not in your project %s. Nothing was "+
			"changed", word, wording.OneLine(here.At, ' '))
	}
	t := mail.Target{Root: p.Root, At: p.At, Path: p.Path}
	switch {
	case pattern != "":
		t.Form, t.Path = mail.GlobForm, strings.TrimPrefix(p.Path+"/"+pattern, "./")
	case p.Dir:
		t.Form = mail.BelowForm
	}
	return t, t.Check()
}

// split returns a word's path and, after its fixed directory, its pattern; "": none. A file's name may look like a
// pattern.
func split(word, dir string) (path, pattern string) {
	if path = word; !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	parts := strings.Split(filepath.ToSlash(path), "/")
	i := slices.IndexFunc(parts, func(p string) bool { return strings.ContainsAny(p, "*?[") })
	if _, err := os.Lstat(path); err == nil || i < 0 {
		return path, ""
	}
	return filepath.FromSlash(strings.Join(append(parts[:i:i], ""), "/")), strings.Join(parts[i:], "/")
}

// isName reports whether a word is not a path: it does not look like one, and no such file exists.
func isName(word, path string) bool {
	_, missing := os.Lstat(path)
	return missing != nil && !strings.ContainsAny(word, `/\`) && !strings.HasPrefix(word, ".")
}
