package worktree

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pennypost/internal/base/confined"
)

// maxIgnore is the size, in bytes, above which a .gitignore counts as empty.
const maxIgnore = 256 << 10

// Ignored reports whether a file is no one's work: Git's own files, files that the tree's .gitignore files name, and
// temporary or special files (/tmp, /dev) outside a project and the session's directory. A file that Git tracks counts
// as ignored too if a rule names it. Rules in .git/info/exclude and in a person's configuration are not read.
func (p Place) Ignored() bool {
	names := strings.Split(p.Path, "/")
	switch {
	case slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, ".git") }):
		return true
	case p.kind == project:
		return p.Path != "." && p.ignoredByRules(names)
	}
	return p.below(temporary())
}

// temporary returns the directories of temporary and special files.
func temporary() []string {
	return []string{os.TempDir(), "/tmp", "/var/tmp", "/dev", "/proc", "/sys", os.Getenv("XDG_RUNTIME_DIR")}
}

// below reports whether the tree is part of one of the directories. A session may work below such a directory, but not
// directly in it.
func (p Place) below(dirs []string) bool {
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		at, err := resolve(dir, true)
		if err == nil && (p.At == at.path || p.kind == own && under(p.At, at.path)) {
			return true
		}
	}
	return false
}

// ignoredByRules applies the rules to each directory on the way too: everything in an ignored directory is ignored,
// whatever the rules say of it.
func (p Place) ignoredByRules(names []string) bool {
	var levels [][]rule // of the .gitignore in each directory on the way
	for i := range names {
		levels = append(levels, p.rules(path.Join(names[:i]...)))
		if ignores(levels, names[:i+1], i < len(names)-1 || p.Dir) {
			return true
		}
	}
	return false
}

// ignores applies the rules of the nearest directory first, and among these the last one first.
func ignores(levels [][]rule, names []string, dir bool) bool {
	for level, rules := range slices.Backward(levels) {
		for _, r := range slices.Backward(rules) {
			if r.names(names[level:], dir) {
				return !r.not
			}
		}
	}
	return false
}

// rules returns the rules in the .gitignore of a directory.
func (p Place) rules(dir string) []rule {
	name := filepath.Join(filepath.FromSlash(dir), ".gitignore")
	info, err := os.Lstat(filepath.Join(p.At, name)) // usually there is none, and this is the cheapest check
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnore {
		return nil
	}
	f, err := confined.At(p.At).OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxIgnore))
	if err != nil {
		return nil
	}
	if p.folds {
		text = []byte(strings.ToLower(string(text)))
	}
	return parse(string(text))
}

// rule is a line of a .gitignore (gitignore(5)).
type rule struct {
	parts   []string // of the pattern, between slashes
	not     bool     // it excludes files from being ignored
	dirs    bool     // it names directories only
	nowhere bool     // it names files by their last name, anywhere
}

func parse(text string) (rules []rule) {
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
			line = line[:len(line)-1]
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		var r rule
		line, r.not = strings.CutPrefix(line, "!")
		line, r.dirs = strings.CutSuffix(line, "/")
		r.nowhere = !strings.Contains(line, "/")
		line = strings.TrimPrefix(line, "/")
		if line == "" {
			continue
		}
		r.parts = strings.Split(strings.ReplaceAll(line, "[!", "[^"), "/")
		if n := len(r.parts); n > 1 && r.parts[n-1] == "**" {
			r.parts = append(r.parts, "*") // everything in the directory, but not the directory itself
		}
		rules = append(rules, r)
	}
	return rules
}

// names reports whether a rule names a path, given relative to the rule's directory.
func (r *rule) names(names []string, dir bool) bool {
	if r.dirs && !dir {
		return false
	}
	if r.nowhere {
		return matches(r.parts[0], names[len(names)-1])
	}
	// Like wildcards in a word: ** takes more names when the rest does not match.
	part, name, star, from := 0, 0, -1, 0
	for name < len(names) {
		switch {
		case part < len(r.parts) && r.parts[part] == "**":
			star, from = part, name
			part++
		case part < len(r.parts) && matches(r.parts[part], names[name]):
			part, name = part+1, name+1
		case star >= 0:
			from++
			part, name = star+1, from
		default:
			return false
		}
	}
	for part < len(r.parts) && r.parts[part] == "**" {
		part++
	}
	return part == len(r.parts)
}

// matches reports whether a pattern matches a name. A malformed one matches nothing.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
