package update

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"pennypost/internal/base/versions"
)

// Owner returns what put a program where it is, if that is to replace it too, and the command for it. released says
// that the program is of a release; what the go command installs is not. Both are empty for one that update may
// replace.
func Owner(program, module string, released bool) (who, command string) {
	path := filepath.ToSlash(program)
	switch {
	case strings.Contains(path, "/node_modules/"):
		return "npm", "npm install -g pennypost@latest"
	case strings.Contains(path, "/Cellar/"):
		return "Homebrew", "brew upgrade pennypost"
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

// hasBoth says that both programs lie beside each other.
func hasBoth(program string) bool {
	for _, p := range versions.Programs {
		if _, err := os.Stat(filepath.Join(filepath.Dir(program), p)); err != nil {
			return false
		}
	}
	return true
}
