package config

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"

	"pennypost/internal/base/durable"
)

// commonDir returns the directory that all worktrees of the Git repository around dir share, with symbolic links
// resolved, or "" if there is none. It reads the same files as git-rev-parse --git-common-dir
// (gitrepository-layout(5)), because starting git takes as long as a whole command may take.
func commonDir(dir string) string {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	for {
		if git := gitDir(dir); git != "" {
			return resolveCommon(git)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// gitDir returns the Git directory that belongs to dir itself: dir/.git, the target of a .git file, or dir if it is a
// bare repository. Like Git it ignores a .git without HEAD: sandboxes leave empty ones, for instance in /tmp.
func gitDir(dir string) string {
	git := filepath.Join(dir, ".git")
	info, err := os.Stat(git)
	switch {
	case err == nil && info.IsDir() && exists(git, "HEAD"):
		return git
	case err == nil && info.IsDir():
		return ""
	case err == nil:
		return pointer(git, "gitdir:")
	case exists(dir, "HEAD") && exists(dir, "objects") && exists(dir, "refs"):
		return dir
	}
	return ""
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// pointer reads a file with one path after a prefix; a relative path is relative to the file.
func pointer(file, prefix string) string {
	text, err := durable.ReadFile(file)
	if err != nil {
		return ""
	}
	path, ok := strings.CutPrefix(strings.TrimSpace(string(text)), prefix)
	path = strings.TrimSpace(path)
	if !ok || path == "" {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file), path)
	}
	return path
}

func resolveCommon(git string) string {
	common := git
	if p := pointer(filepath.Join(git, "commondir"), ""); p != "" {
		common = p
	}
	real, err := filepath.EvalSymlinks(common)
	if err != nil {
		return filepath.Clean(common)
	}
	return real
}

// originURL returns the first url of the remote "origin", or "". It does not follow includes: origin is not kept in
// one in practice.
func originURL(common string) string {
	f, err := durable.Open(filepath.Join(common, "config"))
	if err != nil {
		return ""
	}
	defer f.Close()
	in := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if rest, ok := strings.CutPrefix(line, "["); ok {
			section, after, _ := strings.Cut(rest, "]")
			in, line = isOrigin(section), strings.TrimSpace(after)
		}
		key, value, ok := strings.Cut(line, "=")
		if in && ok && strings.EqualFold(strings.TrimSpace(key), "url") {
			return configValue(value)
		}
	}
	return ""
}

// isOrigin recognises both spellings of a section: [remote "origin"] and the old [remote.origin].
func isOrigin(section string) bool {
	name, sub, ok := strings.Cut(section, " ")
	if !ok {
		return strings.EqualFold(section, "remote.origin")
	}
	return strings.EqualFold(name, "remote") && strings.TrimSpace(sub) == `"origin"`
}

// configValue removes quotes and a comment from a value (git-config(1), "Syntax").
func configValue(s string) string {
	var b strings.Builder
	quoted, escaped := false, false
	for _, r := range strings.TrimSpace(s) {
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = true
			continue
		case r == '"':
			quoted = !quoted
			continue
		case !quoted && (r == '#' || r == ';'):
			return strings.TrimSpace(b.String())
		}
		b.WriteRune(r)
	}
	return b.String()
}

// ProjectDir returns the top of the Git working tree around dir, or dir itself if there is none.
func ProjectDir(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if gitDir(at) != "" {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}
