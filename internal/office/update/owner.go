package update

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"pennypost/internal/base/versions"
)

// Owner returns the installer of a program, if that should also replace it, and the command for that. released says
// that the program is from a release; one that the go command installed is not. Both results are empty for a program
// that update may replace.
func Owner(program, module string, released bool) (who, command string) {
	path := filepath.ToSlash(program)
	switch {
	case strings.Contains(path, "/node_modules/"):
		return "npm", "npm install -g pennypost@latest"
	case strings.Contains(path, "/Cellar/"):
		return "Homebrew", "brew upgrade pennypost"
	case !released && !hasBoth(program) && !strings.Contains(module, "."): // a path without an address
		return "the go command", "git pull && go build"
	case !released && !hasBoth(program):
		return "the go command", "go install " + module + "@latest"
	case !released:
		return "scripts/build, from its source", "git pull && scripts/build"
	}
	if out, err := exec.Command("dpkg-query", "-S", program).Output(); err == nil && len(out) > 0 {
		return "a Debian package", "sudo apt-get install ./pennypost_VERSION_ARCHITECTURE.deb, of the newer release"
	}
	return "", ""
}

// hasBoth reports whether all programs are in the same directory.
func hasBoth(program string) bool {
	for _, p := range versions.Programs {
		if _, err := os.Stat(filepath.Join(filepath.Dir(program), p)); err != nil {
			return false
		}
	}
	return true
}
